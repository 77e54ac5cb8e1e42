//! `puzzle` blocks: two programs side by side, the lines in which they differ marked, and the same
//! in other languages; and `predict` blocks: what the reader expects, written down before the
//! answer is shown.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`predict`] | the forms |
//! | [`gate`] | what keeps the rest of a chapter until a prediction is made |

pub mod gate;
pub mod predict;

use std::path::Path;

use serde::Deserialize;

use crate::figure::interactive::key;
use crate::listing::{Line, Part, anchor, compare, function, function_in};
use crate::markup::{escape, in_markdown};
use crate::page::{Fence, Page, fences, replace};
use crate::playground::editor;
use crate::puzzle::predict::Asked;
use crate::quiz::lint;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Puzzle {
    /// The function that is shown of each file.
    function: String,
    /// Whether the programs' files are not named, where a name gives the answer away.
    #[serde(default)]
    nameless: bool,
    program: Vec<Program>,
    #[serde(default)]
    also: Vec<Also>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    /// `EXERCISE.PROGRAM`, as its record is called.
    name: String,
    /// Its title here, where that is not the title of its record.
    title: Option<String>,
}

/// A program, as it is shown.
pub(crate) struct Shown {
    /// `EXERCISE.PROGRAM`, as its record is called.
    pub(crate) name: String,
    pub(crate) title: String,
    file: String,
    pub(crate) part: Part,
}

impl Shown {
    /// The function `function` of a program.
    fn of(page: &Page<'_>, program: &Program, function: &str) -> Result<Self, String> {
        let Program { name, title } = program;
        let known = name.split_once('.').and_then(|(exercise, program)| {
            let exercise = page.records.exercises.get(exercise)?;
            Some((exercise, exercise.program(program)?))
        });
        let (exercise, program) =
            known.ok_or_else(|| format!("no exercise has a program `{name}`"))?;
        let file = program.file.clone();
        let source = exercise.source(program, &file)?;
        let part = function_in(&source, Path::new(&file), function)?;
        let title = title.clone().unwrap_or_else(|| program.title.clone());
        Ok(Self { name: name.clone(), title, file, part })
    }
}

/// The same in another language. Several of one language stand side by side in one tab.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    language: Language,
    /// Its title where a tab has more than one.
    title: Option<String>,
    file: String,
    function: Option<String>,
    anchor: Option<String>,
}

/// A language beside Rust.
#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
enum Language {
    PyTorch,
    #[serde(rename = "CUDA C++")]
    CudaCpp,
}

impl Language {
    fn name(self) -> &'static str {
        match self {
            Self::PyTorch => "PyTorch",
            Self::CudaCpp => "CUDA C++",
        }
    }

    /// The class by which it is highlighted.
    fn class(self) -> &'static str {
        match self {
            Self::PyTorch => "language-python",
            Self::CudaCpp => "language-cpp",
        }
    }
}

/// Replaces the `puzzle` and the `predict` blocks of a chapter. What stands below a prediction is
/// gated by it.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for fence in fences(text, "puzzle") {
        let html = puzzle(page, &fence).unwrap_or_default();
        parts.push((fence.range, in_markdown(&html, fence.body.lines().count() + 1)));
    }
    let mut asked = Asked::default();
    let mut open = 0;
    for fence in fences(text, "predict") {
        let html = predict::form(page, &fence, &mut asked).unwrap_or_default();
        let lines = fence.body.lines().count() + 1;
        match asked.ids.last() {
            Some(id) if !html.is_empty() => {
                let key = predict::key(page, id);
                if let Some(at) = gate::reveal(text, fence.range.end) {
                    parts.push((at..at, gate::SHOWN.to_owned()));
                }
                let below = &text[fence.range.end..];
                let end = gate::end(text, fence.range.end).filter(|_| asked.alone);
                let steps = match end {
                    Some(end) => {
                        parts.push((end..end, gate::CLOSE.to_owned()));
                        1
                    }
                    None => {
                        open += 1;
                        gate::steps(below)
                    }
                };
                let gate = gate::open(&key, steps);
                parts.push((fence.range, in_markdown(&(html + &gate), lines)));
            }
            _ => parts.push((fence.range, in_markdown(&html, lines))),
        }
    }
    if let Some(message) = lint::too_many_longest(asked.choices.into_iter()) {
        page.complain(1, message);
    }
    replace(text, parts) + &gate::CLOSE.repeat(open)
}

