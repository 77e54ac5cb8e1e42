//! The last chapter: the changes of its plan, alone and in three orders, and the poster.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use trace::Record;
use trace::causes;
use trace::env;
use trace::signs::Sign;

use crate::class::{empty, solution};
use crate::racy::with_file;
use crate::real::{Real, real};
use crate::synchronisations::executables;

/// Each change: what it is called in `capstone_steps`, without it and with it.
const CHANGES: [(&str, u64, u64); 8] = [
    ("pinned", 0, 1),
    ("kept", 0, 1),
    ("aside", 0, 1),
    ("buffers", 1, 2),
    ("later", 0, 1),
    ("patient", 0, 1),
    ("uploading", 0, 1),
    ("training", 0, 1),
];

/// The plan of the exercise, in its order.
const PLAN: [Sign; 8] = [
    Sign::PageableCopies,
    Sign::Allocations,
    Sign::DefaultStream,
    Sign::OneBuffer,
    Sign::EmptyDevice,
    Sign::DeviceWideWaits,
    Sign::UploadsWithKernels,
    Sign::OneStreamOfKernels,
];

/// A run with these changes: its efficiency, and a line about it.
fn with(program: &Path, made: &[usize], ends: Option<[f64; 2]>) -> (f64, String) {
    let numbers: Vec<String> = CHANGES
        .iter()
        .enumerate()
        .map(|(index, (name, without, with))| {
            format!("{name}={}", if made.contains(&index) { with } else { without })
        })
        .collect();
    let folder = empty("relay");
    let path = folder.join("record.json");
    let mut command = Command::new(program);
    command.env(env::RECORD, &path).env(env::NUMBERS, numbers.join(","));
    command.env(env::DEVICE, "sim").stdout(Stdio::null());
    assert!(command.status().expect("it starts").success(), "{numbers:?}");
    let text = std::fs::read(&path).expect("the driver writes records");
    let record: Record = serde_json::from_slice(&text).expect("a record");

    let trial = record.trials.last().expect("a region");
    let efficiency = trial.bounds.and_then(|it| it.overlap_efficiency(trial.makespan_ns));
    let efficiency = efficiency.expect("there is work to overlap");
    let score = ends.map(|[low, high]| {
        let delta = high - low;
        100.0 * ((efficiency - low - 0.05 * delta) / (0.9 * delta)).clamp(0.0, 1.0)
    });
    let cause = causes::find(&record.program, &record.timeline);
    let cause = cause.first().map_or("none", |cause| cause.code.as_str());
    let left: Vec<Sign> =
        PLAN.into_iter().filter(|sign| sign.is_in(&record.program, &record.timeline)).collect();
    let line = format!(
        "{:>6.3} ms  score {:>5.1}  first cause {cause:<8}  {} left, next {}",
        trial.makespan_ns as f64 / 1e6,
        score.unwrap_or(f64::NAN),
        left.len(),
        left.first().map_or("nothing".to_owned(), |sign| format!("{sign:?}")),
    );
    (efficiency, line)
}

#[test]
fn each_change_of_the_plan_alone_and_in_three_orders_is_seen_to_be_made() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("a folder");
    let built = executables(&root, &["capstone".to_owned()]);
    let program = &built["capstone_steps"];
    let all: Vec<usize> = (0..CHANGES.len()).collect();
    let ends = Some([with(program, &[], None).0, with(program, &all, None).0]);

    let mut table = String::new();
    let mut say = |what: &str, made: &[usize]| {
        writeln!(table, "{what:<24}{}", with(program, made, ends).1).expect("a string");
    };
    say("nothing", &[]);
    for (index, (name, ..)) in CHANGES.iter().enumerate() {
        say(&format!("{name} alone"), &[index]);
    }
    let orders = [[0, 1, 2, 3, 4, 5, 6, 7], [7, 6, 5, 4, 3, 2, 1, 0], [2, 3, 7, 0, 6, 1, 4, 5]];
    for order in orders {
        for count in 1..=order.len() {
            say(&format!("then {}", CHANGES[order[count - 1]].0), &order[..count]);
        }
    }
    insta::assert_snapshot!(table);
}

fn poster(real: &Real, name: &str, more: &[&str]) -> (i32, Value, String) {
    let page = empty(name).join("wall.html");
    let path = page.to_string_lossy().into_owned();
    let mut command = real.checker(&[&["poster", "-o", &path, "--json"], more].concat());
    let output = command.output().expect("the checker starts");
    let object = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let page = std::fs::read_to_string(&page).unwrap_or(said);
    (output.status.code().expect("a code"), object, page)
}

#[test]
fn a_poster_has_both_timelines_and_no_name_that_was_not_given() {
    let real = real();
    let solution = solution(&real, "capstone");
    let (plain, named) = with_file(&real, "capstone", &solution, || {
        (poster(&real, "poster", &[]), poster(&real, "named", &["--name", "Ada <b> & Co"]))
    });
    let (code, object, page) = plain;
    assert_eq!((code, object["score"].as_f64()), (0, Some(100.0)), "{object:#}");
    assert!(object["first_ns"].as_u64() > object["makespan_ns"].as_u64(), "{object:#}");
    assert_eq!(page.matches("<svg ").count(), 1);
    for there in ["as on the first day", "with the changes", "8 of 8", "simulated h200"] {
        assert!(page.contains(there), "{there}");
    }
    assert!(!page.contains("class=\"by\""), "no name was given");
    let (_, object, page) = named;
    assert!(page.contains("<p class=\"by\">Ada &lt;b&gt; &amp; Co</p>"));
    let picture = object["picture"].as_str().expect("a path");
    let picture = std::fs::read_to_string(picture).expect("a file");
    assert!(picture.starts_with("<svg ") && picture.contains("Ada &lt;b&gt;"));
}

#[test]
fn a_run_that_a_gate_has_failed_makes_no_poster() {
    let real = real();
    let racy = solution(&real, "capstone").replace("uploaded[at].synchronize()?;", "");
    let (code, _, said) =
        with_file(&real, "capstone", &racy, || poster(&real, "poster_of_a_race", &[]));
    assert_eq!(code, 2, "{said}");
    assert!(said.contains("there is no poster of this run"), "{said}");
}
