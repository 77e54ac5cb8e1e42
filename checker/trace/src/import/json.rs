//! JSON as a stream of tokens, out of a buffer of fixed size.
//!
//! Written here because of three needs that meet: bounded memory for files larger than it, decimal
//! numbers exact beyond what an `f64` holds, and a place for every complaint. Nothing but what the
//! reader wants is kept or copied; the rest is checked to be JSON and dropped. `NaN` and
//! `Infinity`, which Python writes, are taken as numbers.

use std::io::{ErrorKind, Read};

use super::number;
use super::{Error, Position, Problem};

/// Bytes read at once, and the longest token that is looked at in place.
const BUFFER: usize = 128 * 1024;

/// Bytes of a string that are kept; the longest kernel names of C++ templates have a few thousand.
const MOST_KEPT: usize = 16 * 1024;

/// The sign for a character that is none.
const REPLACED: &str = "\u{fffd}";

/// How deep values may be nested; traces need 5.
const MOST_NESTED: usize = 512;

/// Characters of a number; more digits than these mean nothing in any trace.
const MOST_DIGITS: usize = 400;

/// Kinds of values that may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Object,
    Array,
    String,
    Number,
    Word,
}

/// Whether a list of members or elements has had its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    First,
    Later,
}

/// The thing that a value is inside of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Object,
    Array,
}

/// Reads tokens.
pub(super) struct Tokens<'a> {
    /// No type parameter: code that is generic is compiled, and optimised or not, with its user.
    source: &'a mut dyn Read,
    buffer: Box<[u8]>,
    /// The next byte, and the first that was not filled.
    at: usize,
    end: usize,
    /// Bytes before the first of the buffer.
    passed: u64,
    /// Lines before this one, and the offset at which it starts. Only white space holds newlines.
    lines: u64,
    line_start: u64,
    limit: u64,
    scratch: Vec<u8>,
    stack: Vec<Inside>,
    pub(super) mended: Mended,
}

