//! Remarks about lines of the source, as rustc would show them: what it is, the lines underlined,
//! and what to do.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Patch, Renderer, Snippet};
use trace::hazards::CallAt;

use crate::print::Style;
use crate::report::fix::Fix;
use crate::report::sources::{Sources, is_word, source};

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    Error,
    Warning,
    Note,
}

/// Something to be said about lines of the source.
pub(super) struct Notice<'a> {
    pub(super) weight: Weight,
    pub(super) code: &'static str,
    pub(super) headline: String,
    /// Lines, and what to write below each: the one that it is about first.
    pub(super) places: Vec<(Cow<'a, CallAt>, String)>,
    pub(super) notes: Vec<String>,
    pub(super) help: Vec<String>,
    /// The last of the help, as a change of the source.
    pub(super) fix: Option<Fix>,
}

impl Notice<'_> {
    /// The notice as text, without a line end.
    pub(super) fn text(&self, sources: &Sources, style: Style) -> String {
        let level = match self.weight {
            Weight::Error => Level::ERROR,
            Weight::Warning => Level::WARNING,
            Weight::Note => Level::NOTE,
        };
        let mut group =
            level.primary_title(&self.headline).id(self.code).elements(Vec::<Element<'_>>::new());
        let shown = snippets(&self.places, sources);
        if shown.is_empty() {
            let places = self
                .places
                .iter()
                .map(|(call, label)| Level::NOTE.message(format!("{}: {label}", call.place())));
            group = group.elements(places);
        }
        group = group.elements(shown);
        group = group.elements(self.notes.iter().map(|note| Level::NOTE.message(note)));
        let change = self.fix.as_ref().and_then(|fix| change(fix, self.help.last()?, sources));
        let help = &self.help[..self.help.len() - usize::from(change.is_some())];
        group = group.elements(help.iter().map(|help| Level::HELP.message(help)));
        let renderer = match style {
            Style::Plain => Renderer::plain(),
            Style::Colour => Renderer::styled(),
        };
        let groups: Vec<Group<'_>> = [Some(group), change].into_iter().flatten().collect();
        renderer.render(&groups)
    }
}

/// A change of the source, below what is said about it.
fn change<'a>(fix: &'a Fix, help: &'a str, sources: &'a Sources) -> Option<Group<'a>> {
    let source = sources.get(&fix.file)?;
    // Each by itself: of several at once only the outcome would be shown, and not what went. A line
    // that goes has the number that it had, one that comes the number that it gets.
    let changes = fix.edits.iter().enumerate().map(|(index, edit)| {
        let (mut text, mut at) = (source.clone(), edit.bytes.clone());
        if at.is_empty() {
            for before in fix.edits[..index].iter().rev() {
                text.replace_range(before.bytes.clone(), &before.text);
                let moved = |at: usize| at - before.bytes.len() + before.text.len();
                at = moved(at.start)..moved(at.end);
            }
        }
        let patch = Patch::new(at, edit.text.as_str());
        Snippet::source(text).path(fix.file.as_str()).patch(patch)
    });
    Some(Level::HELP.secondary_title(help).elements(changes))
}

/// The lines, where their files are known; nothing where one is not.
fn snippets<'a>(places: &'a [(Cow<'_, CallAt>, String)], sources: &'a Sources) -> Vec<Element<'a>> {
    let mut files: BTreeMap<&str, Snippet<'a, _>> = BTreeMap::new();
    let mut order: Vec<&str> = Vec::new();
    for (index, (call, label)) in places.iter().enumerate() {
        let Some((file, source)) = source(call, sources) else { return Vec::new() };
        let Some(span) = span(call, source) else { return Vec::new() };
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let snippet = files.remove(file).unwrap_or_else(|| {
            order.push(file);
            Snippet::source(source).path(file)
        });
        files.insert(file, snippet.annotation(kind.span(span).label(label.as_str())));
    }
    order.iter().filter_map(|file| files.remove(file)).map(Element::from).collect()
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
            let length = text[at..].find(|c| !is_word(c)).unwrap_or(text.len() - at);
            (at, at + length.max(1))
        }
        None => (indent, text.len()),
    };
    Some(start + from..start + to)
}
