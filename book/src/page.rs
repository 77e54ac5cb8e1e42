//! One chapter as its author wrote it, and the blocks in it.

use std::ops::Range;
use std::path::{Path, PathBuf};

use mdbook_markdown::pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use mdbook_markdown::{MarkdownOptions, new_cmark_parser};
use serde::de::DeserializeOwned;

use crate::problem::{Problem, line_at};
use crate::records::Records;

/// A chapter, and what is needed to say where something in it is wrong.
pub struct Page<'a> {
    /// The book's folder.
    pub root: &'a Path,
    /// The chapter's file.
    pub file: PathBuf,
    /// The recorded runs.
    pub records: &'a Records,
    /// The problems so far.
    pub problems: Vec<Problem>,
}

/// A fenced block.
#[derive(Clone, Debug)]
pub struct Fence {
    /// Its lines.
    pub body: String,
    /// Where it lies in the text.
    pub range: Range<usize>,
    /// The line of its opening fence, from 1.
    pub line: usize,
}

/// `{{#name argument}}`.
#[derive(Clone, Debug)]
pub struct Directive {
    /// The text after the name.
    pub argument: String,
    /// Where it lies in the text.
    pub range: Range<usize>,
    /// Its line, from 1.
    pub line: usize,
}

/// A page as `SUMMARY.md` lists it.
#[derive(Clone, Debug)]
pub struct Listed {
    /// Its title there.
    pub title: String,
    /// Its file's name, without the ending.
    pub name: String,
}

impl<'a> Page<'a> {
    /// A page without problems yet.
    pub fn new(root: &'a Path, file: PathBuf, records: &'a Records) -> Self {
        Self { root, file, records, problems: Vec::new() }
    }

    /// The chapter's name: its file's, without the ending.
    pub fn name(&self) -> String {
        self.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Notes that something is wrong in a line of this page.
    pub fn complain(&mut self, line: usize, message: impl Into<String>) {
        self.problems.push(Problem::new(self.root, &self.file, line, message.into()));
    }

    /// Notes what is wrong, if anything is.
    pub fn note<T>(&mut self, line: usize, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.complain(line, message)).ok()
    }

    /// A file that a block names, relative to the folder of the chapter as in mdBook's own
    /// includes.
    pub fn beside(&self, path: &str) -> PathBuf {
        self.file.parent().unwrap_or(self.root).join(path)
    }

    /// All pages of the book, in its order.
    pub fn contents(&mut self, line: usize) -> Option<Vec<Listed>> {
        let summary = std::fs::read_to_string(self.beside("SUMMARY.md"))
            .map_err(|error| format!("cannot read `SUMMARY.md`: {error}"));
        let summary = self.note(line, summary)?;
        let pages = summary.split('[').filter_map(|link| {
            let (title, rest) = link.split_once("](")?;
            let (name, _) = rest.split_once(".md)")?;
            Some(Listed { title: title.to_owned(), name: name.to_owned() })
        });
        Some(pages.collect())
    }

    /// The TOML of a fence. Keys that are unknown, missing or of the wrong type are noted with
    /// their line.
    pub fn parse<T: DeserializeOwned>(&mut self, fence: &Fence) -> Option<T> {
        toml::from_str(&fence.body)
            .map_err(|error| {
                let within = error.span().map_or(0, |span| line_at(&fence.body, span.start));
                self.complain(fence.line + within, error.message());
            })
            .ok()
    }

    /// `text` with each `{{#value RECORD METRIC}}` in it replaced by the number.
    pub fn values(&mut self, line: usize, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        while let Some(start) = rest.find("{{#value ") {
            let Some(length) = rest[start..].find("}}") else { break };
            out.push_str(&rest[..start]);
            let argument = &rest[start + "{{#value ".len()..start + length];
            let value = self.records.value(argument);
            let value = self.note(line, value).unwrap_or_default();
            rest = &rest[start + length + 2..];
            let value = as_text(&out, value, rest);
            out.push_str(&value);
        }
        out + rest
    }
}

/// The fenced blocks of one language, in order.
pub fn fences(text: &str, language: &str) -> Vec<Fence> {
    let mut fences = Vec::new();
    let mut open: Option<Fence> = None;
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if *info == *language => {
                let line = line_at(text, range.start);
                open = Some(Fence { body: String::new(), range, line });
            }
            Event::Text(part) => {
                if let Some(fence) = &mut open {
                    fence.body.push_str(&part);
                }
            }
            Event::End(TagEnd::CodeBlock) => fences.extend(open.take()),
            _ => {}
        }
    }
    fences
}

/// The directives of one name that do not stand in code, in order.
pub fn directives(text: &str, name: &str) -> Vec<Directive> {
    let code = code(text);
    let start = format!("{{{{#{name} ");
    let found = text.match_indices(&start).filter_map(|(at, _)| {
        let end = at + text[at..].find("}}")?;
        let escaped = text[..at].ends_with('\\') || code.iter().any(|range| range.contains(&at));
        let argument = text[at + start.len()..end].trim().to_owned();
        (!escaped).then(|| Directive { argument, range: at..end + 2, line: line_at(text, at) })
    });
    found.collect()
}

/// Where `text` is code, in blocks or in a line.
fn code(text: &str) -> Vec<Range<usize>> {
    let code = |event: &Event<'_>| {
        matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))))
    };
    events(text).filter(|(event, _)| code(event)).map(|(_, range)| range).collect()
}

/// The events of a text in Markdown, parsed as mdBook does it.
pub fn events(text: &str) -> impl Iterator<Item = (Event<'_>, Range<usize>)> {
    new_cmark_parser(text, &MarkdownOptions::default()).into_offset_iter()
}

/// `text` with each range replaced.
pub fn replace(text: &str, mut parts: Vec<(Range<usize>, String)>) -> String {
    parts.sort_by_key(|(range, _)| range.start);
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for (range, part) in parts {
        out.push_str(&text[done..range.start]);
        out.push_str(&part);
        done = range.end;
    }
    out + &text[done..]
}

/// A number as it stands between two texts in Markdown: `625.` at the start of a line would begin a
/// list.
pub fn as_text(before: &str, mut number: String, after: &str) -> String {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let starts = line.trim_start_matches([' ', '>', '-', '*']).is_empty();
    if starts && after.starts_with(['.', ')']) && number.bytes().all(|b| b.is_ascii_digit()) {
        number.push('\\');
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_their_lines_and_not_inside_other_code() {
        let text = "a\n\n```figure\nid = 1\n```\n\n````md\n```figure\n```\n````\n\nb {{#value x}} `{{#value y}}`\n";
        let found = fences(text, "figure");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].body.as_str()), (3, "id = 1\n"));
        let found = directives(text, "value");
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].line, found[0].argument.as_str()), (12, "x"));
    }
}
