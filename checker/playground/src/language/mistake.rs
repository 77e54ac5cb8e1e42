//! Mistakes in a text, with their places.

use std::fmt;

/// Where something stands in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Line, from 1.
    pub line: u32,
    /// Character of the line, from 1.
    pub column: u32,
}

/// Something that cannot be understood, with what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub at: At,
    /// The mistake, and what to write.
    pub text: String,
}

impl Mistake {
    pub(super) fn new(at: At, text: impl Into<String>) -> Self {
        Self { at, text: text.into() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.at.line, self.at.column, self.text)
    }
}

/// The one of `known` that `word` is most likely meant to be: at most two letters are wrong in it,
/// or one in a short word, or they stand in another order.
pub(super) fn meant<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = if word.len() > 4 { 2 } else { 1 };
    let near = known.into_iter().map(|it| match letters(word) == letters(it) {
        true => (1, it),
        false => (distance(word, it), it),
    });
    near.filter(|&(off, _)| off <= most).min_by_key(|&(off, _)| off).map(|(_, it)| it)
}

/// How often each letter of the alphabet stands in a word.
fn letters(word: &str) -> [u8; 26] {
    let mut count = [0; 26];
    for letter in word.bytes().filter(u8::is_ascii_lowercase) {
        count[usize::from(letter - b'a')] += 1;
    }
    count
}

/// How many letters have to be put in, left out or changed to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (place, letter) in from.chars().enumerate() {
        let mut before = row[0];
        row[0] = place + 1;
        for at in 0..to.len() {
            let changed = before + usize::from(to[at] != letter);
            before = row[at + 1];
            row[at + 1] = changed.min(before + 1).min(row[at] + 1);
        }
    }
    row[to.len()]
}
