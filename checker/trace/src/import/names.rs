//! Names that occur again and again, each kept once.

use std::collections::HashMap;

/// A name, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(u32);

impl Name {
    /// Its number.
    pub(super) fn index(self) -> i64 {
        i64::from(self.0)
    }
}

/// Names in the order of their first occurrence.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: HashMap<Box<str>, Name>,
    texts: Vec<Box<str>>,
    last: Option<Name>,
}

impl Names {
    /// The number of a name, given as valid UTF-8 (anything else is replaced).
    pub(super) fn number(&mut self, text: &[u8]) -> Name {
        // Rows of one thread often come together and have the same name.
        if let Some(last) = self.last
            && self.text(last).as_bytes() == text
        {
            return last;
        }
        let text = String::from_utf8_lossy(text);
        let name = match self.known.get(&*text) {
            Some(&name) => name,
            None => {
                let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
                self.known.insert((*text).into(), name);
                self.texts.push((*text).into());
                name
            }
        };
        self.last = Some(name);
        name
    }

    /// The name of this number, if there is one.
    pub(super) fn nth(&self, index: u32) -> Option<&str> {
        self.texts.get(index as usize).map(|text| &**text)
    }

    /// The name of a number.
    pub(super) fn text(&self, name: Name) -> &str {
        &self.texts[name.0 as usize]
    }
}
