//! What a search costs, counted in what it looks at and not in time.

use trace::hazards;

#[path = "../../shapes/mod.rs"]
mod shapes;

/// On a log-log plot, between two lengths that are a factor of ten apart. Linear is 1, and a tree that becomes deeper
/// by log 10 adds less than 0.2.
const STEEPEST: f64 = 1.2;

#[test]
fn what_a_search_looks_at_grows_with_the_uses_of_memory_and_no_faster() {
    let mut table = String::new();
    let mut steep = Vec::new();
    for (name, shape) in shapes::SHAPES {
        let [short, long] =
            [4_000, 40_000].map(|uses| hazards::effort(&shapes::Writer::write(uses, shape)) as f64);
        let slope = (long / short).log10();
        table += &format!("{name}: {slope:.2}, {:.0} each\n", long / 40_000.0);
        if slope > STEEPEST {
            steep.push(name);
        }
    }
    assert!(steep.is_empty(), "{steep:?}:\n{table}");
}