/// Links that open the programs in the playground, where they are written in its language too.
fn in_playground(page: &Page<'_>, shown: [&Shown; 2]) -> String {
    let programs = editor::programs(page.root).unwrap_or_default();
    let links = shown.into_iter().filter_map(|shown| {
        let program = programs.iter().find(|program| program.name == shown.name)?;
        let address = editor::address(&program.text);
        Some(format!("<a href=\"playground.html#{address}\">{}</a>", escape(&shown.title)))
    });
    let links: Vec<String> = links.collect();
    match links.len() {
        0 => String::new(),
        _ => format!(" Once you have predicted, try them in the playground: {}.", links.join(", ")),
    }
}

/// The two programs of a `puzzle` block.
pub(crate) fn programs(page: &mut Page<'_>, fence: &Fence) -> Option<[Shown; 2]> {
    let puzzle = page.parse(fence)?;
    both(page, fence, puzzle).map(|(both, _)| both)
}

fn both(page: &mut Page<'_>, fence: &Fence, puzzle: Puzzle) -> Option<([Shown; 2], Puzzle)> {
    let Puzzle { function, program, .. } = &puzzle;
    let [a, b] = &program[..] else {
        page.complain(fence.line, "a puzzle is two programs side by side");
        return None;
    };
    let [a, b] = [a, b].map(|program| Shown::of(page, program, function));
    let (a, b) = (page.note(fence.line, a), page.note(fence.line, b));
    Some(([a?, b?], puzzle))
}

fn puzzle(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let puzzle = page.parse(fence)?;
    let ([a, b], Puzzle { nameless, also, .. }) = both(page, fence, puzzle)?;
    let (left, right) = compare(&a.part.text, &b.part.text);
    if !left.iter().chain(&right).any(|line| matches!(line, Line::Different(_))) {
        page.complain(fence.line, "the two programs are the same");
        return None;
    }
    let html = |shown: &Shown, lines: &[Line<'_>]| {
        let file = (!nameless).then(|| shown.file.clone());
        // Lines of a figure are found in here by where they stand.
        let source =
            format!(" data-source=\"{} {}\"", key(&shown.name, &shown.file), shown.part.first);
        listing(&shown.title, file, &source, "language-rust", lines)
    };
    let (left, right) = (html(&a, &left), html(&b, &right));
    let rust = format!(
        "<div class=\"puzzle\">{left}{right}</div>\
         <p class=\"puzzle-legend\"><mark>Marked</mark> lines differ; all others are the same.{}</p>",
        in_playground(page, [&a, &b])
    );
    if also.is_empty() {
        return Some(rust);
    }
    let mut html = format!(
        "<div class=\"listings\"><div class=\"tab\" data-language=\"Rust\">\
         <p class=\"language\">Rust</p>{rust}</div>"
    );
    for language in [Language::PyTorch, Language::CudaCpp] {
        let mut shown = String::new();
        for also in also.iter().filter(|also| also.language == language) {
            shown += &other(page, fence, also, nameless)?;
        }
        if !shown.is_empty() {
            let name = language.name();
            html += &format!(
                "<details class=\"tab\" data-language=\"{name}\"><summary>The same in {name}</summary>\
                 <p class=\"language\">{name}</p><div class=\"puzzle\">{shown}</div></details>"
            );
        }
    }
    Some(html + "</div>")
}

/// A listing in another language.
fn other(page: &mut Page<'_>, fence: &Fence, also: &Also, nameless: bool) -> Option<String> {
    let path = page.beside(&also.file);
    let text = match (&also.function, &also.anchor) {
        (Some(name), None) => function(&path, name),
        (None, Some(name)) => anchor(&path, name),
        _ => Err(format!("`{}` needs one of `function` and `anchor`", also.file)),
    };
    let text = page.note(fence.line, text)?;
    let lines: Vec<Line<'_>> = text.text.lines().map(Line::Shared).collect();
    let title = also.title.as_deref().unwrap_or_default();
    let file = (!nameless).then(|| also.file.clone());
    Some(listing(title, file, "", also.language.class(), &lines))
}

/// A program. Its file is named where that gives nothing away.
fn listing(
    title: &str,
    file: Option<String>,
    source: &str,
    class: &str,
    lines: &[Line<'_>],
) -> String {
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
    let title = if title.is_empty() { String::new() } else { format!("<b>{}</b>", escape(title)) };
    let file = file.as_deref().and_then(|file| file.rsplit('/').next()).map(escape);
    let file = file.map(|file| format!(" <code>{file}</code>")).unwrap_or_default();
    format!(
        "<div class=\"program\"><p class=\"program-title\">{title}{file}</p>\
         <pre{source}><code class=\"{class}\">{lines}</code></pre></div>"
    )
}
