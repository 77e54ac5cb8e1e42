//! Programs that have the right output without having come by it as the task wants, and programs that choose
//! what is measured. The files in `provenance` are students' files; each says what it is to come to.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::real::{Real, real};
use crate::tree::write;

/// A student's file, and what it is to come to.
struct Attack {
    name: String,
    exercise: String,
    gate: Option<String>,
    says: String,
    /// What `__CASE__` is in turn.
    cases: Vec<String>,
    text: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/it/provenance")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).expect("a file")
}

fn attack(name: &str) -> Attack {
    let text = read(&format!("{name}.rs"));
    let word = |key: &str| {
        let found = text.lines().find_map(|line| line.strip_prefix(&format!("//! {key}: ")));
        found.map(str::to_owned)
    };
    let cases = word("cases").unwrap_or_default();
    Attack {
        exercise: word("exercise").expect("an exercise"),
        gate: word("gate").filter(|gate| gate != "none"),
        says: word("says").expect("a message"),
        cases: match cases.as_str() {
            "" => vec![String::new()],
            cases => cases.split(' ').map(str::to_owned).collect(),
        },
        name: name.to_owned(),
        text,
    }
}

/// Rounds of a map and elements of an array in memory, as the reference has them: the most that one launch does,
/// and what all launches of one kernel go over.
fn sizes(real: &Real, exercise: &str) -> (u64, u64) {
    let path = real.folder(exercise).join("recorded/reference.json");
    let program: Value =
        serde_json::from_str(&std::fs::read_to_string(path).expect("a file")).expect("JSON");
    let scale = program["scale"].as_u64().expect("a number");
    let steps = program["steps"].as_array().expect("steps");
    let launches: Vec<(u64, u64, u64)> = steps
        .iter()
        .filter_map(|step| {
            let launch = step["call"].get("launch")?;
            let bytes = launch["accesses"][0]["range"]["bytes"].as_u64()?;
            Some((launch["kernel"].as_u64()?, launch["units"].as_u64()?, bytes))
        })
        .collect();
    let &(kernel, units, bytes) = launches.first().expect("a launch");
    let rounds = units / (bytes / 4);
    let all = launches.iter().filter(|launch| launch.0 == kernel).map(|launch| launch.2);
    let elements = match exercise {
        // It goes over all of the array in each layer.
        "fork_join" => bytes,
        _ => all.sum(),
    };
    (rounds, elements / 4 / scale)
}

impl Attack {
    /// Runs it on a device in the program's process and on one in another: both say the same, and that is
    /// nothing good.
    fn run(&self, real: &Real) {
        for case in &self.cases {
            let [one, two] = ["in-process", "process"].map(|it| self.outcome(real, case, it, &[]));
            self.check(case, &one);
            assert_eq!(one, two, "{} {case}", self.name);
        }
    }

    fn check(&self, case: &str, (code, object): &(i32, Value)) {
        let name = format!("{} {case}", self.name);
        assert_eq!((*code, object["score"].as_f64()), (1, Some(0.0)), "{name}: {object:#}");
        assert_eq!(object["gate"].as_str(), self.gate.as_deref(), "{name}: {object:#}");
        let message = object["message"].as_str().unwrap_or_default();
        assert!(message.contains(&self.says), "{name}: {message}");
    }

    fn outcome(&self, real: &Real, case: &str, machine: &str, more: &[&str]) -> (i32, Value) {
        let file = real.folder(&self.exercise).join("src/lib.rs");
        let shipped = std::fs::read_to_string(&file).expect("a file");
        let (rounds, elements) = sizes(real, &self.exercise);
        let tools = read("tools.rs")
            .replace("__ROUNDS__", &rounds.to_string())
            .replace("__ELEMENTS__", &elements.to_string());
        write(&file, &format!("{}\n{tools}", self.text.replace("__CASE__", case)));
        let outcome = real.json(&[&["run", &self.exercise, "--machine", machine], more].concat());
        write(&file, &shipped);
        outcome
    }
}

