//! The elements of one page.

use std::cell::RefCell;

use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
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
}

impl Element {
    /// The value of an attribute.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// The elements of a page, in order.
pub fn elements(html: &str) -> Vec<Element> {
    let input = BufferQueue::default();
    input.push_back(html.into());
    let tokenizer = Tokenizer::new(Sink::default(), TokenizerOpts::default());
    _ = tokenizer.feed(&input);
    tokenizer.end();
    tokenizer.sink.0.into_inner()
}

#[derive(Default)]
struct Sink(RefCell<Vec<Element>>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, line: u64) -> TokenSinkResult<()> {
        let Token::TagToken(Tag { kind: TagKind::StartTag, name, attrs, .. }) = token else {
            return TokenSinkResult::Continue;
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
        self.0.borrow_mut().push(Element { line, name, attributes });
        raw
    }
}

impl Sink {
    /// Whether the page's own title has passed: in drawings a title is an element like others.
    fn in_drawing(&self) -> bool {
        self.0.borrow().iter().any(|element| element.name == "body")
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
