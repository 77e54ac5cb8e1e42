//! Other people's solutions: right, and written differently from the reference. Each is held to get what its
//! overlap deserves, whatever it looks like.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;
use trace::Fidelity;
use trace::fidelity::Predicted;

use crate::class::{empty, grade, hand_in, rows, shipped, solution, succeeds};
use crate::racy::with_file;
use crate::real::{self, exercises, is_wanted};

/// Where they are: a folder for each exercise.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/alternatives")
}

/// Names and texts of those for an exercise, by name.
fn of(exercise: &str) -> Vec<(String, String)> {
    let entries = std::fs::read_dir(folder().join(exercise)).expect("each exercise has some");
    let mut files: Vec<_> = entries
        .flatten()
        .map(|entry| {
            let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Rule 1, as it is published: the same words as in `checker/src/grade/score.rs`, written a second time.
fn deserved(metric: f64, baseline: f64, reference: f64) -> f64 {
    let delta = reference - baseline;
    100.0 * ((metric - baseline - 0.05 * delta) / (0.9 * delta)).clamp(0.0, 1.0)
}

#[test]
fn solutions_written_differently_get_what_their_overlap_deserves() {
    let real = real::real();
    let class = empty("alternatives");
    for exercise in exercises().filter(|it| is_wanted(it)) {
        let files = of(exercise);
        for (name, text) in files {
            hand_in(&class, &format!("{exercise}-{name}"), exercise, &text);
        }
        hand_in(&class, "reference", exercise, &(solution(&real, exercise) + "\n// mine\n"));
        hand_in(&class, "shipped", exercise, &(shipped(&real, exercise) + "\n// mine\n"));
    }
    let out = empty("alternatives-out");
    succeeds(&mut grade(&real, &class, &out, &[]));

    let rows = rows(&out);
    let mut measured = Measured::read();
    let mut silent = Vec::new();
    for exercise in exercises().filter(|it| is_wanted(it)) {
        let mut table = String::new();
        let number = |row: &Value, key: &str| {
            row[key].as_f64().unwrap_or_else(|| panic!("no `{key}`: {row:#}"))
        };
        let handed =
            rows.iter().filter(|row| row["exercise"] == exercise && !row["file"].is_null());
        let (own, mut others): (Vec<_>, Vec<_>) = handed
            .partition(|row| ["reference", "shipped"].contains(&row["student"].as_str().unwrap()));
        let [reference, shipped] = own[..] else { panic!("{exercise}: {} files", own.len()) };
        assert_eq!((number(reference, "score"), number(shipped, "score")), (100.0, 0.0));

        others.sort_by(|a, b| number(b, "metric_value").total_cmp(&number(a, "metric_value")));
        let mut best = 100.0;
        for row in others {
            let student = row["student"].as_str().expect("a name");
            let name = student.strip_prefix(&format!("{exercise}-")).expect("its own exercise");
            let [makespan, serial, floor] =
                ["makespan_ns", "serial_ns", "floor_ns"].map(|key| number(row, key) as u64);
            measured.predict(exercise, name, makespan, (serial, floor));
            if row["gate"] == "pace" {
                // Requests are answered at the cost of all other work, so how soon is no matter.
                assert_eq!(number(row, "score"), 0.0, "{student}");
                let late = number(row, "makespan_ns") / number(row, "floor_ns");
                writeln!(
                    table,
                    "{exercise:<16} {name:<36}{late:>8.3} times the floor: gate `pace`"
                )
                .expect("a String takes everything");
                continue;
            }
            assert!(row["gate"].is_null(), "{student}: {}", row["message"]);
            assert_eq!(row["hazards"], serde_json::json!([]), "{student}");
            assert_eq!(row["score_rule"], 1, "a new rule is written down here too");
            let [metric, score] = ["metric_value", "score"].map(|key| number(row, key));
            let [low, high] = ["baseline_value", "reference_value"].map(|key| number(row, key));
            let deserved = deserved(metric, low, high);
            assert!((score - deserved).abs() < 1e-9, "{student}: {score}, and not {deserved}");
            assert!(score <= best, "{student}: {score} for less overlap than what gets {best}");
            best = score;
            if metric >= high {
                assert_eq!(score, 100.0, "{student} is as good as the reference");
            }
            let enough = score >= number(row, "pass_score");
            assert_eq!(row["verdict"], if enough { "passed" } else { "failed" }, "{student}");
            let says_why = row["causes"].as_array().is_some_and(|found| !found.is_empty());
            silent.extend((!enough && !says_why).then_some(student));
            let makespan_ms = number(row, "makespan_ns") / 1e6;
            assert!(number(row, "makespan_ns") >= number(row, "floor_ns"), "{student}");
            writeln!(
                table,
                "{exercise:<16} {name:<36}{makespan_ms:>8.3} ms {metric:>7.3} {score:>6.1} {}",
                row["verdict"].as_str().expect("a word")
            )
            .expect("a String takes everything");
        }
        insta::assert_snapshot!(format!("alternatives_of_{exercise}"), table);
    }
    // What a graph does counts as one operation, and no cause has a name for the others: fewer slots than there could
    // be, or blocks that are used again while there could be others, tasks in the streams of work that waits, downloads
    // after all else, two halves that need not be in one order, all of one kernel before the first of the other, grids
    // that leave multiprocessors empty, blocks without work that make those with work share multiprocessors, and an array
    // that is downloaded and uploaded where it could be copied between devices.
    let known = [
        "buffer_lifetime-joins",
        "buffer_lifetime-the_streams_wait_at_once",
        "events-two_slots_of_four",
        "fork_join-a_graph_of_one_layer",
        "fork_join-one_graph",
        "graphs-no_branch",
        "how_many_lanes-the_streams_of_the_tasks_wait_too",
        "issue_order-a_graph",
        "issue_order-downloads_last",
        "measuring-chooses_by_busy_kernels",
        "measuring-chooses_by_the_hidden_share",
        "peers-by_way_of_the_host",
        "tensor_and_cuda_cores-full_grids_for_both",
        "tensor_and_cuda_cores-half_of_the_map",
        "tensor_and_cuda_cores-half_of_the_multiprocessors_each",
        "wrapper_tracking-one_stream_for_both_halves",
    ];
    silent.retain(|student| !known.contains(student));
    assert_eq!(silent, [""; 0], "too little overlaps, and no cause is named");
    measured.is_fresh();
}

/// What a GPU took for them, and what is predicted there: a line for each program.
struct Measured {
    path: PathBuf,
    /// As it is kept, and with what is predicted today.
    texts: [String; 2],
    predicted: Vec<Predicted>,
}

impl Measured {
    /// Set to write what is predicted today.
    const UPDATE: &str = "SWIM_UPDATE_MEASURED";

    fn read() -> Self {
        let path = folder().join("../../../book/measured/alternatives/h200.json");
        let text = std::fs::read_to_string(&path).expect("the kept file");
        let kept: Fidelity = serde_json::from_str(&text).expect("kept measurements");
        Self { path, texts: [text.clone(), text], predicted: kept.programs }
    }

    /// Notes what is predicted today for one of them. Not all were measured.
    fn predict(&mut self, exercise: &str, name: &str, makespan_ns: u64, ends: (u64, u64)) {
        let is_it = |it: &&Predicted| (&*it.exercise, &*it.program) == (exercise, name);
        let Some(kept) = self.predicted.iter().find(is_it) else { return };
        let mut today = Predicted { makespan_ns, ..kept.clone() };
        (today.bounds.serial_ns, today.bounds.floor_ns) = ends;
        let [old, new] = [kept, &today].map(|it| serde_json::to_string(it).expect("plain data"));
        assert!(
            self.texts[1].contains(&old),
            "{}: no line for {exercise} {name}",
            self.path.display()
        );
        self.texts[1] = self.texts[1].replace(&old, &new);
    }

    fn is_fresh(&self) {
        let [kept, today] = &self.texts;
        if std::env::var_os(Self::UPDATE).is_some() {
            std::fs::write(&self.path, today).expect("it can be written");
        } else {
            assert!(
                kept == today,
                "`{}` is stale: {}=1 predicts anew",
                self.path.display(),
                Self::UPDATE
            );
        }
    }
}

#[test]
fn a_plan_for_many_tasks_that_meets_a_limit_is_told_which_one() {
    let real = real::real();
    for (name, code, says) in [
        ("a_stream_for_each_task", "SWIM-C08", "1024 chunks are many: what each call costs"),
        ("as_many_streams_as_grids", "SWIM-C08", "1024 chunks are many: what each call costs"),
        ("one_launch_for_all", "SWIM-C07", "the work is in one piece"),
        ("one_stream_of_groups", "SWIM-C03", "only because they share it"),
        ("eight_streams_wait_for_the_update", "SWIM-C17", "takes a work queue"),
        ("a_stream_for_each_request", "SWIM-C17", "takes a work queue"),
    ] {
        let (_, source) =
            of("how_many_lanes").into_iter().find(|(file, _)| file == name).expect("a file");
        let run = || real.json(&["run", "how_many_lanes"]);
        let (_, object) = with_file(&real, "how_many_lanes", &source, run);
        let causes = object["causes"].as_array().expect("a list");
        let is_it = |cause: &Value| {
            let message = cause["message"].as_str().unwrap_or_default();
            cause["code"] == code && message.contains(says)
        };
        assert!(causes.iter().any(is_it), "{name}: {object:#}");
        assert_eq!(object["verdict"], "failed", "{name}");
    }
}
