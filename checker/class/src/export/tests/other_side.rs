//! Results as the platforms that they are for read them.

use super::class::{Around, class, of, row, submission};
use crate::export::*;

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

pub(super) fn read_gradescope(text: &str) {
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

pub(super) fn read_prairielearn(text: &str) {
    assert!(text.len() < 1_000_000, "{} bytes", text.len());
    let results: reader::PrairieLearn = serde_json::from_str(text).expect("PrairieLearn reads it");
    assert_eq!(results.gradable, results.score.is_some());
    assert_eq!(results.gradable, results.format_errors.is_empty());
    assert!(results.score.is_none_or(|score| (0.0..=1.0).contains(&score)));
    assert!(results.tests.iter().all(|test| test.points <= test.max_points));
}

pub(super) fn read_classroom50(text: &str) {
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

#[test]
fn the_largest_output_still_fits_where_there_is_a_limit() {
    let around = Around::new();
    let mut rows = of(&class(), "grace");
    for row in &mut rows {
        // The longest that JSON makes of a byte.
        row.output = "\u{1}".repeat(crate::record::TEXT_BYTES);
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
