//! What a run prints, for people and for programs.

use insta::assert_snapshot;

use crate::terminal::Terminal;
use crate::tree::{json, tree};

#[test]
fn a_pass_is_drawn_counted_and_followed_by_the_next_step() {
    assert_snapshot!(tree().run(&["run", "swift", "--device", "sim"]), @"
    exit code: 0
    ----- stdout -----
    swift · your file · simulated h200

    your file                                                                1.05 ms
    host     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww////////////////////////////////
    stream 1 >>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>································  50 %
    stream 2 ················█████████████████████████████████████████████████  75 %
    the reference                                                            1.00 ms
    host     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww
             0           0.2 ms      0.4 ms       0.6 ms      0.8 ms      1 ms
             █ kernel  > copy to device  w host work  / host blocked  · idle  % busy

    makespan             1.05 ms
    lower bound          1.00 ms: no schedule is shorter
    hidden copies        50 % of the copying, beside a kernel
    overlap efficiency   97.5 %; 0 % is one engine after the other, 3.00 ms
    score                100.0 of 100  [####################|#####]  80 passes

    passed: score 100.0, and 80 is enough

    next: go on
          then go on with `sluggish`: edit `exercises/02_sluggish/src/lib.rs`
    ");
}

#[test]
fn a_failed_gate_is_drawn_and_has_no_points() {
    assert_snapshot!(tree().run(&["run", "hasty", "--device", "sim"]), @"
    exit code: 1
    ----- stdout -----
    hasty · your file · simulated h200

    your file                                                                1.10 ms
    host     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww////////////////////////////////
    stream 1 >>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>································  50 %
    stream 2 ················█████████████████████████████████████████████████  75 %
    the reference                                                            1.00 ms
    host     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww
             0          0.2 ms      0.4 ms      0.6 ms      0.8 ms      1 ms
             █ kernel  > copy to device  w host work  / host blocked  · idle  % busy

    makespan             1.10 ms
    lower bound          1.00 ms: no schedule is shorter
    hidden copies        50 % of the copying, beside a kernel

    failed: gate `idle`: the device was still at work when the measured region ended

    next: at the end of the region in `exercises/12_hasty/src/lib.rs`, wait for every stream that still has work
          then `cargo run -- run hasty`
    ");
}

#[test]
fn a_hazard_is_shown_with_both_lines_underlined() {
    let text = tree().run(&["run", "racy", "--device", "sim"]);
    let from = text.find("error[SWIM").unwrap_or_else(|| panic!("{text}"));
    assert_snapshot!(&text[from..], @"
    error[SWIM-H01]: kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, and nothing orders the two
     --> src/lib.rs:5:9
      |
    4 |     _ = copy_in;
      |         ------- the copy to the device in stream 1 writes here
    5 |     _ = compute;
      |         ^^^^^^^ kernel 0 in stream 2 reads here
      |
      = note: streams run side by side: which call came first orders nothing between them
      = help: record an event in stream 1 after line 4, and let stream 2 wait for it before line 5
    see it go wrong: `cargo run -- run racy --schedule witness`

    failed: gate `hazard`: SWIM-H01: kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, and nothing orders the two (src/lib.rs:4 and src/lib.rs:5)

    next: make `exercises/28_racy/src/lib.rs:5` wait for line 4, as the help of SWIM-H01 says
          `cargo run -- explain SWIM-H01` tells more
          then `cargo run -- run racy`
    ");
}

#[test]
fn a_hazard_whose_lines_are_not_there_is_shown_by_its_places() {
    let text = tree().run(&["run", "leaning", "--device", "sim"]);
    let from = text.find("warning[SWIM").unwrap_or_else(|| panic!("{text}"));
    // Which exercise comes next depends on what other tests pass in this tree.
    let to = text.find("\n      then go on").unwrap_or_else(|| panic!("{text}"));
    assert_snapshot!(&text[from..to], @"
    warning[SWIM-H06]: kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, in an order that nothing promises
     |
     = note: src/lib.rs:5: kernel 0 in stream 2 reads here
     = note: src/lib.rs:4: the copy to the device in stream 1 writes here
     = note: streams run side by side: which call came first orders nothing between them
     = note: the module load at step 5 was seen to wait for the device, but no documentation promises that it does
     = help: record an event in stream 1 after line 4, and let stream 2 wait for it before line 5
    see it go wrong: `cargo run -- run leaning --schedule witness`

    passed: score 100.0, and 80 is enough

    next: go on
    ");
}

#[test]
fn the_object_has_every_hazard() {
    let (_, object) = tree().json(&["run", "racy", "--device", "sim"]);
    let hazards = serde_json::to_string_pretty(&object["hazards"]).expect("plain data");
    assert_snapshot!(hazards, @r#"
    [
      {
        "code": "SWIM-H01",
        "count": 1,
        "file": "src/lib.rs",
        "first": {
          "file": "src/lib.rs",
          "line": 4
        },
        "fix": null,
        "help": "record an event in stream 1 after line 4, and let stream 2 wait for it before line 5",
        "line": 5,
        "message": "kernel 0 in stream 2 reads memory that the copy to the device in stream 1 writes, and nothing orders the two (src/lib.rs:4 and src/lib.rs:5); record an event in stream 1 after line 4, and let stream 2 wait for it before line 5",
        "name": "read-after-write",
        "nanoseconds": null,
        "near": null,
        "notes": [
          "streams run side by side: which call came first orders nothing between them"
        ],
        "second": {
          "file": "src/lib.rs",
          "line": 5
        },
        "severity": "error"
      }
    ]
    "#);
}

#[test]
fn the_object_has_every_key() {
    let output = tree().checker(&["run", "swift", "--device", "sim", "--json"]).output();
    assert_snapshot!(String::from_utf8_lossy(&output.expect("it starts").stdout), @r#"
    {
      "format": 1,
      "exercise": "swift",
      "program": "student",
      "device": "sim",
      "device_name": "h200",
      "schedule": null,
      "trust": null,
      "verdict": "passed",
      "gate": null,
      "score": 100.0,
      "score_low": null,
      "score_high": null,
      "pass_score": 80.0,
      "score_rule": 1,
      "metric": "overlap_efficiency",
      "metric_value": 0.975,
      "baseline_value": 0.0,
      "reference_value": 1.0,
      "overlap_efficiency": 0.975,
      "host_freedom": null,
      "latency_ratio": null,
      "makespan_ns": 1050000,
      "latency": null,
      "request_ns": null,
      "floor_ns": 1000000,
      "serial_ns": 3000000,
      "host_work_ns": null,
      "hidden_fraction": 0.5,
      "memory_peak_bytes": null,
      "memory_budget_bytes": null,
      "hazards": [],
      "witness": null,
      "feedback": null,
      "causes": [],
      "advice": [],
      "plan": [],
      "prediction": null,
      "message": "score 100.0, and 80 is enough",
      "notes": [],
      "printed": ""
    }
    "#);
}

#[test]
fn the_object_of_a_failure_has_the_same_keys() {
    let keys = |arguments: &[&str]| -> Vec<String> {
        let (_, object) = tree().json(arguments);
        object.as_object().expect("an object").keys().cloned().collect()
    };
    let all = keys(&["run", "swift", "--device", "sim"]);
    for key in [
        "exercise",
        "device",
        "verdict",
        "gate",
        "score",
        "metric",
        "metric_value",
        "overlap_efficiency",
        "makespan_ns",
        "floor_ns",
        "serial_ns",
        "hidden_fraction",
        "hazards",
        "message",
    ] {
        assert!(all.iter().any(|k| k == key), "{key}");
    }
    for arguments in [
        &["run", "broken", "--device", "sim"][..],
        &["run", "panics", "--device", "sim"],
        &["run", "stale", "--device", "sim"],
        &["run", "nobody", "--device", "sim"],
        &["run", "swift", "--program", "drawn", "--device", "sim"],
    ] {
        assert_eq!(keys(arguments), all, "{arguments:?}");
    }
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for arguments in [
        &["run", "swift", "--device", "sim"][..],
        &["run", "swift", "--device", "sim", "--json"],
        &["run", "panics", "--device", "sim"],
        &["run", "broken", "--device", "sim", "--json"],
        &["run", "floods", "--device", "sim"],
    ] {
        assert_eq!(tree().run(arguments), tree().run(arguments), "{arguments:?}");
    }
}

#[test]
fn what_the_program_prints_is_shown_in_order_and_without_its_colours() {
    let text = tree().run(&["run", "chatty", "--device", "sim"]);
    assert!(text.contains("the program printed:\n  hello\n  world\n"), "{text}");
}

#[test]
fn a_pipe_gets_no_escape_sequences_and_eighty_columns() {
    let mut command = tree().checker(&["run", "swift", "--device", "sim"]);
    let text = tree().snapshot(command.env_remove("NO_COLOR"));
    assert!(!text.contains('\x1b'), "{text}");
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(80), "{widest:?}");
}

#[test]
fn warnings_of_the_students_file_go_to_standard_error() {
    let output = tree().checker(&["run", "warns", "--device", "sim"]).output().expect("starts");
    assert_eq!(output.status.code(), Some(0));
    let warnings = String::from_utf8_lossy(&output.stderr);
    assert!(warnings.contains("unused variable: `streams`"), "{warnings}");
    assert!(!String::from_utf8_lossy(&output.stdout).contains("unused variable"));
}

#[test]
fn a_program_of_the_puzzle_is_drawn_and_not_graded() {
    let (code, object) = tree().json(&["run", "swift", "--program", "drawn", "--device", "sim"]);
    assert_eq!(code, 0);
    assert_eq!(object["verdict"], serde_json::Value::Null);
    assert_eq!(object["program"], "drawn");
    assert_eq!(object["makespan_ns"], 1_400_000);
    assert_snapshot!(tree().run(&["run", "swift", "--program", "drawn", "--device", "sim"]), @"
    exit code: 0
    ----- stdout -----
    swift · program `drawn` · simulated h200

    program `drawn`                                                          1.40 ms
    host     wwwwwwwwwwwwwwwwwwwwwwwwwwwwwwwww////////////////////////////////
    stream 1 >>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>>································  50 %
    stream 2 ················█████████████████████████████████████████████████  75 %
             0        0.2 ms   0.4 ms   0.6 ms    0.8 ms   1 ms     1.2 ms    1.4 ms
             █ kernel  > copy to device  w host work  / host blocked  · idle  % busy

    makespan             1.40 ms
    hidden copies        50 % of the copying, beside a kernel

    a program of the puzzle: drawn, not graded
    ");
}

#[test]
fn solution_and_baseline_run_in_the_students_place() {
    let (code, object) = tree().json(&["run", "swift", "--solution", "--device", "sim"]);
    assert_eq!((code, object["score"].as_f64()), (0, Some(100.0)));
    assert_eq!(object["program"], "solution");
    let (code, object) = tree().json(&["run", "swift", "--baseline", "--device", "sim"]);
    assert_eq!((code, object["score"].as_f64()), (1, Some(0.0)));
    assert_eq!(object["program"], "baseline");
}

#[test]
fn the_record_and_the_drawing_can_be_kept() {
    let folder = crate::tree::scratch();
    let [trace, svg, html] = ["kept.json", "kept.svg", "kept.html"].map(|it| folder.join(it));
    let mut command = tree().checker(&["run", "swift", "--device", "sim"]);
    command.arg("--trace").arg(&trace).arg("--svg").arg(&svg).arg("--html").arg(&html);
    let output = command.arg("--plain").output().expect("it starts");
    assert!(output.status.success());
    let record: trace::Record =
        serde_json::from_slice(&std::fs::read(trace).expect("a file")).expect("a record");
    assert_eq!(record.trials.len(), 1);
    let svg = std::fs::read_to_string(svg).expect("a file");
    assert!(svg.starts_with("<svg") && svg.contains("the reference"), "{svg}");
    // The page has the drawing, and every line that the terminal has below it.
    let page = std::fs::read_to_string(html).expect("a file");
    assert!(page.contains("the reference</text>"), "{page}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (_, words) = said.split_once("\nmakespan ").expect("the numbers");
    let escaped = words.trim().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    assert!(page.contains(&escaped.replace('"', "&quot;")), "{words}");
}

#[test]
fn another_profile_is_taken_from_a_file_and_named() {
    let folder = crate::tree::scratch();
    let path = folder.join("slow.toml");
    let text = simulator::Profile::H200.replacen("name = \"h200\"", "name = \"slow\"", 1);
    crate::tree::write(&path, &text);
    let mut command = tree().checker(&["run", "swift", "--json"]);
    let (code, object) = json(command.arg("--profile").arg(&path));
    assert_eq!((code, object["device_name"].as_str()), (0, Some("slow")));
}

/// What a run of the program with a cause prints after the numbers.
fn held(feedback: &[&str]) -> String {
    let text = tree().run(&[&["run", "held", "--device", "sim"], feedback].concat());
    let from = text.find("warning[SWIM").unwrap_or_else(|| panic!("{text}"));
    text[from..].to_owned()
}

#[test]
fn a_failed_run_shows_what_is_to_be_seen_and_no_more() {
    let text = held(&[]);
    assert_eq!(text, held(&["--feedback", "symptom"]));
    let seen =
        "warning[SWIM-C01]: the host is held by copies while lanes with work to come are empty";
    assert!(text.starts_with(seen), "{text}");
    assert!(!text.contains("src/lib.rs:") && !text.contains("help: "), "{text}");
}

#[test]
fn the_cause_is_shown_with_its_line_and_what_it_cost() {
    let text = held(&["--feedback", "cause"]);
    for part in ["--> src/lib.rs:3:9", "holds the host for", ", 4 times", "ms faster", "help: "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("advice, simulated"), "{text}");
}

#[test]
fn the_advice_says_what_it_gains() {
    let text = held(&["--feedback", "advice"]);
    for part in
        ["advice, simulated, each step", "1. line 3: pinned memory here takes", "(SWIM-C01)"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn the_object_has_every_cause_and_all_the_advice() {
    let (_, object) = tree().json(&["run", "held", "--device", "sim"]);
    let (cause, advice) = (&object["causes"][0], &object["advice"][0]);
    for entry in [cause, advice] {
        assert_eq!(entry["code"], "SWIM-C01", "{object:#}");
        assert_eq!(entry["name"], "pageable-copy", "{object:#}");
        assert_eq!(entry["severity"], "warning", "{object:#}");
        assert_eq!((&entry["file"], &entry["line"]), (&"src/lib.rs".into(), &3.into()));
        assert!(entry["message"].is_string() && entry["help"].is_string(), "{object:#}");
    }
    assert_eq!(cause["basis"], "replayed", "{object:#}");
    let ns = |key: &str| advice[key].as_u64().expect("a time");
    assert_eq!(ns("nanoseconds"), ns("makespan_before_ns") - ns("makespan_after_ns"));
}

#[test]
fn the_object_says_no_more_than_was_asked_for() {
    let held = |feedback: &[&str]| {
        let arguments = [&["run", "held", "--device", "sim"], feedback].concat();
        tree().json(&arguments).1
    };
    let whole = held(&[]);
    assert_eq!(whole["feedback"], serde_json::Value::Null);
    for key in ["causes", "advice"] {
        assert_eq!(held(&["--feedback", "advice"])[key], whole[key]);
    }
    let cause = held(&["--feedback", "cause"]);
    assert_eq!(cause["feedback"], "cause");
    assert_eq!(cause["causes"], whole["causes"]);
    assert_eq!(cause["advice"], serde_json::json!([]));
    let symptom = held(&["--feedback", "symptom"]);
    assert_eq!(symptom["advice"], serde_json::json!([]));
    let object = serde_json::to_string_pretty(&symptom["causes"]).expect("plain data");
    assert_snapshot!(object, @r#"
    [
      {
        "basis": null,
        "code": "SWIM-C01",
        "count": null,
        "file": null,
        "held_ns": null,
        "help": null,
        "line": null,
        "message": "the host is held by copies while lanes with work to come are empty",
        "name": "pageable-copy",
        "nanoseconds": null,
        "severity": "warning"
      }
    ]
    "#);
}

#[test]
fn the_compiler_warns_of_what_is_in_the_regions_and_of_nothing_outside_them() {
    let tree = crate::learner::fresh("shadowed");
    crate::tree::write(
        &tree.root().join("exercises/01_swift/src/lib.rs"),
        "pub fn solve() {\n    let given = 3;\n    // region: all\n    let given = 3;\n    // endregion\n    \
         lab::hand_over(\"swift\")\n}\n",
    );
    let text = tree.run(&["run", "swift", "--device", "sim"]);
    assert_eq!(text.matches("unused variable: `given`").count(), 1, "{text}");
    assert!(text.contains("src/lib.rs:4:9"), "{text}");
}

/// The miniature programs hand over the same record on any schedule, with nothing that was looked at.
#[test]
fn a_witness_that_cannot_be_played_says_so_and_changes_nothing() {
    let tree = tree();
    let plain = tree.run(&["run", "racy", "--device", "sim", "--plain"]);
    let text = tree.run(&["run", "racy", "--schedule", "witness", "--plain"]);
    let from = text.find("witness of hazard 1").expect("it is named");
    assert_snapshot!(&text[from..].lines().next().unwrap_or_default(), @"witness of hazard 1: the simulated device did not see what the two do to the memory in this order");
    let verdict = |text: &str| text[text.rfind("failed: gate").expect("a verdict")..].to_owned();
    assert_eq!(verdict(&text), verdict(&plain));

    let text = tree.run(&["run", "swift", "--schedule", "witness", "--plain"]);
    let note = "note: there is no hazard, and so no order in which the data goes wrong";
    assert!(text.contains(note) && text.contains("\ncorrect on this schedule: "), "{text}");
}

#[test]
fn a_run_that_takes_long_says_what_it_is_at_and_leaves_only_its_report() {
    let arguments = ["run", "loops", "--device", "sim", "--time-limit", "4"];
    let mut terminal = Terminal::start(tree().checker(&arguments), 24, 80);
    terminal.shows("running · ");
    assert_eq!(terminal.ended().code(), Some(1));
    terminal.until("the report alone", |it| it.contains("gate `time`") && !it.contains("running"));
}
