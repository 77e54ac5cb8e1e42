//! The fuzzer of the import for as long as one likes:
//! `cargo run -p trace --example import_fuzz -- MINUTES [SEED]`.

use std::time::{Duration, Instant};

#[path = "../tests/kineto/mod.rs"]
#[expect(dead_code, reason = "the tests use all of it")]
mod kineto;
#[path = "../tests/kineto/mutate.rs"]
mod mutate;

#[expect(clippy::print_stdout, reason = "a program of its own")]
fn main() {
    let mut arguments = std::env::args().skip(1);
    let minutes: f64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(0.1);
    let mut seed: u64 = arguments.next().and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let (first, begun) = (seed, Instant::now());
    let (mut traces, mut bytes, mut longest) = (0_u64, 0, Duration::ZERO);
    while begun.elapsed().as_secs_f64() < 60.0 * minutes {
        let text = mutate::damaged(&mut mutate::Random::new(seed));
        let one = Instant::now();
        match std::panic::catch_unwind(|| mutate::take(&text)) {
            Ok(taken) => traces += u64::from(taken),
            Err(_) => {
                println!("seed {seed} crashes; `import_fuzz 0.1 {seed}` begins with it");
                std::process::exit(1);
            }
        }
        longest = longest.max(one.elapsed());
        bytes += text.len() as u64;
        seed += 1;
    }
    let peak = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = peak.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("unknown");
    println!(
        "{} texts, {} MB, {traces} of them traces, no crash; the longest took {} ms; peak memory {}",
        seed - first,
        bytes / 1_000_000,
        longest.as_millis(),
        peak.trim()
    );
}
