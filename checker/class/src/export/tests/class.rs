//! A small class with one of everything.

use crate::export::*;
use crate::record::{FORMAT, Finding, Late, OnGpu, Reason, Replaced, Submitted, Trust, With};
use checker::exercise::Metric;
use checker::grade::{Gate, Verdict};
use sandbox::{Layers, Level};

pub(crate) fn row(student: &str, exercise: &str, score: f64) -> Row {
    // The metric that gives this score.
    let (baseline, reference) = (0.1, 0.9);
    let metric = baseline + (reference - baseline) * (0.05 + 0.9 * score / 100.0);
    let verdict = if score >= 80.0 { Verdict::Passed } else { Verdict::Failed };
    Row {
        format: FORMAT,
        student: student.to_owned(),
        exercise: exercise.to_owned(),
        verdict,
        gate: None,
        reason: None,
        score: Some(score),
        points: Some(score),
        late: None,
        replaced: None,
        pass_score: 80.0,
        score_rule: 1,
        metric: Metric::OverlapEfficiency,
        metric_value: Some(metric),
        baseline_value: Some(baseline),
        reference_value: Some(reference),
        makespan_ns: Some((3_000_000.0 - metric * 2_000_000.0) as u64),
        floor_ns: Some(1_000_000),
        serial_ns: Some(3_000_000),
        host_work_ns: None,
        hidden_fraction: Some(0.4),
        hazards: Vec::new(),
        causes: Vec::new(),
        advice: Vec::new(),
        message: format!("the score is {}, and 80.0 pass", checker::grade::score::shown(score)),
        notes: Vec::new(),
        flags: Vec::new(),
        compiler: String::new(),
        output: String::new(),
        file: Some(Submitted {
            path: format!("{student}/{exercise}/src/lib.rs"),
            bytes: 2110,
            sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            ignored: Vec::new(),
        }),
        gpu: None,
        with: With {
            checker: "0.1.0".to_owned(),
            rustc: "rustc 1.95.0 (59807616e 2026-04-14)".to_owned(),
            profile: "h200".to_owned(),
            exercise_sha256: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
                .to_owned(),
            sandbox: Layers {
                level: Level::Full,
                guards: ["files: landlock 7", "network: seccomp"].map(str::to_owned).to_vec(),
                missing: Vec::new(),
            },
        },
    }
}

/// A row that never came to a metric.
pub(super) fn without_metric(
    student: &str,
    exercise: &str,
    verdict: Verdict,
    reason: Reason,
) -> Row {
    let none_is_zero = matches!(verdict, Verdict::Error | Verdict::Inconclusive);
    let points = if none_is_zero { None } else { Some(0.0) };
    Row {
        verdict,
        reason: Some(reason),
        score: points,
        points,
        metric_value: None,
        makespan_ns: None,
        hidden_fraction: None,
        ..row(student, exercise, 0.0)
    }
}

/// A measurement on a GPU.
pub(crate) fn on_gpu() -> OnGpu {
    OnGpu {
        trust: Trust::InProcess,
        device: "NVIDIA H200".to_owned(),
        cuda: "13.0".to_owned(),
        score: Some(90.5),
        range: Some((88.25, 91.0)),
        makespan_ns: Some(1_234_567),
        metric_value: Some(0.8),
        baseline_value: Some(0.1),
        reference_value: Some(0.9),
        rounds: Some(9),
        message: "the median of 9 untraced runs".to_owned(),
    }
}

pub(super) fn finding(code: &str, name: &str, severity: &str, message: &str) -> Finding {
    Finding {
        code: code.to_owned(),
        name: name.to_owned(),
        severity: severity.to_owned(),
        file: Some("src/lib.rs".to_owned()),
        line: Some(42),
        other_line: None,
        nanoseconds: None,
        count: Some(1),
        message: message.to_owned(),
        help: None,
    }
}

const EXERCISES: [(&str, &str); 3] = [
    ("two_streams", "Two streams"),
    ("events", "Events"),
    ("chunked_pipeline", "A pipeline of chunks"),
];

