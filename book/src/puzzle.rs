//! `puzzle` blocks: two programs side by side, the lines in which they differ marked, and the same in other
//! languages; and `predict` blocks: what the reader expects, written down before the answer is shown.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`predict`] | the forms |
//! | [`gate`] | what keeps the rest of a chapter until a prediction is made |

pub mod gate;
pub mod predict;

use serde::Deserialize;

use crate::instrument::key;
use crate::listing::{Line, Part, anchor, compare, function};
use crate::markup::{escape, in_markdown};
use crate::page::{Fence, Page, fences, replace};
use crate::play::editor;

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
    title: String,
    file: String,
}

/// The same in another language. Several of one language stand side by side in one tab.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Also {
    language: Language,
    /// What it is called where a tab has more than one.
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

    /// What highlights it.
    fn class(self) -> &'static str {
        match self {
            Self::PyTorch => "language-python",
            Self::CudaCpp => "language-cpp",
        }
    }
}

/// Replaces the `puzzle` and the `predict` blocks of a chapter. What stands below a prediction is gated by it.
pub fn expand(page: &mut Page<'_>, text: &str) -> String {
    let mut parts = Vec::new();
    for fence in fences(text, "puzzle") {
        let html = puzzle(page, &fence).unwrap_or_default();
        parts.push((fence.range, in_markdown(&html, fence.body.lines().count() + 1)));
    }
    let mut ids = Vec::new();
    let mut gates = 0;
    for fence in fences(text, "predict") {
        let html = predict::form(page, &fence, &mut ids).unwrap_or_default();
        let lines = fence.body.lines().count() + 1;
        match ids.last() {
            Some(id) if !html.is_empty() => {
                gates += 1;
                let key = predict::key(page, id);
                let gate = gate::open(&key, gate::steps(&text[fence.range.end..]));
                if let Some(at) = gate::reveal(text, fence.range.end) {
                    parts.push((at..at, gate::SHOWN.to_owned()));
                }
                parts.push((fence.range, in_markdown(&(html + &gate), lines)));
            }
            _ => parts.push((fence.range, in_markdown(&html, lines))),
        }
    }
    replace(text, parts) + &gate::CLOSE.repeat(gates)
}

/// Links that open the programs in the playground, where they are written in its language too.
fn in_playground(page: &Page<'_>, files: &[&(String, String)]) -> String {
    let programs = editor::programs(page.root).unwrap_or_default();
    let links = files.iter().filter_map(|(file, title)| {
        // `examples/three_lanes_blocking.rs` is `three_lanes.blocking`.
        let stem = file.rsplit('/').next()?.strip_suffix(".rs")?;
        let program = programs.iter().find(|program| program.name.replace('.', "_") == stem)?;
        let address = editor::address(&program.text);
        Some(format!("<a href=\"playground.html#{address}\">{}</a>", escape(title)))
    });
    let links: Vec<String> = links.collect();
    match links.len() {
        0 => String::new(),
        _ => format!(" Once you have predicted, try them in the playground: {}.", links.join(", ")),
    }
}

fn puzzle(page: &mut Page<'_>, fence: &Fence) -> Option<String> {
    let Puzzle { function: name, nameless, program, also } = page.parse(fence)?;
    let Ok([a, b]) = <[Program; 2]>::try_from(program) else {
        page.complain(fence.line, "a puzzle is two programs side by side");
        return None;
    };
    let [left, right] = [&a, &b].map(|p| function(&page.beside(&p.file), &name));
    let (left, right) = (page.note(fence.line, left), page.note(fence.line, right));
    let (part_a, part_b) = (left?, right?);
    let (left, right) = compare(&part_a.text, &part_b.text);
    if !left.iter().chain(&right).any(|line| matches!(line, Line::Different(_))) {
        page.complain(fence.line, "the two programs are the same");
        return None;
    }
    let [a_file, b_file] = [&a, &b].map(|program| (program.file.clone(), program.title.clone()));
    let file = |program: &Program| (!nameless).then(|| program.file.clone());
    // Lines of a figure are found in here by where they stand.
    let source = |program: &Program, part: &Part| {
        let name = program.file.rsplit('/').next().unwrap_or_default();
        format!(" data-source=\"{} {}\"", key(name), part.first)
    };
    let a = listing(&a.title, file(&a), &source(&a, &part_a), "language-rust", &left);
    let b = listing(&b.title, file(&b), &source(&b, &part_b), "language-rust", &right);
    let rust = format!(
        "<div class=\"puzzle\">{a}{b}</div>\
         <p class=\"puzzle-legend\"><mark>Marked</mark> lines differ; all others are the same.{}</p>",
        in_playground(page, &[&a_file, &b_file])
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