/// The attacks differ from these in what they are about, and in nothing else that matters.
#[test]
fn programs_that_do_the_work_in_their_own_way_meet_no_gate() {
    let real = real();
    // The seed that a program names is nobody's: the inputs are those that are demanded.
    for (name, case) in [("staged", ""), ("declared", "as_it_is"), ("declared", "another_seed")] {
        for machine in ["in-process", "process"] {
            let (code, object) = attack(name).outcome(&real, case, machine, &[]);
            assert!(object["gate"].is_null(), "{name}: {object:#}");
            let score = object["score"].as_f64().unwrap_or(0.0);
            match name {
                // What the host copies takes it several times as long as all else: it is the program's own work still.
                "staged" => assert!(code == 1 && score == 0.0, "{object:#}"),
                // What it copies inside of the device takes its time.
                _ => assert!(code == 0 && score > 97.0, "{name}: {object:#}"),
            }
        }
    }
}

/// Of the work that a program declares, all of its threads do one thing at a time.
#[test]
fn more_host_threads_have_no_more_cores() {
    let (real, shared) = (real(), attack("shared_core"));
    let mut before = 100.0;
    for case in &shared.cases {
        let (_, object) = shared.outcome(&real, case, "process", &[]);
        let score = object["score"].as_f64().expect("a score");
        assert!(score > 0.0 && score <= before, "{case} threads: {object:#}");
        before = score;
    }
}

/// A student's process may write whatever it likes to the memory that it shares with the device.
#[test]
fn garbage_in_the_mailbox_is_the_programs_own_failure_and_bounded() {
    let (real, garbage) = (real(), attack("garbage"));
    for case in &garbage.cases {
        let outcome = garbage.outcome(&real, case, "process", &["--time-limit", "120"]);
        garbage.check(case, &outcome);
        let message = outcome.1["message"].as_str().unwrap_or_default();
        assert!(message.contains("exited with status 1"), "{case}: {message}");
    }
}

/// What is in the folder and named by no test would never run.
#[test]
fn every_file_of_the_folder_is_run_by_a_test() {
    let this = include_str!("provenance.rs");
    for entry in std::fs::read_dir(folder()).expect("a folder").flatten() {
        let path = entry.path();
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name");
        assert!(this.contains(&format!("\"{name}\"")) || name == "tools", "{name}");
    }
}

#[test]
fn an_output_that_the_host_computed_counts_for_nothing_whatever_the_device_does_beside_it() {
    let real = real();
    for name in ["cpu_bare", "cpu_decoys", "over_download", "kept_from_the_device"] {
        attack(name).run(&real);
    }
}

#[test]
fn what_goes_up_ready_made_is_no_output_of_the_kernels() {
    let real = real();
    for name in ["ready_made", "right_answer_uploaded", "composed", "memset"] {
        attack(name).run(&real);
    }
}

#[test]
fn what_was_computed_before_the_region_is_not_what_is_measured() {
    attack("kept_from_before").run(&real());
}

#[test]
fn small_kernels_stay_small_and_so_do_their_pieces() {
    let real = real();
    for name in ["wide_branches", "branches_in_pieces"] {
        attack(name).run(&real);
    }
}

#[test]
fn data_of_one_batch_with_data_of_another_is_named_with_the_line_that_joins_them() {
    let real = real();
    attack("other_batch").run(&real);
    attack("other_choices").run(&real);
}

#[test]
fn batches_are_loaded_before_they_go_up_and_losses_are_there_before_they_are_kept() {
    let real = real();
    for name in ["loads_late", "keeps_early", "only_what_comes_back"] {
        attack(name).run(&real);
    }
}

#[test]
fn the_region_is_the_exercises_whatever_the_program_says() {
    let real = real();
    for name in ["declared", "scaled", "second_region", "other_queues"] {
        attack(name).run(&real);
    }
}
