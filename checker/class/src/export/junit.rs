//! JUnit, as CI systems read it: a suite for each student, a case for each exercise.
//!
//! Not passed is a failure, trouble that is not the student's an error, a file that is not there
//! skipped. There is no partial credit in JUnit; the points are properties.

use anyhow::{Context as _, Result};
use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use super::plain::{cut as cut_text, line, name, quoted};
use super::points::Points;
use super::{Context, csv, feedback, roll};
use crate::record::{Reason, Row};
use checker::grade::Verdict;

/// Bytes of a program's output, of its beginning: for more there is the student's page.
const OUTPUT_BYTES: usize = 4 * 1024;

/// A row with no more text than this report shows.
pub(super) fn cut(mut row: Row) -> Row {
    row.output = cut_text(&row.output, OUTPUT_BYTES);
    row.compiler = cut_text(&row.compiler, OUTPUT_BYTES);
    row
}

/// The report.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> Result<String> {
    let mut report = Report::new(name(context.title));
    for student in roll(rows, context).students {
        let called = name(student.name);
        let mut suite = TestSuite::new(called.as_str());
        for row in student.rows() {
            suite.add_test_case(case(row, &called));
        }
        report.add_test_suite(suite);
    }
    report.to_string().context("cannot write the JUnit report")
}

fn case(row: &Row, student: &str) -> TestCase {
    let mut status = match row.verdict {
        Verdict::Passed => TestCaseStatus::success(),
        Verdict::Rejected if row.reason == Some(Reason::Missing) => TestCaseStatus::skipped(),
        Verdict::Failed | Verdict::Rejected => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Verdict::Error | Verdict::Inconclusive => {
            TestCaseStatus::non_success(NonSuccessKind::Error)
        }
    };
    if row.verdict != Verdict::Passed {
        status.set_message(line(&row.message));
        status.set_type(kind(row));
        let details = details(row);
        if !details.is_empty() {
            status.set_description(details);
        }
    }
    let mut case = TestCase::new(name(&row.exercise), status);
    case.set_classname(student);
    case.add_property(Property::new("verdict", row.verdict.to_string()));
    if let Some(points) = Points::of(row) {
        case.add_property(Property::new("points", points.to_string()));
    }
    if let Some(pass) = Points::from(row.pass_score) {
        case.add_property(Property::new("pass_score", pass.to_string()));
    }
    if let Some(metric) = row.metric_value {
        case.add_property(Property::new(csv::word(&row.metric), metric.to_string()));
    }
    if !row.output.is_empty() {
        case.set_system_out(quoted(&row.output, "| "));
    }
    if !row.compiler.is_empty() {
        case.set_system_err(quoted(&row.compiler, "| "));
    }
    case
}

/// The kind of a failure, by which readers group them.
fn kind(row: &Row) -> String {
    match (row.reason, row.gate) {
        (Some(reason), _) => csv::word(&reason),
        (None, Some(gate)) => gate.to_string(),
        (None, None) if row.verdict == Verdict::Failed => "score".to_owned(),
        (None, None) => row.verdict.to_string(),
    }
}

fn details(row: &Row) -> String {
    row.hazards
        .iter()
        .chain(&row.causes)
        .map(|finding| quoted(&feedback::sentence(finding), "- "))
        .collect()
}
