//! Quizzes: `{{#quiz ../quizzes/three_lanes.toml}}`; all of them again: `{{#progress ../quizzes}}` and
//! `{{#recap ../quizzes}}`.
//!
//! The files follow the dialect of mdbook-quiz (`MultipleChoice`, `ShortAnswer`, `Tracing`), with two
//! kinds more (`Order`, `Numeric`) and stricter: each wrong choice says why, unknown keys are errors,
//! and questions are checked for common flaws.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`parse`] | the file, as types; what is missing or has no meaning |
//! | [`lint`] | flaws of questions |
//! | [`render`] | questions as forms |
//! | [`review`] | how far the reader has come, and questions that come back |

pub mod lint;
pub mod parse;
pub mod render;
pub mod review;

use std::path::Path;

use crate::markup::in_markdown;
use crate::page::{Page, directives, replace};
use crate::problem::Problem;

/// Replaces the quizzes of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for directive in directives(text, "quiz") {
        let path = page.beside(&directive.argument);
        let name = name(&path);
        let questions = questions(page, directive.line, &directive.argument, &path);
        let html = questions.map(|questions| render::quiz(&name, &questions)).unwrap_or_default();
        parts.push((directive.range, in_markdown(&html, 1)));
    }
    type Review = fn(&[review::Quiz]) -> String;
    for (kind, render) in [("progress", review::progress as Review), ("recap", review::recap)] {
        for directive in directives(text, kind) {
            let html = render(&review::quizzes(page, &directive));
            parts.push((directive.range, in_markdown(&html, 1)));
        }
    }
    replace(text, parts)
}

/// The name of a quiz: that of its file, which is that of its chapter.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The questions of a quiz. What is wrong with them is noted.
fn questions(
    page: &mut Page<'_>,
    line: usize,
    named: &str,
    path: &Path,
) -> Option<Vec<parse::Question>> {
    let source = std::fs::read_to_string(path);
    let source = source.map_err(|error| format!("cannot read quiz `{named}`: {error}"));
    let (questions, flaws) = parse::parse(&page.note(line, source)?, page.records);
    for (line, message) in flaws {
        page.problems.push(Problem::new(page.root, path, line, message));
    }
    Some(questions)
}
