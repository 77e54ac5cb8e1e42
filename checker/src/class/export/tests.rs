//! A class in every format: as it should look, read by a reader of its own kind, and with hostile text in
//! every place where a student could have put some.

use std::cell::RefCell;
use std::collections::BTreeSet;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};
use pulldown_cmark::{Options, Parser};

use super::canvas::Column;
use super::*;
use crate::class::record::{
    FORMAT, Finding, Late, Layers, Level, Reason, Replaced, Submitted, With,
};
use crate::exercise::Metric;
use crate::grade::{Gate, Verdict};
use crate::scratch::Scratch;

fn row(student: &str, exercise: &str, score: f64) -> Row {
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
        message: format!("the score is {}, and 80.0 pass", crate::grade::score::shown(score)),
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
fn without_metric(student: &str, exercise: &str, verdict: Verdict, reason: Reason) -> Row {
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

fn finding(code: &str, name: &str, severity: &str, message: &str) -> Finding {
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
fn class() -> Vec<Row> {
    let mut late = row("ada", "two_streams", 93.75);
    late.points = Some(83.75);
    late.late = Some(Late { hours: 5, points: 10.0 });

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
struct Around {
    exercises: Vec<(String, String)>,
    people: BTreeMap<String, Person>,
    identical: Vec<Identical>,
    feedback: Feedback,
}

impl Around {
    fn new() -> Self {
        let ada = Person {
            name: Some("Ada Lovelace".to_owned()),
            login: Some("ada@example.edu".to_owned()),
            id: Some("1815".to_owned()),
            email: Some("ada@example.edu".to_owned()),
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

    fn context(&self) -> Context<'_> {
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

fn of(rows: &[Row], student: &str) -> Vec<Row> {
    rows.iter().filter(|row| row.student == student).cloned().collect()
}

/// A page without its style sheet, which is a file of its own.
fn body(page: &str) -> &str {
    page.split_once("<body>\n").expect("there is a body").1
}

const EXPORT: &str = "\u{feff}Student,ID,SIS User ID,SIS Login ID,Section,Streams (4711),Events (4712),Current Score\n\
    \"    Points Possible\",,,,,30,10,(read only)\n\
    \"Lovelace, Ada\",9001,1815,Ada@example.edu,\"A, B\",12.5,,88\n\
    \"Hopper, Grace\",9002,1906,grace,A,,,\n\
    \"=cmd|' /C calc'!A0\",9003,1969,linus,A,7.25,EX,\n\
    \"Student, Test\",9004,,,A,,,\n";

fn columns() -> [Column; 2] {
    [
        Column { heading: "Streams".to_owned(), exercise: None },
        Column { heading: "4712".to_owned(), exercise: Some("events".to_owned()) },
    ]
}

fn submission() -> Submission {
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

#[test]
fn a_class_on_a_terminal() {
    let (rows, around) = (class(), Around::new());
    insta::assert_snapshot!("text", summary::text(&rows, &around.context(), Style::Plain));
    let colours = summary::text(&rows, &around.context(), Style::Colour);
    insta::assert_snapshot!("text_in_colour", colours.replace('\x1b', "␛"));
}

#[test]
fn a_class_as_tables() {
    let (rows, around) = (class(), Around::new());
    insta::assert_snapshot!("csv", csv::text(&rows).expect("it is written"));
    let moodle = moodle::tables(&rows, &around.context()).expect("it is written");
    insta::assert_snapshot!("moodle", moodle.complete);
    insta::assert_snapshot!("moodle_unfinished", moodle.unfinished);
    let columns = columns();
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let canvas = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    insta::assert_snapshot!("canvas", canvas.gradebook);
}

#[test]
fn a_class_for_other_machines() {
    let (rows, around) = (class(), Around::new());
    let context = around.context();
    insta::assert_snapshot!("junit", junit::text(&rows, &context).expect("it is written"));
    insta::assert_snapshot!("markdown", markdown::text(&rows, &context));
    let lines: Vec<String> =
        rows.iter().map(|row| jsonl::line(row).expect("it is written")).collect();
    insta::assert_snapshot!("jsonl", lines.concat());
    let grace = of(&rows, "grace");
    insta::assert_snapshot!(
        "gradescope",
        gradescope::text(&grace, &context).expect("it is written")
    );
    insta::assert_snapshot!(
        "prairielearn",
        prairielearn::text(&grace, &context).expect("it is written")
    );
    insta::assert_snapshot!(
        "classroom50",
        classroom50::text(&grace, &submission()).expect("it is written")
    );
}

#[test]
fn a_class_in_a_browser() {
    let (rows, around) = (class(), Around::new());
    let context = around.context();
    insta::assert_snapshot!("class_page", body(&class_page::text(&rows, &context)));
    insta::assert_snapshot!(
        "student_page",
        body(&student_page::text(&of(&rows, "grace"), &context))
    );
}

#[test]
fn trouble_that_is_not_the_students_is_never_a_zero() {
    let around = Around::new();
    let context = around.context();
    for verdict in [Verdict::Error, Verdict::Inconclusive] {
        let mut row = without_metric("linus", "events", verdict, Reason::Infrastructure);
        // Whatever stands there.
        row.score = Some(0.0);
        row.points = Some(0.0);
        row.message = "the disk is full".to_owned();
        let rows = [super::tests::row("linus", "two_streams", 90.0), row];

        let text = csv::text(&rows).expect("it is written");
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let record = reader.records().nth(1).expect("there is one").expect("it is a record");
        assert_eq!((&record[2], &record[3], &record[4]), (verdict.to_string().as_str(), "", ""));

        let report = junit::text(&rows, &context).expect("it is written");
        let report = quick_junit::Report::deserialize_from_str(&report).expect("it is JUnit");
        assert_eq!((report.errors, report.failures), (1, 0));

        let gradescope = gradescope::text(&rows, &context).expect("it is written");
        let results: serde_json::Value = serde_json::from_str(&gradescope).expect("it is JSON");
        assert!(results.get("score").is_none() && results["tests"][1].get("score").is_none());
        assert!(results["output"].as_str().expect("a message").contains("no zero"));

        let prairielearn = prairielearn::text(&rows, &context).expect("it is written");
        let results: serde_json::Value = serde_json::from_str(&prairielearn).expect("it is JSON");
        assert_eq!(results["gradable"], false);
        assert!(results.get("score").is_none());

        let error = classroom50::text(&rows, &submission()).expect_err("there is no result");
        assert!(format!("{error:#}").contains("the disk is full"), "{error:#}");

        let moodle = moodle::tables(&rows, &context).expect("it is written");
        assert_eq!(moodle.complete.lines().count(), 1, "{}", moodle.complete);
        assert_eq!(moodle.unfinished.lines().nth(1), Some("linus,,,90.0,,"));

        let columns = columns();
        let gradebook = Gradebook { export: EXPORT, columns: &columns };
        let canvas = canvas::fill(&rows, &context, &gradebook).expect("it is filled");
        // Neither a zero nor a blank in place of what is there.
        assert!(canvas.gradebook.contains("linus,A,7.25,EX,"), "{}", canvas.gradebook);
        assert_eq!(canvas.unmatched, "student,points,why\n");

        for text in [
            summary::text(&rows, &context, Style::Plain),
            markdown::text(&rows, &context),
            class_page::text(&rows, &context),
            student_page::text(&rows, &context),
        ] {
            assert!(!text.contains("0.0 of") && text.contains('–'), "{text}");
        }
    }
}

#[test]
fn points_that_a_person_gave_for_what_could_not_be_graded_count() {
    let mut row = without_metric("linus", "events", Verdict::Error, Reason::Infrastructure);
    row.points = Some(50.0);
    row.replaced =
        Some(Replaced { points: 50.0, by: "me".to_owned(), reason: "by hand".to_owned() });
    assert_eq!(points::Points::of(&row), points::Points::from(50.0));
    assert!(roll::concerns(&row).is_empty());
}

#[test]
fn formats_agree_about_points() {
    let around = Around::new();
    let context = around.context();
    let rows = [row("ada", "two_streams", 79.96), row("ada", "events", 33.39)];
    let gradescope: serde_json::Value =
        serde_json::from_str(&gradescope::text(&rows, &context).expect("it is written"))
            .expect("it is JSON");
    assert_eq!(gradescope["score"], 113.2);
    let prairielearn: serde_json::Value =
        serde_json::from_str(&prairielearn::text(&rows, &context).expect("it is written"))
            .expect("it is JSON");
    assert_eq!(prairielearn["score"], 0.566);
    let classroom50: serde_json::Value =
        serde_json::from_str(&classroom50::text(&rows, &submission()).expect("it is written"))
            .expect("it is JSON");
    assert_eq!((&classroom50["score"], &classroom50["max-score"]), (&112.into(), &200.into()));
    assert_eq!(classroom50["tests"][0]["rounding"], points::WHOLE);
    let moodle = moodle::tables(&rows, &context).expect("it is written").complete;
    assert!(moodle.ends_with(",79.9,33.3,113.2\n"), "{moodle}");
    assert!(summary::text(&rows, &context, Style::Plain).contains("113.2"));
    assert!(student_page::text(&rows, &context).contains("<strong>113.2</strong> of 200.0"));
}

#[test]
fn canvas_gets_points_in_its_own_scale_and_keeps_everything_else() {
    let (rows, around) = (class(), Around::new());
    let columns = columns();
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    let read = |text: &str| -> Vec<Vec<String>> {
        let mut reader =
            ::csv::ReaderBuilder::new().has_headers(false).from_reader(text.as_bytes());
        let records = reader.records().map(|record| record.expect("it is a record"));
        records.map(|record| record.iter().map(str::to_owned).collect()).collect()
    };
    let (before, after) = (read(EXPORT), read(&filled.gradebook));
    assert_eq!(before.len(), after.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before.len(), after.len());
        for column in [1, 2, 3, 4, 7] {
            assert_eq!(before[column], after[column]);
        }
        assert_eq!(after[0].strip_prefix('\'').unwrap_or(&after[0]), before[0]);
        assert!(!after[0].starts_with('='));
    }
    // 263.6 of 300 in a scale of 30, 79.9 of 100 in one of 10.
    assert_eq!(after[2][5..7], ["26.36", "7.99"]);
    // Without a total, and excused.
    assert_eq!(after[4][5..7], ["7.25", "EX"]);
    assert!(filled.gradebook.starts_with('\u{feff}'));
}

#[test]
fn canvas_finds_students_by_id_sis_id_or_login_and_lists_the_others() {
    let around = Around::new();
    let columns = [Column { heading: "Events (4712)".to_owned(), exercise: None }];
    let gradebook = Gradebook { export: EXPORT, columns: &columns };
    let rows = ["9001", "1906", "LINUS", "nobody", "Hopper, Grace", "=9"]
        .map(|student| row(student, "events", 90.0));
    let export = EXPORT.replace("EX", "");
    let gradebook = Gradebook { export: &export, ..gradebook };
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    assert_eq!(filled.gradebook.matches(",9.00,").count(), 3, "{}", filled.gradebook);
    let unmatched: Vec<&str> = filled
        .unmatched
        .lines()
        .skip(1)
        .map(|line| line.split(",90").next().unwrap_or_default())
        .collect();
    assert_eq!(unmatched, ["'=9", "\"Hopper, Grace\"", "nobody"]);

    // Two of ours for one of theirs: neither is right.
    let rows = ["9002", "grace"].map(|student| row(student, "events", 90.0));
    let filled = canvas::fill(&rows, &around.context(), &gradebook).expect("it is filled");
    assert_eq!(filled.gradebook.matches(",9.00,").count(), 0, "{}", filled.gradebook);
    assert_eq!(filled.unmatched.lines().count(), 3, "{}", filled.unmatched);
}

#[test]
fn a_gradebook_that_is_none_or_has_no_such_column_is_refused() {
    let around = Around::new();
    let rows = [row("ada", "events", 90.0)];
    let error = |export: &str, heading: &str, exercise: Option<&str>| {
        let columns =
            [Column { heading: heading.to_owned(), exercise: exercise.map(str::to_owned) }];
        let gradebook = Gradebook { export, columns: &columns };
        match canvas::fill(&rows, &around.context(), &gradebook) {
            Ok(_) => panic!("it is filled"),
            Err(error) => format!("{error:#}"),
        }
    };
    insta::assert_snapshot!(error("", "Streams", None), @"the gradebook is empty");
    assert!(error("a,b\n1,2\n", "Streams", None).contains("no gradebook of Canvas"));
    insta::assert_snapshot!(error(EXPORT, "Stream", None), @r"
    the gradebook has no column `Stream`

    hint: it has `Streams (4711)`, `Events (4712)`
    ");
    let eventz = error(EXPORT, "Streams", Some("eventz"));
    insta::assert_snapshot!(eventz, @"there is no exercise `eventz` in these grades");
}

#[test]
fn a_gradebook_with_semicolons_keeps_them() {
    let around = Around::new();
    let export = EXPORT.replace(", ", "~").replace(',', ";").replace('~', ", ");
    let columns = columns();
    let gradebook = Gradebook { export: &export, columns: &columns };
    let filled = canvas::fill(&class(), &around.context(), &gradebook).expect("it is filled");
    assert!(filled.gradebook.contains(";26.36;7.99;88"), "{}", filled.gradebook);
}

#[test]
fn classroom_50_refuses_what_its_schema_does() {
    let rows = [row("ada", "events", 90.0)];
    let refused = |change: &dyn Fn(&mut Submission)| {
        let mut submission = submission();
        change(&mut submission);
        classroom50::text(&rows, &submission).is_err()
    };
    assert!(!refused(&|_| {}));
    assert!(refused(&|it| it.owner.clear()));
    assert!(refused(&|it| it.assignment_type = "pair".to_owned()));
    assert!(refused(&|it| it.tag = "v1".to_owned()));
    for datetime in ["2026-11-21", "2026-11-21T24:00:00Z", "2026-11-21T09:30:00+1", "x"] {
        assert!(refused(&|it| it.datetime = datetime.to_owned()), "{datetime}");
    }
    let two = [row("ada", "events", 90.0), row("grace", "events", 90.0)];
    assert!(classroom50::text(&two, &submission()).is_err());
}

/// A field that is there for the reader to insist on its type.
type Must<T> = T;

/// Results as the other side reads them; whatever it does not know is an error here.
mod reader {
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Gradescope {
        pub(super) score: Option<f64>,
        #[serde(rename = "output")]
        _output: super::Must<String>,
        pub(super) output_format: String,
        pub(super) test_output_format: String,
        pub(super) test_name_format: String,
        pub(super) visibility: String,
        pub(super) stdout_visibility: String,
        pub(super) tests: Vec<GradescopeTest>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct GradescopeTest {
        pub(super) score: Option<f64>,
        pub(super) max_score: f64,
        pub(super) status: String,
        #[serde(rename = "name")]
        _name: super::Must<String>,
        pub(super) name_format: String,
        #[serde(rename = "number")]
        _number: super::Must<String>,
        #[serde(rename = "output")]
        _output: super::Must<String>,
        pub(super) output_format: String,
        pub(super) visibility: String,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct PrairieLearn {
        pub(super) gradable: bool,
        pub(super) score: Option<f64>,
        #[serde(rename = "message")]
        _message: super::Must<String>,
        #[serde(default)]
        pub(super) format_errors: Vec<String>,
        #[serde(default)]
        pub(super) tests: Vec<PrairieLearnTest>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct PrairieLearnTest {
        #[serde(rename = "name")]
        _name: super::Must<String>,
        pub(super) points: f64,
        pub(super) max_points: f64,
        #[serde(rename = "message")]
        _message: super::Must<String>,
        #[serde(rename = "output")]
        _output: super::Must<String>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Classroom50 {
        pub(super) schema: String,
        pub(super) classroom: String,
        pub(super) assignment: String,
        pub(super) assignment_type: String,
        pub(super) owner: String,
        pub(super) submission: String,
        pub(super) commit: String,
        pub(super) release: String,
        pub(super) review: String,
        pub(super) datetime: String,
        pub(super) score: u32,
        #[serde(rename = "max-score")]
        pub(super) max_score: u32,
        pub(super) tests: Vec<Classroom50Test>,
    }

    #[derive(Deserialize)]
    pub(super) struct Classroom50Test {
        #[serde(rename = "test-name")]
        pub(super) test_name: String,
        #[serde(rename = "passed")]
        _passed: bool,
        pub(super) score: u32,
        #[serde(rename = "max-score")]
        pub(super) max_score: u32,
    }
}

fn read_gradescope(text: &str) {
    let results: reader::Gradescope = serde_json::from_str(text).expect("Gradescope reads it");
    for format in [&results.output_format, &results.test_output_format, &results.test_name_format] {
        assert_eq!(format, "text");
    }
    assert_eq!(
        (results.visibility.as_str(), results.stdout_visibility.as_str()),
        ("visible", "hidden")
    );
    let mut sum = Some(0.0);
    for test in &results.tests {
        assert!(["passed", "failed"].contains(&test.status.as_str()));
        assert_eq!((test.name_format.as_str(), test.output_format.as_str()), ("text", "text"));
        assert_eq!(test.visibility, "visible");
        assert!(test.score.is_none_or(|score| score <= test.max_score));
        sum = sum.zip(test.score).map(|(sum, score)| sum + score);
    }
    assert_eq!(
        results.score.map(|score| format!("{score:.1}")),
        sum.map(|sum| format!("{sum:.1}"))
    );
}

fn read_prairielearn(text: &str) {
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    let results: reader::PrairieLearn = serde_json::from_str(text).expect("PrairieLearn reads it");
    assert_eq!(results.gradable, results.score.is_some());
    assert_eq!(results.gradable, results.format_errors.is_empty());
    assert!(results.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
    assert!(results.tests.iter().all(|test| test.points <= test.max_points));
}

fn read_classroom50(text: &str) {
    let results: reader::Classroom50 = serde_json::from_str(text).expect("Classroom 50 reads it");
    assert_eq!(results.schema, "classroom50/result/v1");
    for given in [
        &results.classroom,
        &results.assignment,
        &results.owner,
        &results.commit,
        &results.release,
        &results.review,
    ] {
        assert!(!given.is_empty());
    }
    assert!(["individual", "group"].contains(&results.assignment_type.as_str()));
    assert!(results.submission.starts_with("submit/"));
    assert_eq!(results.datetime.len(), 20);
    assert!(results.score <= results.max_score && !results.tests.is_empty());
    for test in results.tests {
        assert!(!test.test_name.is_empty() && test.score <= test.max_score);
    }
}

/// Text that somebody might choose for a name, print, or panic with.
const HOSTILE: [&str; 34] = [
    "",
    " ",
    "=cmd|'/c calc'!A1",
    "+1+1",
    "-2+3",
    "@SUM(A1)",
    "\t=1+1",
    "'=1",
    "\"quoted\", 'and' , more",
    "line\nanother\r\nthird\rfourth",
    "<script>alert(1)</script>",
    "</style></title></textarea><img src=x onerror=alert(1)>",
    "\" onmouseover=\"alert(1)\" x=\"",
    "' onfocus='alert(1)",
    "javascript:alert(1)",
    "&lt;b&gt;&#60;b&#62;&amp;",
    "]]><evil/>",
    "<!-- --> <![CDATA[ x ]]> <?php ?>",
    "{{7*7}} ${7*7} #{7*7} <%= 7*7 %>",
    "::error file=a,line=1::pwned\n::set-output name=x::y",
    "##[error]pwned",
    "\x1b[31mred\x1b]0;title\x07\x1b]52;c;aGk=\x07",
    "nul\0 bell\x07 back\x08 del\x7f c1\u{9b}31m",
    "\u{202e}evil\u{202c}\u{2066}x\u{2069}\u{200f}",
    "zero\u{200b}width\u{feff}\u{2060}\u{ad}",
    "\u{fffe}\u{ffff}\u{fffd}\u{1fffe} \\ud800",
    "tag\u{e0041}\u{e007f}",
    "sep\u{2028}par\u{2029}nel\u{85}",
    "``` `` ` ~~~ ````````",
    "```\n# heading\n<b>x</b>\n```",
    "a | b || \\| c | `d|e`",
    "[link](javascript:x) ![img](http://evil.example/x) @octocat #1 https://evil.example",
    "- [ ] item\n> quote\n| a | b |\n| - | - |\n$$x$$",
    "../../etc/passwd",
];

/// Rows of one student, with `text` wherever a student could have put some.
fn planted(text: &str) -> Vec<Row> {
    let mut rows = class();
    rows.retain(|row| row.student == "grace" || row.student == "linus");
    for row in &mut rows {
        let text = || text.to_owned();
        let more = || Finding {
            message: text(),
            help: Some(text()),
            ..finding("SWIM-C03", "shared-stream", "warning", "")
        };
        // Two students stay two, in this order.
        row.student = match row.student.as_str() {
            "grace" => text(),
            _ => format!("{}~", text()),
        };
        row.message = text();
        row.notes.push(text());
        row.flags.push(text());
        row.compiler = text();
        row.output = text();
        row.causes.push(Finding { file: Some(text()), ..more() });
        row.hazards.push(more());
        row.advice.push(more());
        if let Some(file) = &mut row.file {
            file.path = text();
            file.ignored.push(text());
        }
        if let Some(replaced) = &mut row.replaced {
            replaced.reason = text();
            replaced.by = text();
        }
    }
    rows
}

/// The same with a harmless word.
fn harmless() -> Vec<Row> {
    planted("word")
}

/// What else has names in it.
fn around(text: &str) -> Around {
    let mut around = Around::new();
    around.identical[0].students = vec![text.to_owned(), format!("{text}~")];
    let person = Person {
        name: Some(text.to_owned()),
        login: Some(text.to_owned()),
        id: Some(text.to_owned()),
        email: Some(text.to_owned()),
    };
    around.people = BTreeMap::from([(text.to_owned(), person)]);
    around
}

/// Nothing in `text` moves a cursor, turns letters round or cannot be seen.
fn assert_plain(text: &str, what: &str) {
    let hidden = text.chars().find(|&c| {
        (c.is_control() && c != '\n' && c != '\t')
            || "\u{202e}\u{2066}\u{200f}\u{200b}\u{feff}\u{2060}\u{2028}\u{fffe}\u{ffff}\u{e0041}"
                .contains(c)
    });
    assert_eq!(hidden, None, "{what}: {text}");
}

/// No line is a command of a GitHub job's log.
fn assert_no_commands(text: &str, what: &str) {
    for line in text.lines() {
        assert!(!line.trim_start().starts_with("::"), "{what}: {line}");
    }
}

/// Elements and attributes of a page, as a browser finds them, but for the values.
fn elements(page: &str) -> Vec<String> {
    struct Sink(RefCell<Vec<String>>);
    impl TokenSink for Sink {
        type Handle = ();
        fn process_token(&self, token: Token, _: u64) -> TokenSinkResult<()> {
            match token {
                Token::TagToken(tag) => {
                    let kind = if tag.kind == TagKind::StartTag { "" } else { "/" };
                    let mut names: Vec<String> =
                        tag.attrs.iter().map(|it| it.name.local.to_string()).collect();
                    names.sort();
                    self.0.borrow_mut().push(format!("{kind}{} {}", tag.name, names.join(" ")));
                    return match tag.name.as_ref() {
                        "style" if tag.kind == TagKind::StartTag => {
                            TokenSinkResult::RawData(html5ever::tokenizer::states::RawKind::Rawtext)
                        }
                        "title"
                            if tag.kind == TagKind::StartTag
                                && !self.0.borrow().iter().any(|it| it.starts_with("svg")) =>
                        {
                            TokenSinkResult::RawData(html5ever::tokenizer::states::RawKind::Rcdata)
                        }
                        _ => TokenSinkResult::Continue,
                    };
                }
                Token::CommentToken(_) => self.0.borrow_mut().push("comment".to_owned()),
                Token::NullCharacterToken => self.0.borrow_mut().push("null".to_owned()),
                Token::ParseError(error) => {
                    self.0.borrow_mut().push(format!("mistake: {error}"));
                }
                _ => {}
            }
            TokenSinkResult::Continue
        }
    }
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(page));
    let tokenizer = Tokenizer::new(
        Sink(RefCell::default()),
        TokenizerOpts { exact_errors: true, ..TokenizerOpts::default() },
    );
    _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

/// What Markdown makes of a text, but for what stands in code.
fn markdown_parts(text: &str) -> Vec<String> {
    use pulldown_cmark::Event;
    Parser::new_ext(text, Options::all())
        .map(|event| match event {
            Event::Start(tag) => format!("{tag:?}"),
            Event::End(tag) => format!("/{tag:?}"),
            Event::Text(_) => "text".to_owned(),
            Event::Code(_) => "code".to_owned(),
            event => format!("{event:?}"),
        })
        // One text may come in pieces.
        .fold(Vec::new(), |mut parts: Vec<String>, part| {
            if !(part == "text" && parts.last().is_some_and(|last| last == "text")) {
                parts.push(part);
            }
            parts
        })
}

#[test]
fn hostile_text_is_no_markup_in_a_page() {
    let pages = |text: &str, rows: &[Row]| {
        let around = around(text);
        let context = around.context();
        let of_student: Vec<Row> =
            rows.iter().filter(|row| row.student == rows[0].student).cloned().collect();
        [class_page::text(rows, &context), student_page::text(&of_student, &context)]
    };
    let expected = pages("word", &harmless()).map(|page| elements(&page));
    for tags in &expected {
        let mistakes: Vec<&String> = tags.iter().filter(|tag| tag.starts_with("mistake")).collect();
        assert!(mistakes.is_empty(), "{mistakes:?}");
        let names: BTreeSet<&str> = tags.iter().filter_map(|tag| tag.split(' ').next()).collect();
        for never in ["script", "img", "iframe", "link", "form", "input", "object", "base"] {
            assert!(!names.contains(never), "{never}");
        }
    }
    for text in HOSTILE {
        // Without any text a part is left out, which is no markup either.
        if text.trim().is_empty() {
            continue;
        }
        for (page, expected) in pages(text, &planted(text)).iter().zip(&expected) {
            // A person's name that is not the student's has an element of its own.
            assert_eq!(&elements(page), expected, "{text:?}");
            assert_plain(page, text);
        }
    }
}

#[test]
fn a_page_allows_itself_nothing() {
    let (rows, around) = (class(), Around::new());
    for page in [
        class_page::text(&rows, &around.context()),
        student_page::text(&of(&rows, "ada"), &around.context()),
    ] {
        let policy = "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
                      style-src 'unsafe-inline'; img-src data:";
        let at = page.find(policy).expect("there is a policy");
        assert!(page.find("<style").expect("there is a style") > at);
        let tags = elements(&page);
        let handlers = tags.iter().filter(|tag| tag.contains(" on")).count();
        assert_eq!(handlers, 0);
        // Other pages of the folder, places on this one, and the name of SVG's namespace.
        for part in page.split("href=\"").skip(1) {
            assert!(part.starts_with('#') || part.starts_with("students/"), "{part:.40}");
        }
        assert!(!page.replace("http://www.w3.org/2000/svg", "").contains("://"));
    }
}

#[test]
fn hostile_text_is_text_in_markdown() {
    let parts = |text: &str| {
        let around = around(text);
        let mut rows = planted(text);
        rows.iter_mut().for_each(|row| row.hazards.truncate(1));
        let markdown = markdown::text(&rows, &around.context());
        assert_plain(&markdown, text);
        assert_no_commands(&markdown, text);
        markdown_parts(&markdown)
    };
    let expected = parts("word");
    for text in HOSTILE {
        if text.trim().is_empty() {
            continue;
        }
        assert_eq!(parts(text), expected, "{text:?}");
    }
}

#[test]
fn hostile_text_is_text_in_a_terminal() {
    for text in HOSTILE {
        let around = around(text);
        let summary = summary::text(&planted(text), &around.context(), Style::Plain);
        assert_plain(&summary, text);
        assert_no_commands(&summary, text);
        assert_eq!(
            summary.lines().count(),
            summary::text(&harmless(), &super::tests::around("word").context(), Style::Plain)
                .lines()
                .count(),
            "{summary}"
        );
    }
}

#[test]
fn hostile_text_is_a_cell_in_tables() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let context = around.context();
        let columns = columns();
        let gradebook = Gradebook { export: EXPORT, columns: &columns };
        let moodle = moodle::tables(&rows, &context).expect("it is written");
        let canvas = canvas::fill(&rows, &context, &gradebook).expect("it is filled");
        let tables = [
            csv::text(&rows).expect("it is written"),
            moodle.complete,
            moodle.unfinished,
            canvas.unmatched,
        ];
        for table in &tables {
            assert_plain(table, text);
            assert_no_commands(table, text);
            let mut reader =
                ::csv::ReaderBuilder::new().has_headers(false).from_reader(table.as_bytes());
            for record in reader.records() {
                for cell in &record.expect("all records are as long as the first") {
                    let is_number = cell.parse::<f64>().is_ok();
                    let first = cell.chars().next();
                    let is_formula = matches!(first, Some('=' | '+' | '-' | '@' | '\t' | '\r'));
                    assert!(is_number || !is_formula, "{cell:?}");
                }
            }
        }
        // And the name comes back.
        let mut reader = ::csv::Reader::from_reader(tables[0].as_bytes());
        let record = reader.records().next().expect("there is one").expect("it is a record");
        let cell = record[0].strip_prefix('\'').unwrap_or(&record[0]);
        assert_eq!(cell, plain::line(text));
    }
}

#[test]
fn hostile_text_is_text_in_junit() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let report = junit::text(&rows, &around.context()).expect("it is written");
        assert_plain(&report, text);
        assert_no_commands(&report, text);
        let read = quick_junit::Report::deserialize_from_str(&report).expect("it is JUnit");
        assert_eq!((read.tests, read.failures, read.errors), (6, 4, 1), "{report}");
        let suites = &read.test_suites;
        let names: Vec<&str> = suites.iter().map(|suite| suite.name.as_str()).collect();
        let expected = [text.to_owned(), format!("{text}~")].map(|name| plain::name(&name));
        assert_eq!(names.len(), 2);
        for name in names {
            let name = name.trim();
            assert!(expected.iter().any(|expected| expected.trim() == name), "{name:?}");
        }
    }
}

#[test]
fn hostile_text_is_text_in_json() {
    for text in HOSTILE {
        let (rows, around) = (planted(text), around(text));
        let context = around.context();
        for row in &rows {
            let line = jsonl::line(row).expect("it is written");
            assert_eq!(line.lines().count(), 1, "{line}");
            assert_eq!(&serde_json::from_str::<Row>(&line).expect("it is a row"), row);
        }
        let first: Vec<Row> =
            rows.iter().filter(|row| row.student == rows[0].student).cloned().collect();
        let last: Vec<Row> =
            rows.iter().filter(|row| row.student != rows[0].student).cloned().collect();
        for rows in [&first, &last] {
            read_gradescope(&gradescope::text(rows, &context).expect("it is written"));
            read_prairielearn(&prairielearn::text(rows, &context).expect("it is written"));
        }
        let result = classroom50::text(&first, &submission()).expect("it is written");
        read_classroom50(&result);
        assert!(classroom50::text(&last, &submission()).is_err());
        for text in [result, gradescope::text(&first, &context).expect("it is written")] {
            let value: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
            strings(&value, &mut |string| assert_plain(string, string));
        }
    }
}

/// Every string in a JSON value but the names of fields.
fn strings(value: &serde_json::Value, look: &mut dyn FnMut(&str)) {
    match value {
        serde_json::Value::String(string) => look(string),
        serde_json::Value::Array(values) => values.iter().for_each(|value| strings(value, look)),
        serde_json::Value::Object(fields) => fields.values().for_each(|value| strings(value, look)),
        _ => {}
    }
}

#[test]
fn the_largest_output_still_fits_where_there_is_a_limit() {
    let around = Around::new();
    let mut rows = of(&class(), "grace");
    for row in &mut rows {
        // The longest that JSON makes of a byte.
        row.output = "\u{1}".repeat(crate::class::record::TEXT_BYTES);
        row.compiler = row.output.clone();
    }
    read_prairielearn(&prairielearn::text(&rows, &around.context()).expect("it is written"));
    let rows: Vec<Row> = (0..400)
        .flat_map(|number| {
            rows.iter().cloned().map(move |mut row| {
                row.student = format!("student {number}");
                markdown::cut(row)
            })
        })
        .collect();
    let markdown = markdown::text(&rows, &around.context());
    assert!(markdown.len() < 1024 * 1024, "{} bytes", markdown.len());
    assert!(markdown.contains("more are in the other reports"));
}

#[test]
fn a_student_reads_no_more_about_causes_than_is_allowed() {
    let rows = of(&class(), "grace");
    let mut around = Around::new();
    let mut page = |feedback| {
        around.feedback = feedback;
        let context = around.context();
        let pages = [
            student_page::text(&rows, &context),
            gradescope::text(&rows, &context).expect("it is written"),
            prairielearn::text(&rows, &context).expect("it is written"),
        ];
        let has = |text: &str| pages.iter().filter(|page| page.contains(text)).count();
        (
            has("take turns in stream 1"),
            has("give src/lib.rs:42"),
            has("saves 300 µs"),
            has("SWIM-C03"),
        )
    };
    assert_eq!(page(Feedback::Symptom), (0, 0, 0, 3));
    assert_eq!(page(Feedback::Cause), (3, 3, 0, 3));
    assert_eq!(page(Feedback::Advice), (3, 3, 3, 3));
}

#[test]
fn a_student_is_not_told_what_a_person_has_to_look_at() {
    let around = Around::new();
    let page = student_page::text(&of(&class(), "grace"), &around.context());
    assert!(!page.contains("linus"), "{page}");
    assert!(page.contains("Somebody looks at this"));
}

#[test]
fn every_format_is_written_whole_and_says_where() {
    let (rows, around) = (class(), Around::new());
    let folder = Scratch::new().expect("there is room");
    let columns = columns();
    for format in Format::value_variants() {
        let mut context = around.context();
        context.gradebook = Some(Gradebook { export: EXPORT, columns: &columns });
        context.submission = Some(submission());
        let rows = match format {
            Format::Classroom50 => of(&rows, "ada"),
            _ => rows.clone(),
        };
        let written = write(*format, rows.into_iter().map(Ok), &context, folder.path());
        for file in written.expect("it is written") {
            assert!(file.is_file(), "{}", file.display());
        }
    }
    let mut names: Vec<String> = Vec::new();
    let mut folders = vec![folder.path().to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).expect("it can be listed") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder.path()).expect("it is in there");
                names.push(name.display().to_string());
            }
        }
    }
    names.sort();
    insta::assert_snapshot!(names.join("\n"), @r"
    canvas.csv
    canvas_unmatched.csv
    grades.csv
    grades.jsonl
    gradescope/ada/results.json
    gradescope/grace/results.json
    gradescope/linus/results.json
    index.html
    junit.xml
    moodle.csv
    moodle_unfinished.csv
    prairielearn/ada/results.json
    prairielearn/grace/results.json
    prairielearn/linus/results.json
    result.json
    students/ada.html
    students/grace.html
    students/linus.html
    summary.md
    summary.txt
    ");
}

#[test]
fn one_students_results_lie_where_an_autograder_looks_for_them() {
    let around = Around::new();
    let folder = Scratch::new().expect("there is room");
    for (format, name) in
        [(Format::Gradescope, "gradescope"), (Format::Prairielearn, "prairielearn")]
    {
        let rows = of(&class(), "ada").into_iter().map(Ok);
        let written = write(format, rows, &around.context(), folder.path()).expect("it is written");
        assert_eq!(written, [folder.path().join(name).join("results.json")]);
        assert!(write(format, [], &around.context(), folder.path()).is_err());
    }
}

#[test]
fn the_links_of_the_class_lead_to_the_students_pages() {
    let around = Around::new();
    let folder = Scratch::new().expect("there is room");
    let students = ["Ada", "ADA", "ada", "<a>", "../x", "\u{e9}", "e\u{301}", "", "con"];
    let rows = students.map(|student| Ok(row(student, "events", 90.0)));
    let written =
        write(Format::Html, rows, &around.context(), folder.path()).expect("it is written");
    let page = std::fs::read_to_string(folder.path().join("index.html")).expect("it is there");
    for file in &written[..students.len()] {
        let name = file.file_name().expect("it has one").to_string_lossy();
        assert!(page.contains(&format!("href=\"students/{name}\"")), "{name}");
    }
    let different: BTreeSet<String> =
        written.iter().map(|path| path.display().to_string().to_lowercase()).collect();
    assert_eq!(different.len(), students.len() + 1);
}

#[test]
fn formats_are_called_what_people_call_them() {
    let names: Vec<String> = Format::value_variants()
        .iter()
        .filter_map(|format| Some(format.to_possible_value()?.get_name().to_owned()))
        .collect();
    assert_eq!(
        names.join(" "),
        "text jsonl csv junit gradescope canvas moodle classroom50 prairielearn markdown html"
    );
}

#[test]
fn letters_stand_out_from_their_ground() {
    // Relative luminance and contrast as WCAG 2.2 defines them.
    let luminance = |colour: &str| -> f64 {
        let digits = colour.trim_start_matches('#');
        let wide: String = match digits.len() {
            3 => digits.chars().flat_map(|c| [c, c]).collect(),
            _ => digits.to_owned(),
        };
        let channel = |at: usize| {
            let value = u8::from_str_radix(&wide[at..at + 2], 16).expect("a colour");
            let value = f64::from(value) / 255.0;
            if value <= 0.04045 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * channel(0) + 0.7152 * channel(2) + 0.0722 * channel(4)
    };
    let contrast = |a: &str, b: &str| {
        let (a, b) = (luminance(a) + 0.05, luminance(b) + 0.05);
        if a > b { a / b } else { b / a }
    };
    let sheet = include_str!("page.css");
    let themes: Vec<&str> = sheet.split(":root {").skip(1).collect();
    assert_eq!(themes.len(), 3, "light, dark, and print");
    for theme in themes {
        let colour = |name: &str| -> &str {
            let (_, rest) = theme.split_once(&format!("--{name}: ")).expect("it has the colour");
            rest.split(';').next().unwrap_or_default()
        };
        for letters in ["fg", "muted", "links", "right", "wrong", "unsure"] {
            for ground in ["bg", "panel"] {
                let contrast = contrast(colour(letters), colour(ground));
                assert!(contrast >= 4.5, "{letters} on {ground}: {contrast:.2}");
            }
        }
        assert!(contrast(colour("unsure"), colour("unsure-ground")) >= 4.5);
    }
}
