//! The prose of a file: paragraphs, items, tables and captions of a chapter, and the texts of a
//! TOML file.

use std::ops::Range;

use mdbook_markdown::pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use toml::de::{DeTable, DeValue};

use crate::page::events;
use crate::problem::line_at;

/// The kind of a piece of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A paragraph.
    Paragraph,
    /// An item of a list.
    Item,
    /// A heading.
    Heading,
    /// A table as a whole.
    Table,
    /// HTML.
    Html,
    /// A text of a block of TOML for the reader, such as a caption.
    Caption,
    /// A fenced block, by its language.
    Block(String),
}

/// A piece of a text.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Its kind.
    pub kind: Kind,
    /// Where it lies in the text, as far as it is in one.
    pub range: Range<usize>,
    /// Its words as they are read, code too: the part of the text, and whether it is code.
    parts: Vec<(String, usize, bool)>,
}

/// A word of a piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it is written, with what stands around it.
    pub text: String,
    /// Its line, from 1.
    pub line: usize,
    /// Whether it is code.
    pub code: bool,
    /// Whether a sentence ends with it.
    pub last: bool,
}

/// Ends a sentence where no full stop does.
const BREAK: char = '\u{3}';

impl Piece {
    fn new(kind: Kind, range: Range<usize>) -> Self {
        Self { kind, range, parts: Vec::new() }
    }

    /// Its words, in order.
    pub fn words(&self) -> Vec<Word> {
        let mut words: Vec<Word> = Vec::new();
        // Whether a word goes on that a part before this one began.
        let mut open = false;
        for (text, line, code) in &self.parts {
            let mut line = *line;
            for c in text.chars() {
                if c == BREAK {
                    if let Some(word) = words.last_mut() {
                        word.last = true;
                    }
                    open = false;
                } else if c.is_whitespace() && !code {
                    open = false;
                    line += usize::from(c == '\n');
                } else if let Some(word) = words.last_mut().filter(|_| open) {
                    word.text.push(c);
                    word.code |= code;
                } else {
                    words.push(Word { text: c.to_string(), line, code: *code, last: false });
                    open = true;
                }
            }
        }
        for index in 0..words.len() {
            let next = words
                .get(index + 1)
                .map(|next| next.text.trim_start_matches(['(', '“', '"', '*', '[']));
            let begins = next.is_none_or(|next| {
                next.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit())
                    || words[index + 1].code
            });
            let word = words[index].text.trim_end_matches([')', '"', '”', '’', ']']);
            let stops = word.ends_with(['.', '?', '!', '…']);
            let short =
                ["e.g.", "i.e.", "vs.", "cf.", "etc."].contains(&word.trim_start_matches('('));
            words[index].last |= begins && stops && !short;
        }
        words
    }
}

/// The pieces of a text in Markdown. Macros count as a word each.
pub fn markdown(text: &str) -> Vec<Piece> {
    let plain = without_macros(text);
    let mut reader = Reader { text: &plain, pieces: Vec::new(), open: None, svg: false };
    for (event, range) in events(&plain) {
        reader.event(event, range);
    }
    reader.close();
    reader.pieces
}

/// A number in place of each macro, as long as it, so that everything stays where it is.
fn without_macros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{#") {
        let Some(length) = rest[start..].find("}}") else { break };
        out.push_str(&rest[..start]);
        out.push('0');
        let inside = &rest[start + 1..start + length + 2];
        out.extend(inside.chars().map(|c| if c == '\n' { c } else { '0' }));
        rest = &rest[start + length + 2..];
    }
    out + rest
}

struct Reader<'a> {
    text: &'a str,
    pieces: Vec<Piece>,
    open: Option<Piece>,
    svg: bool,
}

