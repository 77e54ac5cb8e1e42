//! Wrong ways out of `graphs`: what each of them is told, and at which line.

use serde_json::Value;

use crate::racy::with_file;
use crate::real::real;

struct Wrong {
    name: &'static str,
    source: &'static str,
    told: Told,
}

enum Told {
    /// The call that fails, its line, and CUDA's error.
    Error(&'static str, u64, &'static str),
    /// A hazard, and the lines of its two uses in the order of the file.
    Hazard(&'static str, [u64; 2]),
}

macro_rules! wrong {
    ($name:literal, $told:expr) => {
        Wrong { name: $name, source: include_str!(concat!("captured/", $name, ".rs")), told: $told }
    };
}

const WRONG: [Wrong; 9] = [
    wrong!(
        "a_branch_that_is_not_joined",
        Told::Error("cuStreamEndCapture", 26, "STREAM_CAPTURE_UNJOINED")
    ),
    wrong!(
        "a_branch_that_is_not_forked",
        Told::Error("cuStreamWaitEvent", 49, "STREAM_CAPTURE_ISOLATION")
    ),
    wrong!(
        "an_event_from_outside",
        Told::Error("cuStreamWaitEvent", 26, "STREAM_CAPTURE_ISOLATION")
    ),
    wrong!(
        "waits_for_the_host_inside",
        Told::Error("cuStreamSynchronize", 53, "STREAM_CAPTURE_UNSUPPORTED")
    ),
    wrong!(
        "an_update_to_another_shape",
        Told::Error("cuGraphExecUpdate_v2", 40, "GRAPH_EXEC_UPDATE_FAILURE")
    ),
    wrong!("forked_too_early", Told::Hazard("SWIM-H01", [47, 49])),
    wrong!("joined_too_late", Told::Hazard("SWIM-H01", [49, 50])),
    // An address that is in a graph is used as long as the graph may run.
    wrong!("no_wait_before_the_load", Told::Hazard("SWIM-H01", [32, 51])),
    wrong!("one_graph_for_both_slots", Told::Hazard("SWIM-H01", [34, 53])),
];

#[test]
fn what_is_wrong_with_a_capture_or_a_graph_is_told_at_its_line() {
    let real = real();
    for Wrong { name, source, told } in WRONG {
        let run = || real.json(&["run", "graphs"]);
        let (_, object) = with_file(&real, "graphs", source, run);
        assert_eq!(object["verdict"], "failed", "{name}: {object:#}");
        match told {
            Told::Error(call, line, error) => {
                let says = format!("`{call}` at src/lib.rs:{line} failed with CUDA_ERROR_{error}");
                let message = object["message"].as_str().unwrap_or_default();
                assert!(message.starts_with(&says), "{name}: {message}");
            }
            Told::Hazard(code, lines) => {
                let hazard = &object["hazards"][0];
                assert_eq!(hazard["code"], code, "{name}: {object:#}");
                let line = |it: &Value| it["line"].as_u64().expect("a line");
                let mut found = [line(&hazard["first"]), line(&hazard["second"])];
                found.sort_unstable();
                assert_eq!(found, lines, "{name}");
            }
        }
    }
}
