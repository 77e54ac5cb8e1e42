//! `results.json` of a Gradescope autograder: one student.
//!
//! Where an exercise could not be graded there is no score at all, and Gradescope says that the
//! autograder failed; an earlier submission's score stays. Every text is declared as text, since
//! HTML would be the default for some.

use anyhow::{Context as _, Result};
use serde::Serialize;

use super::plain::{cut, name};
use super::points::{FULL, Points, RULE};
use super::{Context, feedback, roll};
use crate::record::Row;
use checker::grade::Verdict;

/// Bytes of one test's output.
const OUTPUT_BYTES: usize = 32 * 1024;

#[derive(Debug, Serialize)]
struct Results {
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    output: String,
    output_format: &'static str,
    test_output_format: &'static str,
    test_name_format: &'static str,
    visibility: &'static str,
    /// For instructors: the text that the checker itself prints.
    stdout_visibility: &'static str,
    tests: Vec<Test>,
}

#[derive(Debug, Serialize)]
struct Test {
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f64>,
    max_score: f64,
    status: &'static str,
    name: String,
    name_format: &'static str,
    number: String,
    output: String,
    output_format: &'static str,
    visibility: &'static str,
}

/// The results of one student.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> Result<String> {
    let roll = roll(rows, context);
    let total = roll.students.first().and_then(|student| student.total());
    let rows: Vec<&Row> = roll.students.iter().flat_map(|student| student.rows()).collect();
    let output = match total {
        Some(total) => format!("{total} of {} points; {RULE}.", Points::full(rows.len())),
        None => {
            let left: Vec<String> = rows
                .iter()
                .filter(|row| Points::of(row).is_none())
                .map(|row| name(context.title(&row.exercise)))
                .collect();
            format!(
                "No score yet, which is no zero: {} could not be graded. Whoever runs the course has \
                 to look at it.",
                left.join(", ")
            )
        }
    };
    let tests = (1..).zip(rows).map(|(number, row)| Test {
        score: Points::of(row).map(Points::number),
        max_score: FULL.number(),
        // There is no third one.
        status: if row.verdict == Verdict::Passed { "passed" } else { "failed" },
        name: name(context.title(&row.exercise)),
        name_format: "text",
        number: format!("{number}"),
        output: format!(
            "{}\n{}\n",
            cut(&feedback::text(row, context.feedback), OUTPUT_BYTES).trim_end(),
            feedback::stamp(row)
        ),
        output_format: "text",
        visibility: "visible",
    });
    let results = Results {
        score: total.map(Points::number),
        output,
        output_format: "text",
        test_output_format: "text",
        test_name_format: "text",
        visibility: "visible",
        stdout_visibility: "hidden",
        tests: tests.collect(),
    };
    Ok(serde_json::to_string_pretty(&results).context("cannot write Gradescope's results")? + "\n")
}