/// A small class with one of everything.
pub(super) fn class() -> Vec<Row> {
    let mut late = row("ada", "two_streams", 93.75);
    late.points = Some(83.75);
    late.late = Some(Late { hours: 5, points: 10.0 });
    late.gpu = Some(on_gpu());

    let mut racy = row("grace", "events", 0.0);
    racy.gate = Some(Gate::Hazard);
    racy.message = "there is a race: 1 hazard".to_owned();
    racy.hazards = vec![Finding {
        other_line: Some(47),
        count: Some(4),
        help: Some("let `compute` wait for an event that is recorded after the copy".to_owned()),
        ..finding(
            "SWIM-H01",
            "read-before-write",
            "error",
            "the kernel reads what the copy at src/lib.rs:47 may not have written yet",
        )
    }];
    racy.output = "step 1\nstep 2\n".to_owned();

    let mut slow = row("grace", "chunked_pipeline", 41.28);
    slow.causes = vec![Finding {
        nanoseconds: Some(330_000),
        help: Some("give src/lib.rs:42 another stream".to_owned()),
        ..finding(
            "SWIM-C03",
            "shared-stream",
            "warning",
            "copies and kernels take turns in stream 1",
        )
    }];
    slow.advice = vec![Finding {
        nanoseconds: Some(300_000),
        ..finding("SWIM-C03", "shared-stream", "warning", "a stream of its own saves 300 µs")
    }];
    slow.flags = vec!["the same file as that of `linus` but for white space".to_owned()];

    let mut replaced = row("grace", "two_streams", 71.0);
    replaced.points = Some(85.0);
    replaced.replaced = Some(Replaced {
        points: 85.0,
        by: "Dr. Hopper".to_owned(),
        reason: "the handout was wrong".to_owned(),
    });

    let mut broken = without_metric("linus", "two_streams", Verdict::Failed, Reason::CompileError);
    broken.gate = Some(Gate::Builds);
    broken.message = "the file does not compile".to_owned();
    broken.compiler = "error[E0425]: cannot find value `x`\n --> src/lib.rs:3:5\n".to_owned();
    let mut missing = without_metric("linus", "events", Verdict::Rejected, Reason::Missing);
    missing.message = "there is no file for this exercise".to_owned();
    missing.file = None;
    let mut error =
        without_metric("linus", "chunked_pipeline", Verdict::Error, Reason::Infrastructure);
    error.message = "the disk is full".to_owned();
    error.with.sandbox.level = Level::Partial;
    error.with.sandbox.missing = vec!["memory: no cgroup that can be written".to_owned()];

    vec![
        row("ada", "chunked_pipeline", 100.0),
        row("ada", "events", 79.96),
        late,
        slow,
        racy,
        replaced,
        error,
        missing,
        broken,
    ]
}

/// What surrounds the rows.
pub(super) struct Around {
    exercises: Vec<(String, String)>,
    pub(super) people: BTreeMap<String, Person>,
    pub(super) identical: Vec<Identical>,
    pub(super) feedback: Feedback,
}

impl Around {
    pub(super) fn new() -> Self {
        let ada = Person {
            name: Some("Ada Lovelace".to_owned()),
            login: Some("ada@example.edu".to_owned()),
            id: Some("1815".to_owned()),
            email: Some("ada@example.edu".to_owned()),
            participant: None,
        };
        Self {
            exercises: EXERCISES.map(|(name, title)| (name.to_owned(), title.to_owned())).to_vec(),
            people: BTreeMap::from([("ada".to_owned(), ada)]),
            identical: vec![Identical {
                exercise: "chunked_pipeline".to_owned(),
                students: vec!["grace".to_owned(), "linus".to_owned()],
            }],
            feedback: Feedback::Advice,
        }
    }

    pub(super) fn context(&self) -> Context<'_> {
        Context {
            title: "CS 333, streams",
            exercises: &self.exercises,
            feedback: self.feedback,
            people: &self.people,
            identical: &self.identical,
            timelines: &|row| Timelines {
                student: row.makespan_ns.map(|_| drawing(&row.exercise)),
                reference: None,
            },
            gradebook: None,
            submission: None,
            columns: 80,
        }
    }
}

/// A drawing such as a grading keeps.
fn drawing(id: &str) -> String {
    let timeline =
        trace::Timeline::new(trace::timeline::Origin::Simulated { profile: "h200".to_owned() });
    let panel = trace::draw::Panel { title: "yours", timeline: &timeline, program: None };
    trace::draw::svg(&trace::draw::Layout::new(&[panel], trace::draw::Lanes::Streams), id)
}

pub(super) fn of(rows: &[Row], student: &str) -> Vec<Row> {
    rows.iter().filter(|row| row.student == student).cloned().collect()
}

pub(super) fn submission() -> Submission {
    Submission {
        classroom: "cs333".to_owned(),
        assignment: "streams".to_owned(),
        assignment_type: "individual".to_owned(),
        owner: "ada".to_owned(),
        tag: "submit/20261121T093000Z-abc1234".to_owned(),
        commit: "https://example.org/c".to_owned(),
        release: "https://example.org/r".to_owned(),
        review: "https://example.org/v".to_owned(),
        datetime: "2026-11-21T09:30:00Z".to_owned(),
    }
}
