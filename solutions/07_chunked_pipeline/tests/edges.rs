//! Every wait in the solution is there for a reason.

use std::process::Command;

/// Runs the solution on a perturbed schedule, without one of its waits.
fn output(wait: usize, seed: u64) -> String {
    let run = Command::new(env!("CARGO_BIN_EXE_chunked_pipeline-solution"))
        .env(trace::run::DROP_WAIT, wait.to_string())
        .env(trace::run::SCHEDULE, seed.to_string())
        .env_remove(trace::run::RECORD)
        .output()
        .expect("the solution runs");
    String::from_utf8(run.stdout).expect("it prints text")
}

/// One wait for each chunk before the map, one before the copy back.
const WAITS: usize = 2 * chunked_pipeline_solution::CHUNKS;

/// Schedules to try. Most waits show at the first or second; the last ones need an engine that was
/// fast for long.
const SEEDS: u64 = 64;

#[test]
fn without_any_one_wait_some_schedule_gives_wrong_data() {
    for wait in 0..WAITS {
        let found = (0..SEEDS).any(|seed| output(wait, seed).contains("output wrong"));
        assert!(
            found,
            "nothing goes wrong without wait {wait}: it is needless, or the search too short"
        );
    }
}

#[test]
fn with_all_waits_no_schedule_gives_wrong_data() {
    for seed in 0..SEEDS {
        let output = output(WAITS, seed);
        assert!(output.contains("output correct"), "seed {seed}: {output}");
    }
}
