//! How long `hazards::find` takes: `cargo run --release -p trace --example hazards_speed`, or with a word of a shape's
//! name for that alone.
//!
//! Programs of a thousand uses of memory to a million, in several shapes. The slope is that of the time against the
//! uses on a log-log plot, by least squares over the three decades: 1 is linear, and it should be no more than 1.1.
//! The operations of a graph count each time that it is launched, and what the host itself does to pinned
//! memory counts by its ranges.

use std::time::{Duration, Instant};

use trace::hazards;

#[path = "../tests/shapes/mod.rs"]
mod shapes;

/// Short programs are searched again and again, and the best counts: a machine does other things too.
const LEAST_TIME: Duration = Duration::from_millis(50);

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    println!("{:<54}{:>9}{:>11}{:>10}{:>9}", "shape", "uses", "time", "each", "hazards");
    for (name, shape) in shapes::SHAPES.iter().filter(|(name, _)| name.contains(&wanted)) {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for uses in [1_000, 10_000, 100_000, 1_000_000] {
            let program = shapes::Writer::write(uses, *shape);
            let (mut best, begun) = (Duration::MAX, Instant::now());
            let mut found = 0;
            while begun.elapsed() < LEAST_TIME {
                let start = Instant::now();
                found = hazards::find(&program).len();
                best = best.min(start.elapsed());
            }
            let each = format!("{} ns", best.as_nanos() / uses as u128);
            let took = format!("{:.1} ms", best.as_secs_f64() * 1e3);
            println!("{name:<54}{uses:>9}{took:>11}{each:>10}{found:>9}");
            points.push(((uses as f64).log10(), best.as_secs_f64().log10()));
        }
        println!("{:<54}{:>9.2}", "  slope", slope(&points));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("most memory at any time, programs included: {}", peak.unwrap_or("unknown").trim());
}

/// By least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let many = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / many;
    let (x, y) = (mean(|it| it.0), mean(|it| it.1));
    let with: f64 = points.iter().map(|it| (it.0 - x) * (it.1 - y)).sum();
    let own: f64 = points.iter().map(|it| (it.0 - x).powi(2)).sum();
    with / own
}