impl Reader<'_> {
    fn event(&mut self, event: Event<'_>, range: Range<usize>) {
        let in_table = self.open.as_ref().is_some_and(|piece| piece.kind == Kind::Table);
        match event {
            Event::Start(Tag::Paragraph) => self.start(Kind::Paragraph, range),
            Event::Start(Tag::Heading { .. }) => self.start(Kind::Heading, range),
            Event::Start(Tag::Item) => self.start(Kind::Item, range.start..range.start),
            Event::Start(Tag::Table(_)) => self.start(Kind::Table, range),
            Event::Start(Tag::HtmlBlock) => self.start(Kind::Html, range),
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => info.to_string(),
                    CodeBlockKind::Indented => String::new(),
                };
                self.start(Kind::Block(language), range);
            }
            Event::End(TagEnd::TableCell) => self.part(&BREAK.to_string(), range, false),
            Event::End(
                TagEnd::Paragraph
                | TagEnd::Heading(_)
                | TagEnd::Item
                | TagEnd::Table
                | TagEnd::HtmlBlock
                | TagEnd::CodeBlock,
            ) => self.close(),
            Event::Start(Tag::Link { .. }) => self.reach(&range),
            Event::Text(text) => self.part(&text, range, false),
            Event::Code(text) => self.part(&text, range, true),
            Event::SoftBreak | Event::HardBreak => self.part(" ", range, false),
            Event::Html(html) => self.html(&html, range),
            Event::InlineHtml(_) => self.reach(&range),
            _ if in_table => {}
            _ => {}
        }
    }

    fn start(&mut self, kind: Kind, range: Range<usize>) {
        self.close();
        self.open = Some(Piece::new(kind, range));
    }

    fn close(&mut self) {
        let Some(piece) = self.open.take() else { return };
        let empty = piece.parts.is_empty() && piece.kind == Kind::Item;
        if !empty {
            self.pieces.push(piece);
        }
    }

    fn reach(&mut self, range: &Range<usize>) {
        if let Some(piece) = &mut self.open {
            piece.range.end = piece.range.end.max(range.end);
        }
    }

    fn part(&mut self, text: &str, range: Range<usize>, code: bool) {
        if self.open.is_none() {
            // An item goes on below a list inside it.
            self.open = Some(Piece::new(Kind::Item, range.start..range.start));
        }
        self.reach(&range);
        let line = line_at(self.text, range.start);
        let piece = self.open.as_mut().expect("it was opened");
        if !matches!(piece.kind, Kind::Block(_)) {
            piece.parts.push((text.to_owned(), line, code));
        }
    }

    /// Takes in the text of HTML, without its tags, its comments and its drawings.
    fn html(&mut self, html: &str, range: Range<usize>) {
        let mut at = 0;
        while at < html.len() {
            let rest = &html[at..];
            let (length, said) = if rest.starts_with("<!--") {
                (rest.find("-->").map_or(rest.len(), |end| end + 3), false)
            } else if rest.starts_with('<') {
                self.svg = rest.starts_with("<svg") || (self.svg && !rest.starts_with("</svg"));
                (rest.find('>').map_or(rest.len(), |end| end + 1), false)
            } else {
                (rest.find('<').unwrap_or(rest.len()), !self.svg)
            };
            if said && !rest[..length].trim().is_empty() {
                let begin = range.start + at;
                self.part(&rest[..length], begin..begin + length, false);
                self.part(&BREAK.to_string(), begin..begin + length, false);
            }
            at += length;
        }
        self.reach(&range);
    }
}

/// Keys of TOML files and blocks whose texts a reader reads.
const READ: [&str; 8] = ["caption", "ask", "text", "why", "prompt", "context", "answer", "levels"];

/// The pieces of the texts in TOML whose first line is `first`. What cannot be parsed has none.
pub fn toml(source: &str, first: usize) -> Vec<Piece> {
    let Ok(table) = DeTable::parse(source) else { return Vec::new() };
    let mut pieces = Vec::new();
    texts(source, table.get_ref(), first, &mut pieces);
    pieces
}

fn texts(source: &str, table: &DeTable<'_>, first: usize, pieces: &mut Vec<Piece>) {
    for (key, value) in table {
        let read = READ.contains(&key.get_ref().as_ref());
        text(source, value.get_ref(), value.span(), read, first, pieces);
    }
}

fn text(
    source: &str,
    value: &DeValue<'_>,
    span: Range<usize>,
    read: bool,
    first: usize,
    pieces: &mut Vec<Piece>,
) {
    match value {
        DeValue::String(text) if read => {
            let line = line_at(source, span.start) + first - 1;
            for mut piece in markdown(text) {
                for part in &mut piece.parts {
                    part.1 += line - 1;
                }
                piece.kind = Kind::Caption;
                piece.range = 0..0;
                pieces.push(piece);
            }
        }
        DeValue::Array(array) => {
            for value in array.iter() {
                text(source, value.get_ref(), value.span(), read, first, pieces);
            }
        }
        DeValue::Table(table) => texts(source, table, first, pieces),
        _ => {}
    }
}
