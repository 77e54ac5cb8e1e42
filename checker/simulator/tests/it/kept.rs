//! The times of the book's programs, beside those that are kept of them: a change of the device
//! shows here first.

use std::collections::BTreeMap;
use std::path::Path;

use trace::metrics::Metrics;

#[test]
fn the_programs_of_the_book_take_what_is_kept_of_them() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/figures/times.txt");
    let text = std::fs::read_to_string(file).expect("the times");
    let kept: BTreeMap<&str, Vec<u64>> = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let (name, numbers) = line.split_once(' ').expect("a name and numbers");
            let ns = numbers.split_whitespace().map(|number| number.parse().expect("a number"));
            (name, ns.collect())
        })
        .collect();
    let runs = crate::figures::simulated();
    assert_eq!(
        runs.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
        Vec::from_iter(kept.keys().copied())
    );
    let mut others = String::new();
    for (name, record) in &runs {
        let Metrics { makespan_ns, kernel, host_to_device, device_to_host, .. } =
            Metrics::of(&record.timeline);
        let busy = [kernel, host_to_device, device_to_host].map(|engine| engine.busy_ns);
        let today = [&[makespan_ns], busy.as_slice()].concat();
        if kept[name.as_str()] != today {
            others += &format!("\n{name}: {:?} is kept, {today:?} today", kept[name.as_str()]);
        }
    }
    assert!(others.is_empty(), "{others}\n\nhint: `cargo run -- dev record` keeps what they take");
}