/// Faults against JSON that were read all the same: profilers write names as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mended {
    /// Backslashes that escape nothing, control characters, and bytes that are no UTF-8.
    pub(super) characters: u64,
    /// Whether the list of rows has no end.
    pub(super) unclosed: bool,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a mut dyn Read, limit: u64) -> Self {
        Self {
            source,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            at: 0,
            end: 0,
            passed: 0,
            lines: 0,
            line_start: 0,
            limit,
            scratch: Vec::new(),
            stack: Vec::new(),
            mended: Mended::default(),
        }
    }

    /// The kind of the next value; it is not consumed.
    pub(super) fn next(&mut self) -> Result<Next, Error> {
        match self.token()? {
            Some(b'{') => Ok(Next::Object),
            Some(b'[') => Ok(Next::Array),
            Some(b'"') => Ok(Next::String),
            Some(b'-' | b'0'..=b'9') => Ok(Next::Number),
            Some(b'a'..=b'z' | b'A'..=b'Z') => Ok(Next::Word),
            _ => Err(self.expected("a value")),
        }
    }

    /// Enters the object or list that comes next.
    pub(super) fn enter(&mut self) {
        self.at += 1;
    }

    /// The next member of an object, its name as `of` understands it; none at the object's end.
    /// The value comes next.
    pub(super) fn member<K>(
        &mut self,
        place: &mut Place,
        of: impl FnOnce(&[u8]) -> K,
    ) -> Result<Option<K>, Error> {
        match (*place, self.token()?) {
            (_, Some(b'}')) => {
                self.at += 1;
                return Ok(None);
            }
            (Place::First, Some(b'"')) => *place = Place::Later,
            (Place::First, _) => return Err(self.expected("the name of a field, or `}`")),
            (Place::Later, Some(b',')) => {
                self.at += 1;
                if self.token()? != Some(b'"') {
                    return Err(self.expected("the name of a field"));
                }
            }
            (Place::Later, _) => return Err(self.expected("`,` or `}`")),
        }
        let key = of(self.string()?);
        self.colon()?;
        Ok(Some(key))
    }

    /// Whether a list has another element, which comes next then.
    pub(super) fn element(&mut self, place: &mut Place) -> Result<bool, Error> {
        match (*place, self.token()?) {
            (_, Some(b']')) => {
                self.at += 1;
                return Ok(false);
            }
            (Place::First, Some(_)) => *place = Place::Later,
            (Place::First, None) => return Err(self.expected("a value, or `]`")),
            (Place::Later, Some(b',')) => self.at += 1,
            (Place::Later, _) => return Err(self.expected("`,` or `]`")),
        }
        Ok(true)
    }

    /// The string that comes next, without its escapes, cut where it is longer than anyone reads.
    pub(super) fn string(&mut self) -> Result<&[u8], Error> {
        let mut ahead = 1;
        loop {
            let from = self.at + ahead;
            let stop = plain(&self.buffer[..self.end], from);
            if stop < self.end {
                if self.buffer[stop] != b'"' {
                    return self.unescaped(stop);
                }
                let first = self.at + 1;
                self.at = stop + 1;
                return Ok(&self.buffer[first..stop]);
            }
            ahead = stop - self.at;
            if ahead == BUFFER {
                return self.unescaped(stop);
            }
            if !self.fill(self.at)? {
                self.at = self.end;
                return Err(self.expected("the end of a string"));
            }
        }
    }

    /// The rest of a string that has more than plain characters from `stop` on, or is long.
    fn unescaped(&mut self, stop: usize) -> Result<&[u8], Error> {
        let mut text = std::mem::take(&mut self.scratch);
        text.clear();
        keep(&mut text, &self.buffer[self.at + 1..stop]);
        self.at = stop;
        let rest = self.characters(|part| keep(&mut text, part));
        text.truncate(whole(&text));
        self.scratch = text;
        rest.map(|()| self.scratch.as_slice())
    }

    /// Goes on to the end of the string that the next byte is in.
    fn characters(&mut self, mut found: impl FnMut(&[u8])) -> Result<(), Error> {
        loop {
            let stop = plain(&self.buffer[..self.end], self.at);
            found(&self.buffer[self.at..stop]);
            self.at = stop;
            match self.peek()? {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape(&mut found)?,
                Some(0x80..) => {
                    let character = self.wide()?;
                    found(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                Some(control @ 0..0x20) => {
                    self.at += 1;
                    if control == b'\n' {
                        self.lines += 1;
                        self.line_start = self.passed + self.at as u64;
                    }
                    self.mended.characters += 1;
                    found(REPLACED.as_bytes());
                }
                // The buffer was filled again.
                Some(_) => {}
                None => return Err(self.expected("the end of a string")),
            }
        }
    }

    /// The character that an escape stands for; a backslash that escapes nothing is itself, as in a
    /// path of Windows.
    fn escape(&mut self, found: &mut impl FnMut(&[u8])) -> Result<(), Error> {
        self.at += 1;
        let character = match self.peek()? {
            Some(plain @ (b'"' | b'\\' | b'/')) => char::from(plain),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.hexadecimal(found);
            }
            Some(_) => {
                self.mended.characters += 1;
                found(b"\\");
                return Ok(());
            }
            None => return Err(self.expected("the end of a string")),
        };
        self.at += 1;
        found(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// The character of the four digits that come next.
    fn hexadecimal(&mut self, found: &mut impl FnMut(&[u8])) -> Result<(), Error> {
        let (mut unit, mut digits) = (0, Vec::with_capacity(4));
        while digits.len() < 4 {
            let byte = self.peek()?;
            let Some(digit) = byte.and_then(|byte| char::from(byte).to_digit(16)) else {
                self.mended.characters += 1;
                found(b"\\u");
                found(&digits);
                return Ok(());
            };
            unit = unit << 4 | digit;
            digits.extend(byte);
            self.at += 1;
        }
        // Halves of a pair are taken apart from each other: names hold none that matter.
        let character = char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER);
        found(character.encode_utf8(&mut [0; 4]).as_bytes());
        Ok(())
    }

    /// A character outside of ASCII; in place of bytes that are none, what stands for them.
    fn wide(&mut self) -> Result<char, Error> {
        let mut bytes = [0; 4];
        let mut length = 1;
        let mut known = 0;
        while known < length {
            let Some(byte) = self.peek()? else { return Err(self.expected("the end of a string")) };
            // A byte that goes on with no character begins another, or ends the string.
            if known > 0 && byte & 0xc0 != 0x80 {
                break;
            }
            bytes[known] = byte;
            known += 1;
            self.at += 1;
            length = match bytes[0] {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
        }
        let text = std::str::from_utf8(&bytes[..known]).ok();
        Ok(text.and_then(|text| text.chars().next()).unwrap_or_else(|| {
            self.mended.characters += 1;
            char::REPLACEMENT_CHARACTER
        }))
    }

    /// The characters of the number that comes next, which is well formed; of `-Infinity`, `-`
    /// alone.
    pub(super) fn number(&mut self) -> Result<&[u8], Error> {
        let mut ahead = 0;
        loop {
            let text = &self.buffer[self.at..self.end];
            let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
            ahead += text[ahead..].iter().take_while(|byte| part(byte)).count();
            if ahead > MOST_DIGITS {
                return Err(self.problem(Problem::LongNumber));
            }
            if self.at + ahead < self.end || !self.fill(self.at)? {
                break;
            }
        }
        let text = self.at..self.at + ahead;
        if &self.buffer[text.clone()] == b"-"
            && matches!(self.buffer[..self.end].get(text.end), Some(b'I' | b'i'))
        {
            self.word()?;
            return Ok(b"-");
        }
        if !number::well_formed(&self.buffer[text.clone()]) {
            return Err(self.expected("a number"));
        }
        self.at = text.end;
        Ok(&self.buffer[text])
    }

    /// The decimal number that comes next, or the one that the string that comes next holds, times
    /// ten to the power of `decimals`, rounded to an integer. Inner `None` where it is neither.
    pub(super) fn scaled(&mut self, decimals: i32) -> Result<Option<i64>, Error> {
        let next = self.next()?;
        if next == Next::Number
            && let Some((length, value)) = number::simple(&self.buffer[self.at..self.end], decimals)
        {
            self.at += length;
            return Ok(Some(value));
        }
        let place = self.position();
        let text = match next {
            Next::Number => self.number()?,
            Next::String => self.string()?,
            _ => return self.skip().map(|()| None),
        };
        match number::scaled(text, decimals) {
            Ok(value) => Ok(value),
            Err(number::TooLarge) => Err(Error::at(place, Problem::HugeNumber)),
        }
    }

    /// Checks and drops the value that comes next.
    pub(super) fn skip(&mut self) -> Result<(), Error> {
        self.stack.clear();
        self.drop_value()?;
        self.drop_rest()
    }

    /// Checks and drops the other members of the object whose member has just been read.
    pub(super) fn leave(&mut self) -> Result<(), Error> {
        self.stack.clear();
        self.stack.push(Inside::Object);
        self.drop_rest()
    }

    /// Goes on until everything on the stack is closed.
    fn drop_rest(&mut self) -> Result<(), Error> {
        while let Some(&inside) = self.stack.last() {
            match (inside, self.token()?) {
                (Inside::Object, Some(b'}')) | (Inside::Array, Some(b']')) => {
                    self.at += 1;
                    self.stack.pop();
                }
                (_, Some(b',')) => {
                    self.at += 1;
                    if inside == Inside::Object {
                        self.drop_name("the name of a field")?;
                    }
                    self.drop_value()?;
                }
                (Inside::Object, _) => return Err(self.expected("`,` or `}`")),
                (Inside::Array, _) => return Err(self.expected("`,` or `]`")),
            }
        }
        Ok(())
    }

    /// Drops a value; of an object or a list that is not empty, up to its first value that is none.
    fn drop_value(&mut self) -> Result<(), Error> {
        loop {
            match self.next()? {
                Next::String => return self.drop_string(),
                Next::Number => {
                    match number::simple(&self.buffer[self.at..self.end], 0) {
                        Some((length, _)) => self.at += length,
                        None => drop(self.number()?),
                    }
                    return Ok(());
                }
                Next::Word => return self.word(),
                Next::Object => {
                    self.at += 1;
                    if self.token()? == Some(b'}') {
                        self.at += 1;
                        return Ok(());
                    }
                    self.drop_name("the name of a field, or `}`")?;
                    self.stack.push(Inside::Object);
                }
                Next::Array => {
                    self.at += 1;
                    if self.token()? == Some(b']') {
                        self.at += 1;
                        return Ok(());
                    }
                    self.stack.push(Inside::Array);
                }
            }
            if self.stack.len() > MOST_NESTED {
                return Err(self.problem(Problem::Nested { most: MOST_NESTED }));
            }
        }
    }

    fn drop_name(&mut self, what: &'static str) -> Result<(), Error> {
        if self.token()? != Some(b'"') {
            return Err(self.expected(what));
        }
        self.drop_string()?;
        self.colon()
    }

    fn drop_string(&mut self) -> Result<(), Error> {
        self.at += 1;
        self.characters(|_| {})
    }

    /// `true`, `false`, `null`, and what Python and C++ write for numbers that are none.
    fn word(&mut self) -> Result<(), Error> {
        const WORDS: [&[u8]; 12] = [
            b"true",
            b"false",
            b"null",
            b"NaN",
            b"nan",
            b"Infinity",
            b"inf",
            b"-Infinity",
            b"-inf",
            b"N/A",
            b"n/a",
            b"None",
        ];
        let place = self.position();
        let mut text = [0; 10];
        let mut length = 0;
        while let Some(byte @ (b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'/')) = self.peek()? {
            if length == text.len() {
                break;
            }
            text[length] = byte;
            length += 1;
            self.at += 1;
        }
        if WORDS.contains(&&text[..length]) {
            return Ok(());
        }
        let found = String::from_utf8_lossy(&text[..length]).into_owned();
        Err(Error::at(place, Problem::Expected { what: "a value", found: Some(found) }))
    }

    fn colon(&mut self) -> Result<(), Error> {
        if self.token()? != Some(b':') {
            return Err(self.expected("`:`"));
        }
        self.at += 1;
        Ok(())
    }

    /// Refuses anything more.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        match self.token()? {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the file")),
        }
    }

    /// The next byte that is no white space; none at the end of the file. It is not consumed.
    #[inline]
    fn token(&mut self) -> Result<Option<u8>, Error> {
        match self.buffer[..self.end].get(self.at) {
            Some(&byte) if byte > b' ' => Ok(Some(byte)),
            _ => self.after_space(),
        }
    }

    fn after_space(&mut self) -> Result<Option<u8>, Error> {
        loop {
            for (index, byte) in self.buffer[self.at..self.end].iter().enumerate() {
                match byte {
                    b'\n' => {
                        self.lines += 1;
                        self.line_start = self.passed + (self.at + index) as u64 + 1;
                    }
                    b' ' | b'\t' | b'\r' => {}
                    byte => {
                        self.at += index;
                        return Ok(Some(*byte));
                    }
                }
            }
            self.at = self.end;
            if !self.fill(self.end)? {
                return Ok(None);
            }
        }
    }

    /// The next byte; none at the end of the file. It is not consumed.
    fn peek(&mut self) -> Result<Option<u8>, Error> {
        if self.at == self.end && !self.fill(self.end)? {
            return Ok(None);
        }
        Ok(Some(self.buffer[self.at]))
    }

    /// Reads on, keeping the bytes from `kept` on, which `at` must not lie before; says whether
    /// there was anything.
    fn fill(&mut self, kept: usize) -> Result<bool, Error> {
        self.buffer.copy_within(kept..self.end, 0);
        self.passed += kept as u64;
        self.at -= kept;
        self.end -= kept;
        let read = loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(read) => break read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    return Err(self.problem(Problem::Truncated { what: Problem::GZIP }));
                }
                Err(error) => return Err(self.problem(Problem::Read(error))),
            }
        };
        self.end += read;
        if self.passed + self.end as u64 > self.limit {
            return Err(self.problem(Problem::TooLong { limit: self.limit }));
        }
        Ok(read > 0)
    }

    /// Where the next byte is.
    pub(super) fn position(&self) -> Position {
        let offset = self.passed + self.at as u64;
        Position { line: self.lines + 1, column: offset - self.line_start + 1 }
    }

    fn problem(&self, problem: Problem) -> Error {
        Error::at(self.position(), problem)
    }

    /// Something else than `what` comes next, or nothing does.
    pub(super) fn expected(&self, what: &'static str) -> Error {
        let Some(&byte) = self.buffer[..self.end].get(self.at) else {
            return self.problem(Problem::Truncated { what });
        };
        if byte >= 0x80 {
            return self.problem(Problem::NotText { byte });
        }
        let found = match char::from(byte) {
            visible @ ' '..='~' => visible.to_string(),
            control => control.escape_default().to_string(),
        };
        let found = Some(found);
        self.problem(Problem::Expected { what, found })
    }
}

