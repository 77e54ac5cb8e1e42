//! Text and numbers, as XML takes them.

use std::fmt;

use crate::words;

/// A length in hundredths of a px, written without trailing zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hundredths(pub(super) u64);

impl fmt::Display for Hundredths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 100, self.0 % 100) {
            (whole, 0) => write!(f, "{whole}"),
            (whole, rest) if rest % 10 == 0 => write!(f, "{whole}.{}", rest / 10),
            (whole, rest) => write!(f, "{whole}.{rest:02}"),
        }
    }
}

/// `text` in a drawing. Control characters, most of which XML cannot hold and some of which would
/// make a blank line, become spaces.
pub(super) fn escape(text: &str) -> String {
    let cannot_stand = |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}');
    words::escape(&text.replace(cannot_stand, " "))
}

/// `id` as an identifier that needs no escape in XML or in CSS.
pub(super) fn identifier(id: &str) -> String {
    let plain = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' });
    let first = id.chars().next();
    let prefix = if first.is_some_and(|c| c.is_ascii_alphabetic()) { "" } else { "t" };
    plain.fold(prefix.to_owned(), |mut id, c| {
        id.push(c);
        id
    })
}

/// About how wide `text` is at a font size, in px, on the safe side: 0.62 of the size to a
/// character, which holds for lower case in the usual sans-serif fonts.
pub(super) fn text_width(text: &str, size: u64) -> u64 {
    (text.chars().count() as u64 * size * 62).div_ceil(100)
}
