//! Wrong ways out of exercises: what each of them is told, and at which line.

use serde_json::Value;

use crate::racy::with_file;
use crate::real::real;

struct Wrong {
    exercise: &'static str,
    name: &'static str,
    source: &'static str,
    told: Told,
}

enum Told {
    /// The call that fails, its line, and CUDA's error.
    Error(&'static str, u64, &'static str),
    /// A hazard, and the lines of its two uses in the order of the file.
    Hazard(&'static str, [u64; 2]),
    /// What the region ended without a wait for, and the line that issued it.
    Unwaited(u64),
}

macro_rules! wrong {
    ($exercise:literal, $name:literal, $told:expr) => {
        Wrong {
            exercise: $exercise,
            name: $name,
            source: include_str!(concat!("told/", $exercise, "/", $name, ".rs")),
            told: $told,
        }
    };
}

const CAPTURES: [Wrong; 9] = [
    wrong!(
        "graphs",
        "a_branch_that_is_not_joined",
        Told::Error("cuStreamEndCapture", 26, "STREAM_CAPTURE_UNJOINED")
    ),
    wrong!(
        "graphs",
        "a_branch_that_is_not_forked",
        Told::Error("cuStreamWaitEvent", 49, "STREAM_CAPTURE_ISOLATION")
    ),
    wrong!(
        "graphs",
        "an_event_from_outside",
        Told::Error("cuStreamWaitEvent", 26, "STREAM_CAPTURE_ISOLATION")
    ),
    wrong!(
        "graphs",
        "waits_for_the_host_inside",
        Told::Error("cuStreamSynchronize", 53, "STREAM_CAPTURE_UNSUPPORTED")
    ),
    wrong!(
        "graphs",
        "an_update_to_another_shape",
        Told::Error("cuGraphExecUpdate_v2", 40, "GRAPH_EXEC_UPDATE_FAILURE")
    ),
    wrong!("graphs", "forked_too_early", Told::Hazard("SWIM-H01", [47, 49])),
    wrong!("graphs", "joined_too_late", Told::Hazard("SWIM-H01", [49, 50])),
    // An address that is in a graph is used as long as the graph may run.
    wrong!("graphs", "no_wait_before_the_load", Told::Hazard("SWIM-H01", [32, 51])),
    wrong!("graphs", "one_graph_for_both_slots", Told::Hazard("SWIM-H01", [34, 53])),
];

const TWO_DEVICES: [Wrong; 7] = [
    wrong!("peers", "no_wait_for_what_arrives", Told::Hazard("SWIM-H01", [27, 33])),
    wrong!("peers", "waits_for_the_wrong_stream", Told::Hazard("SWIM-H01", [27, 33])),
    wrong!("peers", "waits_on_one_device_alone", Told::Hazard("SWIM-H01", [28, 34])),
    wrong!("peers", "sent_before_it_is_worked_on", Told::Hazard("SWIM-H01", [28, 31])),
    wrong!("peers", "one_edge_for_both", Told::Hazard("SWIM-H03", [27, 33])),
    wrong!(
        "peers",
        "a_kernel_in_the_other_stream",
        Told::Error("cuLaunchKernel", 28, "INVALID_HANDLE")
    ),
    wrong!("peers", "waits_for_one_device_at_the_end", Told::Unwaited(34)),
];

#[test]
fn what_is_wrong_with_a_capture_or_a_graph_is_told_at_its_line() {
    all_are_told(&CAPTURES);
}

#[test]
fn what_is_wrong_between_two_devices_is_told_at_its_line() {
    all_are_told(&TWO_DEVICES);
}

fn all_are_told(wrong: &[Wrong]) {
    let real = real();
    for Wrong { exercise, name, source, told } in wrong {
        let run = || real.json(&["run", exercise]);
        let (_, object) = with_file(&real, exercise, source, run);
        assert_eq!(object["verdict"], "failed", "{name}: {object:#}");
        match told {
            Told::Error(call, line, error) => {
                let says = format!("`{call}` at src/lib.rs:{line} failed with CUDA_ERROR_{error}");
                let message = object["message"].as_str().unwrap_or_default();
                assert!(message.starts_with(&says), "{name}: {message}");
            }
            Told::Hazard(code, lines) => {
                let hazard = &object["hazards"][0];
                assert_eq!(hazard["code"], *code, "{name}: {object:#}");
                let line = |it: &Value| it["line"].as_u64().expect("a line");
                let mut found = [line(&hazard["first"]), line(&hazard["second"])];
                found.sort_unstable();
                assert_eq!(found, *lines, "{name}");
            }
            Told::Unwaited(line) => {
                assert_eq!(object["gate"], "idle", "{name}: {object:#}");
                let message = object["message"].as_str().unwrap_or_default();
                assert!(message.contains(&format!("src/lib.rs:{line}")), "{name}: {message}");
            }
        }
    }
}
