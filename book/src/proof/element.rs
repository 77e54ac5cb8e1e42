//! The elements of one page.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

/// The start of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Its line, from 1.
    pub line: usize,
    /// Its name.
    pub name: String,
    /// Its attributes.
    pub attributes: Vec<(String, String)>,
    /// Whether it ends where it starts, as in drawings.
    pub closed: bool,
}

impl Element {
    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// A part of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// An element starts.
    Start(Element),
    /// One of that name ends.
    End(String),
    /// The text between.
    Text(String),
}

/// The elements of a page, in order.
pub fn elements(html: &str) -> Vec<Element> {
    let started = tokens(html).into_iter().filter_map(|token| match token {
        Token::Start(element) => Some(element),
        _ => None,
    });
    started.collect()
}

/// The elements of a page and what stands between, in order.
pub fn tokens(html: &str) -> Vec<Token> {
    let input = BufferQueue::default();
    input.push_back(html.into());
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

#[derive(Default)]
struct Sink(RefCell<Vec<Token>>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: html5ever::tokenizer::Token, line: u64) -> TokenSinkResult<()> {
        let Tag { name, attrs, self_closing: closed, .. } = match token {
            html5ever::tokenizer::Token::TagToken(tag) if tag.kind == TagKind::StartTag => tag,
            html5ever::tokenizer::Token::TagToken(tag) => {
                self.0.borrow_mut().push(Token::End(tag.name.to_string()));
                return TokenSinkResult::Continue;
            }
            html5ever::tokenizer::Token::CharacterTokens(text) => {
                self.0.borrow_mut().push(Token::Text(text.to_string()));
                return TokenSinkResult::Continue;
            }
            _ => return TokenSinkResult::Continue,
        };
        let attributes = attrs.iter();
        let attributes =
            attributes.map(|a| (a.name.local.to_string(), a.value.to_string())).collect();
        let line = usize::try_from(line).unwrap_or(usize::MAX);
        let name = name.to_string();
        let raw = match name.as_str() {
            "script" => TokenSinkResult::RawData(RawKind::ScriptData),
            "style" | "noframes" | "xmp" | "iframe" => TokenSinkResult::RawData(RawKind::Rawtext),
            "textarea" | "title" if !self.in_drawing() => TokenSinkResult::RawData(RawKind::Rcdata),
            _ => TokenSinkResult::Continue,
        };
        self.0.borrow_mut().push(Token::Start(Element { line, name, attributes, closed }));
        raw
    }
}

impl Sink {
    /// Whether the page's own title has passed: in drawings a title is an element like others.
    fn in_drawing(&self) -> bool {
        let body = |token: &Token| matches!(token, Token::Start(element) if element.name == "body");
        self.0.borrow().iter().any(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_their_lines_and_scripts_have_no_elements() {
        let html = "<p id=a>\n<script>'<b>'</script>\n<a href='x?a=1&amp;b'>";
        let found = elements(html);
        let names: Vec<_> = found.iter().map(|e| (e.name.as_str(), e.line)).collect();
        assert_eq!(names, [("p", 1), ("script", 2), ("a", 3)]);
        assert_eq!(found[2].get("href"), Some("x?a=1&b"));
    }
}
