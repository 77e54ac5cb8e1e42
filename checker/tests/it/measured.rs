//! `checker dev measure`, and the kept files that it makes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use trace::Fidelity;
use trace::fidelity::{Measured, Sum, Verdict, Visit};

use crate::gpu::with_gpu;
use crate::tree::{scratch, shown, tree};

/// The folder of the kept files.
fn measured() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../book/measured")
}

/// The kept files, by name.
fn kept() -> Vec<(String, Fidelity)> {
    let entries = std::fs::read_dir(measured()).expect("the kept files").flatten();
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "json"));
    let mut kept: Vec<(String, Fidelity)> = files
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            (name, read(&path))
        })
        .collect();
    kept.sort_by(|a, b| a.0.cmp(&b.0));
    assert!(!kept.is_empty(), "nothing is kept");
    kept
}

fn read(path: &Path) -> Fidelity {
    let text = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A fresh folder.
fn folder(name: &str) -> PathBuf {
    let folder = scratch().join(name);
    _ = std::fs::remove_dir_all(&folder);
    folder
}

fn seen<'a>(visit: &'a Visit, exercise: &str, program: &str) -> &'a Measured {
    let mut of = visit.programs.iter();
    of.find(|it| it.exercise == exercise && it.program == program).expect("it was measured")
}

#[test]
fn each_kept_file_has_less_than_a_mebibyte() {
    let entries = std::fs::read_dir(measured()).expect("the kept files").flatten();
    for entry in entries {
        let bytes = entry.metadata().expect("it is there").len();
        assert!(bytes < 1 << 20, "{}: {bytes} bytes", entry.path().display());
    }
}

#[test]
fn what_is_predicted_and_the_report_are_what_the_simulated_device_says_today() {
    let output = folder("measured-today");
    let to = output.to_str().expect("UTF-8");
    // Of one device all, and of the other some: what makes those stale makes these stale too.
    let some: &[&str] = &["two_streams", "events", "fork_join", "wrapper_tracking", "priorities"];
    for (profile, exercises) in [("h200", &[][..]), ("h100", some)] {
        let options = ["--device", "sim", "--profile", profile, "--output", to];
        let run = crate::real::output(&[&["dev", "measure"], exercises, &options].concat());
        let text = shown(&run, &output);
        assert!(text.starts_with("exit code: 0"), "{text}");
        for ending in ["json", "md"] {
            let name = format!("{profile}.{ending}");
            let today = std::fs::read_to_string(output.join(&name)).expect("it was written");
            let kept = std::fs::read_to_string(measured().join(&name)).unwrap_or_default();
            let hint = format!("cargo run -- dev measure --device sim --profile {profile}");
            assert!(today == kept, "`book/measured/{name}` is stale; hint: `{hint}`");
        }
    }
}

#[test]
fn a_program_that_misses_a_goal_is_known_to_and_one_that_is_known_to_does() {
    let (mut unknown, mut mended) = (Vec::new(), Vec::new());
    for (name, kept) in kept() {
        for row in kept.rows() {
            let what = format!("{name}: {} {}", row.predicted.exercise, row.predicted.program);
            match (row.verdict(), &row.predicted.misses) {
                (Verdict::Makespan | Verdict::Efficiency, None) => unknown.push(what),
                (Verdict::Met, Some(_)) => mended.push(what),
                _ => {}
            }
        }
    }
    assert!(unknown.is_empty(), "give the reason as `misses`, or mend: {unknown:?}");
    assert!(mended.is_empty(), "these meet the goals, so take out `misses`: {mended:?}");
}

#[test]
fn two_thirds_of_what_was_measured_are_within_a_twentieth() {
    for (name, kept) in kept() {
        let sum = Sum::of(&kept.rows());
        assert!(sum.close_enough(), "{name}: {} of {} programs", sum.close, sum.measured);
    }
}

#[test]
fn a_visit_says_on_what_when_and_how_and_measures_nothing_twice() {
    for (name, kept) in kept() {
        for visit in &kept.visits {
            for said in [&visit.date, &visit.command] {
                assert!(!said.is_empty(), "{name}: {visit:?}");
            }
            let programs: BTreeSet<_> =
                visit.programs.iter().map(|it| (&it.exercise, &it.program)).collect();
            assert_eq!(programs.len(), visit.programs.len(), "{name}, {}", visit.date);
        }
    }
}

#[test]
fn operations_are_kept_of_each_programs_last_visit_alone() {
    for (name, kept) in kept() {
        let mut programs: Vec<_> = kept
            .visits
            .iter()
            .flat_map(|visit| &visit.programs)
            .filter(|measured| measured.operations.is_some())
            .map(|measured| (&measured.exercise, &measured.program))
            .collect();
        let all = programs.len();
        programs.sort();
        programs.dedup();
        assert_eq!(programs.len(), all, "{name}");
    }
}

#[test]
fn a_visit_to_a_gpu_keeps_what_each_program_did_and_goes_on_after_one_that_fails() {
    let output = folder("measured-visit");
    // `unsolved` has no solution, and `panics` no baseline to build.
    let measure = |names: &[&str]| {
        let arguments = [&["dev", "measure"], names, &["--output"]].concat();
        let mut command = with_gpu(&arguments, "works");
        shown(&command.arg(&output).output().expect("it starts"), tree().root())
    };
    let text = measure(&["swift"]);
    assert!(text.starts_with("exit code: 0"), "{text}");
    assert!(text.contains("launch") && text.contains("+100 ns"), "{text}");
    let kept = read(&output.join("stand-in.json"));
    assert_eq!((kept.device.as_str(), kept.visits.len()), ("Stand-in", 1));
    let visit = &kept.visits[0];
    assert_eq!((visit.cuda, visit.command.contains("dev measure swift")), (13_010, true));
    let [shipped, solution] = ["shipped", "solution"].map(|it| seen(visit, "swift", it));
    assert_eq!(shipped.makespans_ns, [1_050_000; 9]);
    assert_eq!((solution.failure.as_deref(), solution.traced_ns.len()), (None, 3));
    assert!(solution.order.is_some(), "{solution:?}");
    // It has no task: what it asks for is played alone, share by share.
    assert!(seen(visit, "swift", "drawn").bounds.is_some());

    let text = measure(&["panics", "swift"]);
    assert!(text.starts_with("exit code: 4"), "{text}");
    assert!(text.contains("trouble: panics"), "{text}");
    let kept = read(&output.join("stand-in.json"));
    assert_eq!(kept.visits.len(), 2, "the earlier visit stays");
    assert_eq!(
        kept.rows().iter().map(|row| row.measured.as_ref().map(|it| it.runs)).max(),
        Some(Some(18))
    );
    assert!(output.join("stand-in.md").is_file());
}

#[test]
fn without_a_gpu_the_predictions_alone_are_made() {
    let output = folder("measured-nowhere");
    let mut command: Command = with_gpu(&["dev", "measure", "swift", "--output"], "empty");
    let text = shown(&command.arg(&output).output().expect("it starts"), &output);
    assert!(text.starts_with("exit code: 0"), "{text}");
    let kept = read(&output.join("h200.json"));
    assert_eq!((kept.visits.len(), kept.programs.len()), (0, 4));
    assert_eq!(kept.rows()[0].verdict(), Verdict::Unmeasured);
}
