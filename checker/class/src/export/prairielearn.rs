//! `results.json` of a PrairieLearn external grader: one student.
//!
//! Where an exercise could not be graded the submission is not `gradable`, which takes no attempt
//! away and gives no points.

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::plain::{cut, line, name};
use super::points::{FULL, Points, RULE};
use super::{Context, feedback, roll};
use crate::record::Row;

/// Bytes of what is told about all exercises: PrairieLearn refuses results of more than 1 MB, and
/// JSON may write one byte as six.
const OUTPUT_BYTES: usize = 128 * 1024;

#[derive(Debug, Serialize)]
struct Results {
    gradable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    format_errors: Vec<String>,
    /// Only where there are points: without them on each, badges vanish; with a zero for what was
    /// not graded, they lie.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tests: Vec<Test>,
}

#[derive(Debug, Serialize)]
struct Test {
    name: String,
    points: f64,
    max_points: f64,
    message: String,
    output: String,
}

/// The results of one student.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> Result<String> {
    let roll = roll(rows, context);
    let total = roll.students.first().and_then(|student| student.total());
    let rows: Vec<&Row> = roll.students.iter().flat_map(|student| student.rows()).collect();
    let full = Points::full(rows.len());
    let results = match total {
        Some(total) => Results {
            gradable: true,
            score: Some(f64::from(total.tenths()) / f64::from(full.tenths().max(1))),
            message: format!("{total} of {full} points; {RULE}."),
            format_errors: Vec::new(),
            tests: rows
                .iter()
                .filter_map(|row| test(row, Points::of(row)?, rows.len(), context))
                .collect(),
        },
        None => Results {
            gradable: false,
            score: None,
            message:
                "No score, which is no zero: an exercise could not be graded. This attempt does \
                      not count."
                    .to_owned(),
            format_errors: rows
                .iter()
                .filter(|row| Points::of(row).is_none())
                .map(|row| {
                    format!("{}: {}", name(context.title(&row.exercise)), line(&row.message))
                })
                .collect(),
            tests: Vec::new(),
        },
    };
    Ok(serde_json::to_string_pretty(&results).context("cannot write PrairieLearn's results")?
        + "\n")
}

fn test(row: &Row, points: Points, of: usize, context: &Context<'_>) -> Option<Test> {
    let output = cut(&feedback::text(row, context.feedback), OUTPUT_BYTES / of.max(1));
    Some(Test {
        name: name(context.title(&row.exercise)),
        points: points.number(),
        max_points: FULL.number(),
        message: line(&row.message),
        output: format!("{}\n{}\n", output.trim_end(), feedback::stamp(row)),
    })
}
