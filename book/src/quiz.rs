//! Quizzes: `{{#quiz ../quizzes/three_lanes.toml}}`.
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

pub mod lint;
pub mod parse;
pub mod render;

use crate::markup::in_markdown;
use crate::page::{Page, directives, replace};
use crate::problem::Problem;

/// Replaces the quizzes of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for directive in directives(text, "quiz") {
        let path = page.beside(&directive.argument);
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let html = match std::fs::read_to_string(&path) {
            Ok(source) => {
                let (questions, flaws) = parse::parse(&source, page.records);
                for (line, message) in flaws {
                    page.problems.push(Problem::new(page.root, &path, line, message));
                }
                render::quiz(&name, &questions)
            }
            Err(error) => {
                let message = format!("cannot read quiz `{}`: {error}", directive.argument);
                page.complain(directive.line, message);
                String::new()
            }
        };
        parts.push((directive.range, in_markdown(&html, 1)));
    }
    replace(text, parts)
}
