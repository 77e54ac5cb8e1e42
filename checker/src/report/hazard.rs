//! A hazard, as rustc would show it: what is wrong, both lines underlined, and what to do.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Component, Path};

use annotate_snippets::{AnnotationKind, Element, Level, Renderer, Snippet};
use trace::Hazard;
use trace::hazards::{CallAt, Severity};

use crate::print::Style;

/// Source files, by the path that a place in the source names.
pub(crate) type Sources = BTreeMap<String, String>;

/// Hazards that are shown; more than these have the same few causes.
const MOST: usize = 6;

/// All of `hazards`, one below the other, each with an empty line before it.
pub(crate) fn text(hazards: &[Hazard], sources: &Sources, style: Style) -> String {
    let mut text = String::new();
    for hazard in hazards.iter().take(MOST) {
        text.push('\n');
        text.push_str(&one(hazard, sources, style));
        text.push('\n');
    }
    if hazards.len() > MOST {
        text.push_str(&format!("\nand {} more hazards\n", hazards.len() - MOST));
    }
    text
}

fn one(hazard: &Hazard, sources: &Sources, style: Style) -> String {
    let level = match hazard.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let headline = hazard.headline();
    let mut group =
        level.primary_title(&headline).id(hazard.code.as_str()).elements(Vec::<Element<'_>>::new());
    let shown = snippets(hazard, sources);
    let has_source = !shown.is_empty();
    for element in shown {
        group = group.element(element);
    }
    if !has_source {
        let (first, second) = hazard.labels();
        let places = [(&hazard.first.call, first), (&hazard.second.call, second)];
        let places = places.map(|(call, label)| format!("{}: {label}", call.place()));
        group = group.elements(places.map(|place| Level::NOTE.message(place)));
    }
    if let Some(note) = hazard.note() {
        group = group.element(Level::NOTE.message(note));
    }
    if hazard.count > 1 {
        let times = format!("this happens {} times at these two places", hazard.count);
        group = group.element(Level::NOTE.message(times));
    }
    group = group.element(Level::HELP.message(hazard.help()));
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    renderer.render(&[group])
}

/// The lines of both uses, where their files are known.
fn snippets<'a>(hazard: &'a Hazard, sources: &'a Sources) -> Vec<Element<'a>> {
    let (first, second) = hazard.labels();
    let uses = [
        (&hazard.second.call, AnnotationKind::Primary, second),
        (&hazard.first.call, AnnotationKind::Context, first),
    ];
    let mut files: BTreeMap<&str, Snippet<'a, _>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (call, kind, label) in uses {
        let Some((file, source)) = source(call, sources) else { return Vec::new() };
        let Some(span) = span(call, source) else { return Vec::new() };
        let snippet = files.remove(file).unwrap_or_else(|| {
            order.push(file);
            Snippet::source(source).path(file)
        });
        files.insert(file, snippet.annotation(kind.span(span).label(label)));
    }
    order.iter().filter_map(|file| files.remove(file)).map(Element::from).collect()
}

/// Reads the files that `hazards` point into, below `folder`. One that is not there, or not below it,
/// is left out: the places come from the program that ran, and may say anything.
pub(crate) fn sources(hazards: &[Hazard], folder: &Path) -> Sources {
    let calls = hazards.iter().flat_map(|hazard| [&hazard.first.call, &hazard.second.call]);
    let files = calls.filter_map(|call| Some(&call.site.as_ref()?.file));
    let below = |file: &&String| {
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
    };
    files
        .filter(below)
        .filter_map(|file| Some((file.clone(), std::fs::read_to_string(folder.join(file)).ok()?)))
        .collect()
}

fn source<'a>(call: &'a CallAt, sources: &'a Sources) -> Option<(&'a str, &'a str)> {
    let file = &call.site.as_ref()?.file;
    Some((file, sources.get(file)?))
}

/// The word at a call's place, or its whole line where the column is not known.
fn span(call: &CallAt, source: &str) -> Option<Range<usize>> {
    let site = call.site.as_ref()?;
    let index = (site.line as usize).checked_sub(1)?;
    let line = source.split_inclusive('\n').nth(index)?;
    let start: usize = source.split_inclusive('\n').take(index).map(str::len).sum();
    let text = line.trim_end();
    let indent = text.len() - text.trim_start().len();
    let column = site.column.and_then(|column| (column as usize).checked_sub(1));
    let column = column.filter(|&at| at < text.len() && text.is_char_boundary(at));
    let (from, to) = match column {
        Some(at) => {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = text[at..].find(|c| !word(c)).unwrap_or(text.len() - at);
            (at, at + length.max(1))
        }
        None => (indent, text.len()),
    };
    Some(start + from..start + to)
}
