//! Points: what has none, what a person gave, and that all formats say the same.

use super::class::{Around, row, submission, without_metric};
use super::gradebook::{EXPORT, columns};
use crate::export::*;
use crate::record::{Reason, Replaced};
use checker::grade::Verdict;

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
        let rows = [self::row("linus", "two_streams", 90.0), row];

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
fn moodle_gets_back_what_its_worksheet_calls_a_student() {
    let rows = ["ada", "grace"].map(|student| row(student, "two_streams", 90.0));
    let mut around = Around::new();
    let ada = around.people.get_mut("ada").expect("she is there");
    ada.participant = Some("Participant 123".to_owned());
    let moodle = moodle::tables(&rows, &around.context()).expect("it is written");
    let lines: Vec<&str> = moodle.complete.lines().collect();
    assert!(lines[0].starts_with("Identifier,idnumber,email,"), "{}", moodle.complete);
    assert!(
        lines.iter().any(|line| line.starts_with("Participant 123,1815,ada@example.edu,")),
        "{}",
        moodle.complete
    );
    // Nobody knows what the worksheet calls her, and a login is no identifier.
    assert_eq!(lines[2], ",,,90.0,90.0");
}
