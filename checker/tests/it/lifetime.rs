//! Wrong ways out of `buffer_lifetime`: which gate each of them fails, and what it says.

use serde_json::json;

use crate::racy::with_file;
use crate::real::real;

const MEMORY: &str = "of device memory were allocated at one time";
const OUTPUT: &str = "the output is wrong";
/// The next upload and the map that reads its block, the next map and the download that reads its own.
const EARLY: &[[u64; 2]] = &[[19, 23], [23, 27]];

struct Wrong {
    name: &'static str,
    source: &'static str,
    gate: &'static str,
    message: &'static str,
    /// The lines of the uses that nothing orders.
    races: &'static [[u64; 2]],
}

macro_rules! wrong {
    ($name:literal, $gate:literal, $message:expr, $races:expr) => {
        Wrong {
            name: $name,
            source: include_str!(concat!("lifetime/", $name, ".rs")),
            gate: $gate,
            message: $message,
            races: $races,
        }
    };
}

const WRONG: [Wrong; 4] = [
    wrong!("all_kept", "memory", MEMORY, &[]),
    wrong!("recorded_and_all_in_flight", "memory", MEMORY, &[]),
    wrong!("recorded_on_the_wrong_streams", "output", OUTPUT, EARLY),
    wrong!("dropped_at_once", "output", OUTPUT, EARLY),
];

#[test]
fn memory_that_comes_back_late_fails_the_budget_and_memory_that_comes_back_early_is_a_hazard() {
    let real = real();
    for Wrong { name, source, gate, message, races } in WRONG {
        let run = || real.json(&["run", "buffer_lifetime"]);
        let (_, object) = with_file(&real, "buffer_lifetime", source, run);
        assert_eq!(object["gate"], gate, "{name}: {object:#}");
        assert!(object["message"].as_str().is_some_and(|it| it.contains(message)), "{name}");
        let hazards = object["hazards"].as_array().expect("a list");
        let lines: Vec<_> = hazards
            .iter()
            .map(|hazard| {
                assert_eq!(hazard["code"], "SWIM-H02", "{name}");
                let mut lines = [&hazard["first"]["line"], &hazard["second"]["line"]]
                    .map(|it| it.as_u64().expect("a line"));
                lines.sort_unstable();
                lines
            })
            .collect();
        assert_eq!(lines, races, "{name}");
        let is_over = object["memory_peak_bytes"].as_u64() > object["memory_budget_bytes"].as_u64();
        assert_eq!(is_over, gate == "memory", "{name}");
    }
}

#[test]
fn to_wait_for_everything_keeps_within_the_budget_and_scores_nothing() {
    let run = ["run", "buffer_lifetime"];
    let (_, object) = real().json(&run);
    assert_eq!(object["gate"], json!(null), "{object:#}");
    assert_eq!(object["score"], 0.0);
    assert!(object["memory_peak_bytes"].as_u64() < object["memory_budget_bytes"].as_u64());
}
