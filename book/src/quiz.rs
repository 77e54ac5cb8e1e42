//! Quizzes: `{{#quiz ../quizzes/three_lanes.toml}}`; all of them again: `{{#progress ../quizzes}}`
//! and `{{#recap ../quizzes}}`.
//!
//! `{{#quiz ../quizzes/three_lanes.toml check=uploads,order}}` in the middle of a chapter shows
//! these questions alone; the one without `check` closes the chapter and shows the rest. All of
//! them are one quiz.
//!
//! The files follow the dialect of mdbook-quiz (`MultipleChoice`, `ShortAnswer`, `Tracing`), with
//! two kinds more (`Order`, `Numeric`) and stricter: each wrong choice says why, unknown keys are
//! errors, and questions are checked for common flaws.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`question`] | a question, as it is asked and answered |
//! | [`parse`] | the file, as types; what is missing or has no meaning |
//! | [`lint`] | flaws of questions |
//! | [`render`] | questions as forms |
//! | [`review`] | the reader's progress, and questions to be asked again |

pub mod lint;
pub mod parse;
pub mod question;
pub mod render;
pub mod review;

use std::collections::BTreeMap;
use std::path::Path;

use crate::markup::in_markdown;
use crate::page::{Directive, Page, directives, replace};
use crate::problem::Problem;
use question::Question;
use render::Place;

/// Replaces the quizzes of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for (directive, shown) in shown(page, text) {
        let html = shown.as_ref().map(render::quiz).unwrap_or_default();
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

/// The questions that one directive shows.
pub struct Shown {
    /// The quiz they belong to.
    pub quiz: String,
    /// Whether they stand in the middle of the chapter or close it.
    pub place: Place,
    /// The place of the first among all of the quiz as the chapter shows it, from 1.
    pub first: usize,
    /// How many the whole quiz has.
    pub of: usize,
    /// They themselves, in order.
    pub questions: Vec<Question>,
}

/// A quiz on its way through a chapter.
struct Progress {
    /// Those that are not shown yet.
    left: Vec<Question>,
    of: usize,
    closed: bool,
    /// Its last directive.
    line: usize,
}

/// The questions of each `{{#quiz …}}` of a chapter, in order. Problems are noted; such a one shows
/// nothing.
pub fn shown(page: &mut Page<'_>, text: &str) -> Vec<(Directive, Option<Shown>)> {
    let mut quizzes: BTreeMap<String, Option<Progress>> = BTreeMap::new();
    let found = directives(text, "quiz");
    let mut all = Vec::new();
    for directive in found {
        let (named, check) = argument(&directive.argument);
        let (named, line) = (named.to_owned(), directive.line);
        let path = page.beside(&named);
        if !quizzes.contains_key(&named) {
            let read = questions(page, line, &named, &path).map(|left| {
                let of = left.len();
                Progress { left, of, closed: false, line }
            });
            quizzes.insert(named.clone(), read);
        }
        let shown = match quizzes.get_mut(&named) {
            Some(Some(quiz)) => {
                quiz.line = line;
                take(page, line, &name(&path), quiz, check)
            }
            _ => None,
        };
        all.push((directive, shown));
    }
    for (named, quiz) in quizzes {
        if let Some(quiz) = quiz.filter(|quiz| !quiz.closed) {
            page.complain(
                quiz.line,
                format!("no `{{{{#quiz {named}}}}}` without `check` closes this chapter and shows the rest"),
            );
        }
    }
    all
}

/// The file of a quiz, and the questions that are named.
pub fn argument(argument: &str) -> (&str, Option<&str>) {
    match argument.split_once(char::is_whitespace) {
        Some((file, rest)) => (file, Some(rest.trim())),
        None => (argument, None),
    }
}

/// Takes from a quiz what one directive shows.
fn take(
    page: &mut Page<'_>,
    line: usize,
    name: &str,
    quiz: &mut Progress,
    check: Option<&str>,
) -> Option<Shown> {
    let first = quiz.of - quiz.left.len() + 1;
    if quiz.closed {
        page.complain(
            line,
            "this quiz was closed further up: a check stands before the quiz without `check`",
        );
        return None;
    }
    let (place, questions) = match check {
        None => {
            quiz.closed = true;
            if quiz.left.is_empty() && quiz.of > 0 {
                page.complain(
                    line,
                    "nothing is left for the quiz: each question stands further up",
                );
            }
            (Place::End, std::mem::take(&mut quiz.left))
        }
        Some(check) => {
            let Some(ids) = check.strip_prefix("check=").filter(|ids| !ids.is_empty()) else {
                page.complain(line, format!("`{check}` is not `check=ID,ID`"));
                return None;
            };
            let mut questions = Vec::new();
            for id in ids.split(',').map(str::trim) {
                match quiz.left.iter().position(|question| question.id == id) {
                    Some(at) => questions.push(quiz.left.remove(at)),
                    None => page.complain(
                        line,
                        format!("the quiz `{name}` has no question `{id}` that is not shown yet"),
                    ),
                }
            }
            (Place::Middle, questions)
        }
    };
    Some(Shown { quiz: name.to_owned(), place, first, of: quiz.of, questions })
}

/// The name of a quiz: that of its file, which is that of its chapter.
fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The questions of a quiz. What is wrong with them is noted.
fn questions(page: &mut Page<'_>, line: usize, named: &str, path: &Path) -> Option<Vec<Question>> {
    let source = std::fs::read_to_string(path);
    let source = source.map_err(|error| format!("cannot read quiz `{named}`: {error}"));
    let (questions, flaws) = parse::parse(&page.note(line, source)?, page.records);
    for (line, message) in flaws {
        page.problems.push(Problem::new(page.root, path, line, message));
    }
    Some(questions)
}
