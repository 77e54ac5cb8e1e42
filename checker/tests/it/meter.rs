//! The meters of `measuring`: what a class is graded by is not known beforehand.

use crate::class::{empty, grade, hand_in, rows, solution, succeeds};
use crate::racy::with_file;
use crate::real::{Real, real};

const MEASURE: &str = "fn measure(trace: &Trace) -> Readings {\n";

/// The solution with something before all that `measure` does.
fn solution_with(real: &Real, lines: &str) -> String {
    let solution = solution(real, "measuring");
    assert!(solution.contains(MEASURE));
    solution.replace(MEASURE, &format!("{MEASURE}{lines}"))
}

#[test]
fn numbers_that_were_found_out_beforehand_pass_at_home_and_fail_in_a_class() {
    let real = real();
    // Of the seed that everybody has.
    let known = solution_with(
        &real,
        "    if trace.name == \"edges\" {\n        let mut readings = Readings::default();\n        \
         (readings.kernels_ns, readings.to_device_ns) = (240, 200);\n        \
         readings.busy_engines_ns = [40, 280, 80, 0];\n        \
         (readings.hidden_ns, readings.exposed_ns) = (80, 120);\n        \
         readings.idle_dependency_ns = 40;\n        return readings;\n    }\n",
    );
    let (_, object) = with_file(&real, "measuring", &known, || real.json(&["run", "measuring"]));
    assert_eq!((&object["gate"], &object["score"]), (&"null".parse().unwrap(), &100.0.into()));

    let class = empty("meter");
    // Whatever a file says, its seed is another: of several, one at the least is stretched otherwise.
    for number in 0..8 {
        let file = format!("{known}\n// {number}\n");
        hand_in(&class, &format!("student-{number}"), "measuring", &file);
    }
    let out = empty("meter-out");
    succeeds(&mut grade(&real, &class, &out, &["--exercise", "measuring"]));
    let rows = rows(&out);
    let gates: Vec<_> = rows.iter().filter_map(|row| row["gate"].as_str()).collect();
    assert!(gates.len() >= 4 && gates.iter().all(|gate| *gate == "output"), "{gates:?}");
}

#[test]
fn a_meter_that_is_right_for_traces_and_not_for_live_runs_is_told_which_one() {
    let real = real();
    let file = solution_with(
        &real,
        "    if trace.name == \"a pipeline\" {\n        return Readings::default();\n    }\n",
    );
    let (_, object) = with_file(&real, "measuring", &file, || real.json(&["run", "measuring"]));
    let message = object["message"].as_str().unwrap_or_default();
    assert_eq!(object["gate"], "output", "{object:#}");
    assert!(message.contains("`kernels_ns` of a pipeline is "), "{message}");
}
