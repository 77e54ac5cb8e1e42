//! Damaged traces: an answer for each, and never a crash.

use crate::mutate::{Random, damaged, take};

#[test]
fn a_damaged_trace_is_refused_or_read_and_never_a_crash() {
    let mut traces = 0;
    for seed in 0..1_500 {
        let text = damaged(&mut Random::new(seed));
        let taken = std::panic::catch_unwind(|| take(&text));
        traces += u32::from(taken.unwrap_or_else(|_| {
            panic!("seed {seed}: {}", String::from_utf8_lossy(&text[..text.len().min(5_000)]))
        }));
    }
    // Otherwise the fuzzer would only ever try the first lines of the reader.
    assert!(traces > 100, "{traces} of 1500 were still traces");
}
