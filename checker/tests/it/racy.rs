//! Racy programs as students write them, for `chunked_pipeline`: what is reported, and that to follow
//! it puts them right.
//!
//! Each has one mistake. The files in `racy/` are the student's; the snapshots are all that is shown.
//! They are also what readers are tried with who have never read the book: shown one file and its
//! report, do they change the right line?

use serde_json::Value;

use crate::real::{Real, real};
use crate::tree::write;

/// A file, the code, the lines of the two uses, what is said to be wrong with the synchronisation that
/// comes close and its line, and whether the change is shown as one.
struct Racy {
    name: &'static str,
    source: &'static str,
    code: &'static str,
    lines: [u64; 2],
    near: Option<(&'static str, u64)>,
    change: Change,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    /// As an edit of the source.
    Shown,
    /// In words, since the line is not so plain that an edit would be sure to be right. This is it.
    InWords { from: &'static str, to: &'static str },
}

macro_rules! racy {
    ($name:literal, $code:literal, $lines:expr, $near:expr, $change:expr) => {
        Racy {
            name: $name,
            source: include_str!(concat!("racy/", $name, ".rs")),
            code: $code,
            lines: $lines,
            near: $near,
            change: $change,
        }
    };
}

const RACY: [Racy; 12] = [
    racy!("no_wait", "SWIM-H01", [14, 15], None, Change::Shown),
    racy!(
        "recorded_too_early",
        "SWIM-H01",
        [15, 17],
        Some(("recorded-too-early", 14)),
        Change::Shown
    ),
    racy!("another_waits", "SWIM-H01", [17, 20], Some(("another-waits", 19)), Change::Shown),
    racy!("waits_too_late", "SWIM-H01", [14, 16], Some(("waits-too-late", 17)), Change::Shown),
    racy!(
        "event_of_an_earlier_turn",
        "SWIM-H01",
        [16, 22],
        Some(("waits-for-another-event", 21)),
        Change::InWords { from: "[index.saturating_sub(1)]", to: "[index]" }
    ),
    racy!(
        "recorded_once",
        "SWIM-H01",
        [16, 21],
        Some(("not-recorded-again", 18)),
        Change::InWords { from: "if index == 0 {", to: "{" }
    ),
    racy!(
        "by_turns",
        "SWIM-H01",
        [14, 18],
        Some(("by-turns", 0)),
        Change::InWords { from: "index % 2", to: "index % 3" }
    ),
    racy!(
        "synchronises_another",
        "SWIM-H01",
        [18, 22],
        Some(("host-waits-for-another", 20)),
        Change::Shown
    ),
    racy!("shared_staging", "SWIM-H02", [18, 15], None, Change::Shown),
    racy!("overwritten_input", "SWIM-H02", [14, 16], Some(("nobody-waits", 15)), Change::Shown),
    racy!("early_read", "SWIM-H01", [21, 22], None, Change::Shown),
    racy!("late_synchronise", "SWIM-H02", [12, 15], Some(("waits-too-late", 16)), Change::Shown),
];

/// Runs `source` as the student's file of `chunked_pipeline`.
fn with<T>(real: &Real, source: &str, run: impl FnOnce() -> T) -> T {
    with_file(real, "chunked_pipeline", source, run)
}

pub(crate) fn with_file<T>(
    real: &Real,
    exercise: &str,
    source: &str,
    run: impl FnOnce() -> T,
) -> T {
    let file = real.folder(exercise).join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    write(&file, source);
    let outcome = run();
    write(&file, &shipped);
    outcome
}

/// The source with the edits of the first hazard's `fix` made.
fn fixed(source: &str, hazard: &Value) -> Option<String> {
    let edits = hazard["fix"].as_array()?;
    let mut text = source.to_owned();
    for edit in edits.iter().rev() {
        assert_eq!(edit["file"], "src/lib.rs", "{edit:#}");
        let at = |key: &str| edit[key].as_u64().expect("a place") as usize;
        text.replace_range(at("from")..at("to"), edit["text"].as_str().expect("text"));
    }
    Some(text)
}

#[test]
fn each_racy_program_is_reported_with_its_lines_and_what_comes_close() {
    let real = real();
    for racy in &RACY {
        let Racy { name, source, code, lines, near, .. } = racy;
        let (object, text) = with(&real, source, || {
            let (_, object) = real.json(&["run", "chunked_pipeline"]);
            (object, real.report(&["run", "chunked_pipeline", "--device", "sim"]))
        });
        let hazards = object["hazards"].as_array().expect("a list");
        let [hazard] = &hazards[..] else { panic!("{name}: {object:#}") };
        let line = |of: &Value| of["line"].as_u64().unwrap_or_default();
        assert_eq!(hazard["code"], *code, "{name}: {hazard:#}");
        assert_eq!([line(&hazard["first"]), line(&hazard["second"])], *lines, "{name}: {hazard:#}");
        let slip = &hazard["near"];
        let found = slip["slip"].as_str().map(|it| (it, line(slip)));
        assert_eq!(found, *near, "{name}: {hazard:#}");
        // What costs time is for later: a wait that is in the way may be one to be put right.
        let causes = object["causes"].as_array().expect("a list");
        assert_eq!(causes.is_empty(), !HAVE_CAUSES.contains(name), "{name}: {causes:#?}");
        assert!(!text.contains("SWIM-C"), "{name}: {text}");
        insta::assert_snapshot!(*name, text);
    }
}

/// Those that lose time too.
const HAVE_CAUSES: [&str; 7] = [
    "another_waits",
    "event_of_an_earlier_turn",
    "by_turns",
    "overwritten_input",
    "synchronises_another",
    "shared_staging",
    "late_synchronise",
];

#[test]
fn the_change_that_is_shown_puts_each_program_right() {
    let real = real();
    for Racy { name, source, change, .. } in &RACY {
        let (_, before) = with(&real, source, || real.json(&["run", "chunked_pipeline"]));
        let shown = fixed(source, &before["hazards"][0]);
        let changed = match (change, shown) {
            (Change::Shown, Some(changed)) => changed,
            (Change::InWords { from, to }, None) => {
                assert_eq!(source.matches(from).count(), 1, "{name}");
                source.replace(from, to)
            }
            (_, shown) => panic!("{name}: {shown:?}: {:#}", before["hazards"]),
        };
        let (_, after) = with(&real, &changed, || real.json(&["run", "chunked_pipeline"]));
        assert_eq!(after["hazards"], serde_json::json!([]), "{name}:\n{changed}\n{after:#}");
        assert_eq!(after["gate"], Value::Null, "{name}:\n{changed}\n{after:#}");
    }
}

/// What is wrong with memory that another stream frees, or clears, is told by both lines.
#[test]
fn memory_that_is_freed_or_cleared_in_another_stream_is_reported_with_both_lines() {
    let real = real();
    let files = [
        (include_str!("racy/freed_in_another_stream.rs"), "hazard", ("SWIM-H04", [29, 19])),
        (include_str!("racy/cleared_in_the_null_stream.rs"), "output", ("SWIM-H05", [25, 26])),
    ];
    for (source, gate, (code, lines)) in files {
        let (_, object) =
            with_file(&real, "implicit_sync", source, || real.json(&["run", "implicit_sync"]));
        assert_eq!(object["gate"], gate, "{object:#}");
        let hazard = &object["hazards"][0];
        let line = |of: &str| hazard[of]["line"].as_u64().unwrap_or_default();
        assert_eq!(hazard["code"], code, "{object:#}");
        assert_eq!([line("first"), line("second")], lines, "{object:#}");
    }
}

/// `events` says which lines are to be edited, so each change that is shown for it stays there: one
/// after the other they lead from the file as shipped to one that is right.
#[test]
fn the_changes_that_are_shown_stay_inside_the_regions_that_are_marked() {
    let real = real();
    let file = real.folder("events").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    let mut source = shipped.clone();
    // The two handovers of a lap.
    for _ in 0..2 {
        let (_, object) = with_file(&real, "events", &source, || real.json(&["run", "events"]));
        let hazard = &object["hazards"][0];
        assert_eq!(hazard["code"], "SWIM-H01", "{source}\n{object:#}");
        source = fixed(&source, hazard).unwrap_or_else(|| panic!("{source}\n{hazard:#}"));
        assert_eq!(outside(&source), outside(&shipped), "{source}");
    }
    // To wait for the lap before is no fault and makes all laps take turns: of slots there are words alone.
    let (_, object) = with_file(&real, "events", &source, || real.json(&["run", "events"]));
    let hazard = &object["hazards"][0];
    assert_eq!((&hazard["code"], &hazard["fix"]), (&"SWIM-H02".into(), &Value::Null), "{object:#}");
    let help = hazard["help"].as_str().expect("words");
    assert!(help.contains("4 laps later; keep an event for each of the 4"), "{help}");
}

/// The trap of `default_stream`: streams that no longer wait for the library, and nothing in place of that.
#[test]
fn non_blocking_streams_alone_race_with_the_library_before_it_and_after_it() {
    let real = real();
    let file = real.folder("default_stream").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    let streams = "// region: streams\n";
    let source =
        shipped.replace(streams, &format!("{streams}{}", "context.new_stream()?,\n".repeat(2)));
    let arguments = ["run", "default_stream"];
    let (_, object) = with_file(&real, "default_stream", &source, || real.json(&arguments));
    let line = |call: &str| {
        let at = source.lines().position(|line| line.trim_start().starts_with(call));
        at.expect("the file has the call") + 1
    };
    let [upload, library, download] =
        ["upload.memcpy", "library.transform", "download.memcpy"].map(line);
    let hazards = object["hazards"].as_array().expect("a list");
    let told = hazards.iter().map(|hazard| {
        let line = |of: &str| hazard[of]["line"].as_u64().unwrap_or_default() as usize;
        (hazard["code"].as_str(), line("first"), line("second"))
    });
    let expected = [(Some("SWIM-H01"), upload, library), (Some("SWIM-H01"), library, download)];
    assert_eq!(told.collect::<Vec<_>>(), expected, "{object:#}");
    assert_eq!(object["gate"], "output", "{object:#}");
    let help = format!(
        "record an event in stream 1 after line {upload}, and let the default stream wait for it before line {library}"
    );
    assert_eq!(object["hazards"][0]["help"], help.as_str(), "{object:#}");
}

/// The file of `wrapper_tracking` with lines added at the beginning of the region `memory`, and what a run of
/// it says.
fn with_memory(lines: &str) -> (String, Value) {
    let real = real();
    let file = real.folder("wrapper_tracking").join("src/lib.rs");
    let shipped = std::fs::read_to_string(&file).expect("a file");
    let memory = "// region: memory\n";
    let source = shipped.replace(memory, &format!("{memory}{lines}"));
    let arguments = ["run", "wrapper_tracking", "--feedback", "advice"];
    let (_, object) = with_file(&real, "wrapper_tracking", &source, || real.json(&arguments));
    (source, object)
}

/// The number of the line that begins with a call.
fn line_of(source: &str, call: &str) -> u64 {
    let at = source.lines().position(|line| line.trim_start().starts_with(call));
    at.expect("the file has the call") as u64 + 1
}

/// The waits of `wrapper_tracking` are at no line of the student's: the report says whose they are.
#[test]
fn the_waits_that_tracking_adds_are_told_as_its_own() {
    let (source, object) = with_memory("");
    let cause = &object["causes"][0];
    assert_eq!(cause["code"], "SWIM-C12", "{object:#}");
    let line = line_of(&source, "work.map(&right");
    assert_eq!(cause["line"], line, "{object:#}");
    let help = "tracking keeps its events for an allocation: give independent parts of this memory an allocation each";
    assert_eq!(cause["help"], help, "{object:#}");
}

/// The first trap of `wrapper_tracking`: without tracking, nothing makes the kernels wait for the upload.
#[test]
fn tracking_off_and_nothing_in_place_of_it_is_a_race() {
    let (source, object) = with_memory("unsafe { context.disable_event_tracking() };\n");
    let lines = ["upload.memcpy", "work.map(&left", "work.map(&right"];
    let [upload, left, right] = lines.map(|call| line_of(&source, call));
    let hazards = object["hazards"].as_array().expect("a list");
    let told = hazards.iter().map(|hazard| {
        let line = |of: &str| hazard[of]["line"].as_u64().unwrap_or_default();
        (hazard["code"].as_str().unwrap_or_default(), line("first"), line("second"))
    });
    let told: std::collections::BTreeSet<_> = told.collect();
    let expected = [
        ("SWIM-H01", upload, left),
        ("SWIM-H01", upload, right),
        ("SWIM-H02", left, upload),
        ("SWIM-H02", right, upload),
    ];
    assert_eq!(told, expected.into(), "{object:#}");
}

/// The second trap: the overlap is there, and of the two kernels that read an input tracking remembers one.
#[test]
fn an_allocation_for_each_result_leaves_the_first_of_two_readers_without_a_wait() {
    let own = "let mut own = upload.alloc_zeros::<u32>(half)?;\nlet halves = (halves.0, own.as_view_mut());\n";
    let (source, object) = with_memory(own);
    let lines = ["upload.memcpy", "work.map(&left", "work.map(&right"];
    let [upload, left, right] = lines.map(|call| line_of(&source, call));
    assert_eq!(object["gate"], "hazard", "{object:#}");
    let hazards = object["hazards"].as_array().expect("a list");
    assert_eq!(hazards.len(), 1, "{object:#}");
    let line = |of: &str| hazards[0][of]["line"].as_u64().unwrap_or_default();
    assert_eq!((line("first"), line("second")), (left, upload), "{object:#}");
    let notes = hazards[0]["notes"].as_array().expect("a list");
    let note = format!(
        "cudarc's event tracking has one event for all reads of an allocation: line {right} recorded it again, \
         and line {upload} waits for that use alone"
    );
    assert!(notes.contains(&note.as_str().into()), "{notes:#?}");
}

/// The lines that are not in a region, and the marks.
fn outside(source: &str) -> Vec<&str> {
    let mut is_inside = false;
    let lines = source.lines().filter(|line| {
        let is_mark = line.trim_start().starts_with("// endregion");
        is_inside &= !is_mark;
        let is_kept = !is_inside;
        is_inside |= line.trim_start().starts_with("// region:");
        is_kept
    });
    lines.collect()
}

#[test]
fn the_witness_of_each_shows_a_wrong_value() {
    let real = real();
    for Racy { name, source, .. } in &RACY {
        let arguments = ["run", "chunked_pipeline", "--schedule", "witness"];
        let (object, text) = with(&real, source, || {
            (real.json(&arguments).1, real.report(&[&arguments[..], &["--device", "sim"]].concat()))
        });
        let witness = &object["witness"];
        let wrong = &witness["outcome"]["wrong"];
        assert_eq!(witness["hazard"], 1, "{name}: {object:#}");
        assert!(wrong["wrong"].as_u64() > Some(0), "{name}: {witness:#}");
        assert_ne!(wrong["found"], wrong["expected"], "{name}: {witness:#}");
        assert_eq!(object["schedule"], "witness", "{name}");
        // The data that is wrong on the way is wrong in the end, unless the host keeps it to itself.
        let gate = if *name == "early_read" { "hazard" } else { "output" };
        assert_eq!(object["gate"], gate, "{name}: {object:#}");
        let message = witness["message"].as_str().expect("a message");
        assert!(text.contains(message) && !text.contains("see it go wrong"), "{name}: {text}");
    }
}
