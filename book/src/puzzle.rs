//! `puzzle` blocks: two programs side by side, the lines in which they differ marked; and `predict`
//! blocks: what the reader expects, written down before the answer is shown.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`predict`] | the forms |

pub mod predict;

use serde::Deserialize;

use crate::listing::{Line, compare, function};
use crate::markup::{escape, in_markdown};
use crate::page::{Fence, Page, fences, replace};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Puzzle {
    /// The function that is shown of each file.
    function: String,
    /// Whether the programs' files are not named, where a name gives the answer away.
    #[serde(default)]
    nameless: bool,
    program: Vec<Program>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    title: String,
    file: String,
}

/// Replaces the `puzzle` and the `predict` blocks of a chapter.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for fence in fences(text, "puzzle") {
        let html = puzzle(page, &fence).unwrap_or_default();
        parts.push((fence.range, in_markdown(&html, fence.body.lines().count() + 1)));
    }
    let mut ids = Vec::new();
    for fence in fences(text, "predict") {
        let html = predict::form(page, &fence, &mut ids).unwrap_or_default();
        parts.push((fence.range, in_markdown(&html, fence.body.lines().count() + 1)));
    }
    replace(text, parts)
}

fn puzzle(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let Puzzle { function: name, nameless, program } = page.parse(fence)?;
    let Ok([a, b]) = <[Program; 2]>::try_from(program) else {
        page.complain(fence.line, "a puzzle is two programs side by side");
        return None;
    };
    let [left, right] = [&a, &b].map(|p| function(&page.beside(&p.file), &name));
    let (left, right) = (page.note(fence.line, left), page.note(fence.line, right));
    let (left, right) = (left?, right?);
    let (left, right) = compare(&left, &right);
    if !left.iter().chain(&right).any(|line| matches!(line, Line::Different(_))) {
        page.complain(fence.line, "the two programs are the same");
        return None;
    }
    let (a, b) = (listing(&a, nameless, &left), listing(&b, nameless, &right));
    Some(format!(
        "<div class=\"puzzle\">{a}{b}</div>\
         <p class=\"puzzle-legend\"><mark>Marked</mark> lines differ; all others are the same.</p>"
    ))
}

fn listing(program: &Program, nameless: bool, lines: &[Line<'_>]) -> String {
    let lines: String = lines
        .iter()
        .map(|line| {
            let (text, tag) = match line {
                Line::Shared(text) => (text, "span"),
                Line::Different(text) => (text, "mark"),
            };
            let indent = text.len() - text.trim_start().len();
            format!("<{tag} class=\"line\" style=\"--indent:{indent}\">{}\n</{tag}>", escape(text))
        })
        .collect();
    let title = escape(&program.title);
    let file = match program.file.rsplit('/').next() {
        Some(file) if !nameless => format!(" <code>{}</code>", escape(file)),
        _ => String::new(),
    };
    format!(
        "<div class=\"program\"><p class=\"program-title\"><b>{title}</b>{file}</p>\
         <pre><code class=\"language-rust\">{lines}</code></pre></div>"
    )
}