/// Adds as much of `part` as there is room for.
fn keep(text: &mut Vec<u8>, part: &[u8]) {
    let room = MOST_KEPT - text.len();
    text.extend_from_slice(&part[..part.len().min(room)]);
}

/// How many bytes of `text` are whole characters: a cut may have gone through one.
fn whole(text: &[u8]) -> usize {
    match std::str::from_utf8(text) {
        Ok(_) => text.len(),
        Err(error) => error.valid_up_to(),
    }
}

/// The first place from `from` on that holds a quote, a backslash, a control character or a byte
/// outside of ASCII; the length where none does. Eight bytes at a time: most of a trace is names.
fn plain(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The highest bit of each byte that is 0, and perhaps of bytes above one that is.
    let zero = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    let mut at = from;
    while let Some(chunk) = bytes[at..].first_chunk() {
        let word = u64::from_le_bytes(*chunk);
        let special = zero(word ^ (ONES * u64::from(b'"')))
            | zero(word ^ (ONES * u64::from(b'\\')))
            | (word.wrapping_sub(ONES * 0x20) & !word & HIGH)
            | word & HIGH;
        if special != 0 {
            return at + (special.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    let ordinary = |byte: &u8| matches!(byte, 0x20..=0x7f) && !matches!(byte, b'"' | b'\\');
    at + bytes[at..].iter().take_while(|byte| ordinary(byte)).count()
}
