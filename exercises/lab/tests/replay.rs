//! Recorded programs, played again through the driver on the simulated device.

use std::path::{Path, PathBuf};
use std::process::Command;

use simulator::{Profile, Schedule};
use trace::program::{Call, Step};
use trace::timeline::{Span, Timeline};
use trace::{Program, Record, env};

/// The recorded programs of all exercises.
fn recorded() -> Vec<PathBuf> {
    let exercises = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folders = std::fs::read_dir(exercises).expect("the exercises").flatten();
    let files = folders.flat_map(|folder| {
        ["baseline", "reference"].map(|name| folder.path().join(format!("recorded/{name}.json")))
    });
    let mut files: Vec<PathBuf> = files.filter(|file| file.is_file()).collect();
    files.sort();
    files
}

fn read(path: &Path) -> Program {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("a program")
}

/// What the driver wrote down of a run of `replay`, and what it printed.
fn play(program: &Path, record: &Path) -> (Option<Record>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replay"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("SWIM_")) {
        command.env_remove(name);
    }
    let output = command.env(env::PROGRAM, program).env(env::RECORD, record).output();
    let output = output.expect("it starts");
    let record = std::fs::read(record).ok();
    let record = record.map(|text| serde_json::from_slice(&text).expect("a record"));
    (record, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn calls(steps: &[Step]) -> Vec<&Call> {
    let last = steps.iter().rposition(|step| step.call == Call::RegionEnd).expect("a region");
    let calls = steps[..=last].iter().map(|step| &step.call);
    // No calls: what the host reads and writes itself is not played, and of the regions only the last.
    let is_none =
        |call: &Call| matches!(call, Call::HostAccess { .. } | Call::RegionBegin | Call::RegionEnd);
    calls.filter(|call| !is_none(call)).collect()
}

#[test]
fn a_recorded_program_that_is_played_makes_the_calls_that_it_made_and_takes_as_long() {
    let scratch = tempfile::tempdir().expect("a folder");
    let profile: Profile = toml::from_str(Profile::H200).expect("a profile");
    let files = recorded();
    assert!(files.len() >= 4, "{files:?}");
    for (index, file) in files.iter().enumerate() {
        let program = read(file);
        // Those are refused.
        if program.steps.iter().any(|step| matches!(step.call, Call::GraphCreate { .. })) {
            continue;
        }
        let (record, said) = play(file, &scratch.path().join(format!("{index}.json")));
        let record =
            record.unwrap_or_else(|| panic!("`{}` cannot be played: {said}", file.display()));
        assert_eq!(calls(&record.program.steps), calls(&program.steps), "{}", file.display());
        // The device's own account of how long requests waited is what the timeline says.
        let latency = trace::metrics::latency(&record.program, &record.timeline);
        let last = record.trials.last().expect("a region");
        assert_eq!(last.latency, latency, "{}", file.display());
        let simulated = simulator::replay(&program, &profile, Schedule::Exact);
        let [trial] = &record.trials[..] else { panic!("one pass, not {:?}", record.trials) };
        assert_eq!(trial.makespan_ns, simulated.extent().ns(), "{}", file.display());
        // From the beginning of the region: what was done in earlier ones is played outside of any.
        let times = |timeline: &Timeline| -> Vec<_> {
            let began = timeline.region.expect("a region").start_ns;
            let inside = timeline.spans.iter().filter(|span| span.start_ns >= began);
            let times =
                |span: &Span| (span.kind, span.stream, span.start_ns - began, span.end_ns - began);
            inside.map(times).collect()
        };
        let (played, simulated) = (times(&record.timeline), times(&simulated));
        assert_eq!(played, simulated, "{}", file.display());
    }
}

#[test]
fn a_program_that_cannot_be_played_is_refused_by_what_it_asks_for() {
    let scratch = tempfile::tempdir().expect("a folder");
    let file = scratch.path().join("program.json");
    let steps = |middle: &str| {
        format!(
            r#"{{"version":1,"scale":32,"sites":[],"steps":[{{"call":"region_begin"}},{middle}{{"call":"region_end"}}]}}"#
        )
    };
    for (middle, why) in [
        (r#"{"call":{"stream_synchronize":{"stream":7}}},"#, "not there: a stream"),
        (r#"{"call":{"graph_launch":{"graph":0,"stream":0}}},"#, "graphs is not played"),
        (r#"{"call":"context_synchronize","thread":1},"#, "several host threads"),
    ] {
        std::fs::write(&file, steps(middle)).expect("it is written");
        let (record, said) = play(&file, &scratch.path().join("record.json"));
        assert!(said.contains(why), "{said}");
        assert!(record.is_none_or(|record| record.trials.is_empty()));
    }
}
