//! The class as Markdown, for the summary of a GitHub job.
//!
//! What students wrote stands in spans and blocks of code, whose fences are longer than any in
//! them: there Markdown knows no links, mentions, tags or formulas. No line begins with it either.

use super::plain::{cut as cut_text, line, name, quoted};
use super::points::{Points, RULE};
use super::roll::{Student, concerns};
use super::{Context, roll};
use crate::record::Row;
use checker::grade::Verdict;

/// Bytes of a message, of what the compiler said and of what a program printed, each.
const TEXT_BYTES: usize = 2 * 1024;
/// Bytes after which no more details follow: GitHub takes 1 MiB.
const MOST_BYTES: usize = 900 * 1024;

/// A row with no more text than this report shows.
pub(super) fn cut(mut row: Row) -> Row {
    row.output = cut_text(&row.output, TEXT_BYTES);
    row.compiler = cut_text(&row.compiler, TEXT_BYTES);
    row
}

/// The report.
pub(super) fn text(rows: &[Row], context: &Context<'_>) -> String {
    let roll = roll(rows, context);
    let mut text = format!("# {}\n\n", code(&name(context.title)));
    text += "| student | passed | points |";
    for exercise in &roll.exercises {
        text += &format!(" {} |", code(&name(context.title(exercise))));
    }
    text += &format!("\n| :-- | --: | --: |{}\n", " --: |".repeat(roll.exercises.len()));
    for student in &roll.students {
        text += &row_of(student, context);
    }
    text += &format!(
        "\nA full exercise is {}; {RULE}; “–” is not graded, which is no zero.\n",
        super::points::FULL
    );

    let looked_at: Vec<(&Row, Vec<String>)> = rows
        .iter()
        .map(|row| (row, concerns(row)))
        .filter(|(_, concerns)| !concerns.is_empty())
        .collect();
    if !looked_at.is_empty() {
        text += "\n## Needs a person\n\n";
        for (row, concerns) in looked_at {
            text += &format!("- {}\n", called(row, context));
            for concern in concerns {
                text += &format!("  - {}\n", code(&line(&cut_text(&concern, TEXT_BYTES))));
            }
        }
    }

    let mut has_title = false;
    let mut left = 0;
    for row in rows.iter().filter(|row| row.verdict != Verdict::Passed) {
        if text.len() > MOST_BYTES {
            left += 1;
            continue;
        }
        if !has_title {
            text += "\n## Not passed\n";
            has_title = true;
        }
        text += &format!("\n### {}: {}\n\n", called(row, context), row.verdict);
        text += &block(&cut_text(&row.message, TEXT_BYTES));
        for finding in &row.hazards {
            text += &format!(
                "- {}\n",
                code(&cut_text(&super::feedback::sentence(finding), TEXT_BYTES))
            );
        }
        if !row.hazards.is_empty() {
            text.push('\n');
        }
        for (what, said) in [("The compiler said:", &row.compiler), ("It printed:", &row.output)] {
            if !said.trim().is_empty() {
                text += &format!("{what}\n\n{}", block(said));
            }
        }
    }
    if left > 0 {
        text += &format!("\n{left} more are in the other reports.\n");
    }
    text
}

fn row_of(student: &Student<'_>, context: &Context<'_>) -> String {
    let show =
        |points: Option<Points>| points.map_or("–".to_owned(), |points| points.to_string());
    let mut text = format!(
        "| {} | {} of {} | {} |",
        code(&name(context.name(student.name))),
        student.passed(),
        student.rows.len(),
        show(student.total())
    );
    for row in &student.rows {
        let points = show(row.and_then(Points::of));
        text += &match row.map(|row| row.verdict) {
            Some(Verdict::Passed) => format!(" **{points}** |"),
            _ => format!(" {points} |"),
        };
    }
    text + "\n"
}

/// Whose exercise a row is.
fn called(row: &Row, context: &Context<'_>) -> String {
    let student = code(&name(context.name(&row.student)));
    format!("{student}, {}", code(&name(context.title(&row.exercise))))
}

/// A span of code, in a table too.
fn code(text: &str) -> String {
    // In a table a bar ends the cell even in code, and what escapes it may itself be escaped.
    let text = text.replace('|', "│");
    let fence = "`".repeat(longest_run(&text) + 1);
    match text.trim().is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) {
        true => format!("{fence} {text} {fence}"),
        false => format!("{fence}{text}{fence}"),
    }
}

/// A block of code, in a quotation so that no line of the file begins as one of the text.
fn block(text: &str) -> String {
    let fence = "`".repeat(longest_run(text).max(2) + 1);
    format!("> {fence}text\n{}> {fence}\n\n", quoted(text, "> "))
}

/// How many backticks stand together at most.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
