//! From the text to statements.

use trace::timeline::in_order;
use trace::words::contains;

use super::lexer::{Kind, Token, tokens};
use super::mistake::{At, Mistake, meant};
use super::number::Number;
use super::syntax::{Amount, Name, Statement, Sum, What};

pub(super) type Parsed<T> = Result<T, Mistake>;

/// Every word that a line may begin with, as the grammar writes it.
pub(super) const CALLS: [&str; 20] = [
    "up", "down", "copy", "memset", "kernel", "record", "wait", "sync", "free", "host", "in",
    "repeat", "let", "stream", "event", "device", "pinned", "pageable", "start", "stop",
];

/// Blocks inside blocks, at most: enough for a program that a person reads.
const DEEPEST: usize = 16;

/// The statements of `text`, or all that cannot be read.
pub(super) fn parse(text: &str) -> Result<Vec<Statement>, Vec<Mistake>> {
    let (tokens, mistakes) = tokens(text);
    let mut parser = Parser { tokens, next: 0, depth: 0, mistakes };
    let statements = parser.statements(None);
    if parser.mistakes.is_empty() {
        return Ok(statements);
    }
    Err(in_order(parser.mistakes, |mistake| (mistake.at.line.into(), mistake.at.column)))
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
    mistakes: Vec<Mistake>,
}

/// A token as a sentence shows it.
fn shown(kind: &Kind) -> String {
    match kind {
        Kind::Word(word) => format!("`{word}`"),
        Kind::Sign(sign) => format!("`{sign}`"),
        Kind::Number(number) => format!("`{}`", number.shown()),
        Kind::End => "the line".to_owned(),
    }
}

impl Parser {
    pub(super) fn peek(&self) -> &Kind {
        self.after(0)
    }

    fn after(&self, tokens: usize) -> &Kind {
        self.tokens.get(self.next + tokens).map_or(&Kind::End, |token| &token.kind)
    }

    pub(super) fn at(&self) -> At {
        let last = self.tokens.last().map(|token| token.at).unwrap_or_default();
        self.tokens.get(self.next).map_or(last, |token| token.at)
    }

    pub(super) fn advance(&mut self) {
        self.next += 1;
    }

    /// The place of the next token, to return to.
    pub(super) fn place(&self) -> usize {
        self.next
    }

    pub(super) fn back_to(&mut self, place: usize) {
        self.next = place;
    }

    fn is_over(&self) -> bool {
        self.next >= self.tokens.len()
    }

    /// The word that comes next, in small letters.
    pub(super) fn word(&self) -> Option<String> {
        match self.peek() {
            Kind::Word(word) => Some(word.to_ascii_lowercase()),
            _ => None,
        }
    }

    /// Whether the next word is one of these; if so, it is taken.
    pub(super) fn takes(&mut self, words: &[&str]) -> bool {
        let found = self.word().is_some_and(|word| words.contains(&word.as_str()));
        self.next += usize::from(found);
        found
    }

    pub(super) fn takes_sign(&mut self, sign: char) -> bool {
        let found = *self.peek() == Kind::Sign(sign);
        self.next += usize::from(found);
        found
    }

    pub(super) fn is_end(&self) -> bool {
        matches!(self.peek(), Kind::End | Kind::Sign('}'))
    }

    pub(super) fn fail<T>(&self, text: impl Into<String>) -> Parsed<T> {
        Err(Mistake::new(self.at(), text))
    }

    /// Fails because of the next token, where something else should be.
    pub(super) fn instead<T>(&self, wanted: &str) -> Parsed<T> {
        match self.peek() {
            Kind::End => self.fail(format!("the line ends too early; write {wanted}")),
            kind => self.fail(format!("{} cannot stand here; write {wanted}", shown(kind))),
        }
    }

    /// Statements up to the brace that closes the one that was opened at `open`, or to the end.
    fn statements(&mut self, open: Option<At>) -> Vec<Statement> {
        let mut statements = Vec::new();
        while !self.is_over() {
            match self.peek() {
                Kind::End => self.advance(),
                Kind::Sign('}') if open.is_some() => {
                    self.advance();
                    return statements;
                }
                Kind::Sign('}') => {
                    self.mistakes
                        .push(Mistake::new(self.at(), "no `{` is open here; leave `}` out"));
                    self.advance();
                }
                _ => match self.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(mistake) => {
                        self.mistakes.push(mistake);
                        self.recover();
                    }
                },
            }
        }
        if let Some(open) = open {
            self.mistakes.push(Mistake::new(
                open,
                "this `{` is never closed; write `}` on a line after the last call",
            ));
        }
        statements
    }

    /// Goes on after a line that could not be read. What it opens is read all the same.
    fn recover(&mut self) {
        while !self.is_over() && !self.is_end() {
            let at = self.at();
            if self.takes_sign('{') {
                _ = self.block(at);
            } else {
                self.advance();
            }
        }
    }

    fn block(&mut self, open: At) -> Parsed<Vec<Statement>> {
        if self.depth == DEEPEST {
            return Err(Mistake::new(
                open,
                format!("more than {DEEPEST} blocks inside one another; write fewer"),
            ));
        }
        self.depth += 1;
        let body = self.statements(Some(open));
        self.depth -= 1;
        Ok(body)
    }

    /// One statement, and the end of its line.
    fn statement(&mut self) -> Parsed<Statement> {
        let statement = self.begun()?;
        if !self.is_end() {
            return match self.peek() {
                Kind::Sign('{') => self.fail("only `repeat` and `in` open a block; leave `{` out"),
                kind => self.fail(format!(
                    "{} is too much here; begin a new line for the next call",
                    shown(kind)
                )),
            };
        }
        Ok(statement)
    }

    fn begun(&mut self) -> Parsed<Statement> {
        let at = self.at();
        let what = match self.word().as_deref() {
            Some("in" | "on") => {
                self.advance();
                let stream = self.name("a stream, as in `in a: up 4 MiB`")?;
                self.inside(stream)?
            }
            Some("repeat" | "loop" | "for" | "times") => {
                self.advance();
                self.repeat()?
            }
            Some("let") => {
                self.advance();
                let Kind::Word(name) = self.peek().clone() else {
                    return self.instead("a name and a number, as in `let n = 4`");
                };
                self.advance();
                if !self.takes_sign('=') {
                    return self.instead("`=` and a number, as in `let n = 4`");
                }
                What::Let { name, value: self.sum()? }
            }
            Some(word) => match self.call(word)? {
                Some(what) => what,
                None if self.is_stream_in_front() => {
                    let stream = self.name("a stream")?;
                    self.inside(stream)?
                }
                None => return Err(Mistake::new(at, unknown(word, self.peek()))),
            },
            None => return self.instead("a call, such as `up 4 MiB` or `kernel 2 ms`"),
        };
        Ok(Statement { at, what })
    }

    /// Whether a name with a colon comes next: `a: up 4 MiB`.
    fn is_stream_in_front(&self) -> bool {
        let line = (0..).map(|ahead| self.after(ahead)).take_while(|&kind| *kind != Kind::End);
        let mut line = line.skip_while(|kind| **kind != Kind::Sign(':'));
        line.next().is_some() && matches!(self.after(1), Kind::Sign(':' | '['))
    }

    /// Parses the rest of the line after `in a`.
    fn inside(&mut self, stream: Name) -> Parsed<What> {
        self.takes_sign(':');
        let open = self.at();
        let body = if self.takes_sign('{') { self.block(open)? } else { vec![self.begun()?] };
        Ok(What::In { stream, body })
    }

    fn repeat(&mut self) -> Parsed<What> {
        let count = self.sum()?;
        self.takes(&["times"]);
        let mut index = "i".to_owned();
        if self.takes(&["as", "with"]) {
            let Kind::Word(word) = self.peek().clone() else {
                return self.instead("a name for the index, as in `repeat 4 as i {`");
            };
            self.advance();
            index = word;
        }
        self.takes_sign(':');
        let open = self.at();
        if !self.takes_sign('{') {
            return self.instead("`{`, as in `repeat 4 {`, and `}` after the last call");
        }
        Ok(What::Repeat { count, index, body: self.block(open)? })
    }

    /// A name, with an index perhaps. `wanted` says what of.
    pub(super) fn name(&mut self, wanted: &str) -> Parsed<Name> {
        let (at, Kind::Word(word)) = (self.at(), self.peek().clone()) else {
            return self.instead(wanted);
        };
        self.advance();
        let mut index = None;
        if self.takes_sign('[') {
            index = Some(self.sum()?);
            if !self.takes_sign(']') {
                return self.instead("`]` behind the index");
            }
        }
        Ok(Name { word, index, at })
    }

    /// Names with commas or `and` between them.
    pub(super) fn list(&mut self, wanted: &str) -> Parsed<Vec<Name>> {
        let mut names = vec![self.name(wanted)?];
        // A comma may also stand before another part of the call.
        while self.takes(&["and"]) || (self.is_name_behind_comma() && self.takes_sign(',')) {
            names.push(self.name(wanted)?);
        }
        Ok(names)
    }

    fn is_name_behind_comma(&self) -> bool {
        let parts =
            ["reads", "writes", "on", "priority", "blocking", "timed", "pinned", "pageable"];
        *self.peek() == Kind::Sign(',')
            && matches!(self.after(1), Kind::Word(word) if !parts.contains(&word.to_ascii_lowercase().as_str()))
    }

    /// Whether a number comes next, and no name.
    pub(super) fn is_sum(&self) -> bool {
        match self.peek() {
            Kind::Number(_) | Kind::Sign('(') => true,
            // After these comes a name, though it may be called `b` or `ms`.
            Kind::Word(word)
                if ["to", "from", "reads", "writes"].contains(&&*word.to_ascii_lowercase()) =>
            {
                false
            }
            Kind::Word(_) => match self.after(1) {
                Kind::Sign(sign) => matches!(sign, '+' | '-' | '*' | '/' | '%'),
                Kind::Word(unit) => unit_of(unit).is_some() || is_counted(unit),
                _ => false,
            },
            _ => false,
        }
    }

    /// A sum, and products in it.
    pub(super) fn sum(&mut self) -> Parsed<Sum> {
        let mut sum = self.product()?;
        while let (at, Kind::Sign(sign @ ('+' | '-'))) = (self.at(), self.peek().clone()) {
            self.advance();
            sum = Sum::Of(Box::new(sum), sign, Box::new(self.product()?), at);
        }
        Ok(sum)
    }

    fn product(&mut self) -> Parsed<Sum> {
        let mut product = self.factor()?;
        while let (at, Kind::Sign(sign @ ('*' | '/' | '%'))) = (self.at(), self.peek().clone()) {
            self.advance();
            product = Sum::Of(Box::new(product), sign, Box::new(self.factor()?), at);
        }
        Ok(product)
    }

    fn factor(&mut self) -> Parsed<Sum> {
        let at = self.at();
        match self.peek().clone() {
            Kind::Number(number) => {
                self.advance();
                Ok(Sum::Number(number, at))
            }
            Kind::Word(word) => {
                self.advance();
                Ok(Sum::Named(word, at))
            }
            Kind::Sign('-') => {
                self.advance();
                let zero = Box::new(Sum::Number(Number::default(), at));
                Ok(Sum::Of(zero, '-', Box::new(self.factor()?), at))
            }
            Kind::Sign('(') if self.depth < DEEPEST => {
                self.advance();
                self.depth += 1;
                let sum = self.sum();
                self.depth -= 1;
                if sum.is_ok() && !self.takes_sign(')') {
                    return self.instead("`)`");
                }
                sum
            }
            _ => self.instead("a number"),
        }
    }

    /// A sum with a unit of bytes or of time, whichever is `wanted`: an example of it.
    pub(super) fn amount(&mut self, of: Unit, wanted: &str) -> Parsed<Amount> {
        let at = self.at();
        if !self.is_sum() && !matches!(self.peek(), Kind::Word(_)) {
            return self.instead(wanted);
        }
        let sum = self.sum()?;
        let unit_at = self.at();
        let Kind::Word(word) = self.peek().clone() else {
            return self.fail(format!("a unit is missing; write {wanted}"));
        };
        match unit_of(&word) {
            Some((kind, unit)) if kind == of => {
                self.advance();
                Ok(Amount { sum, unit, at })
            }
            Some((Unit::Time, _)) => Err(Mistake::new(
                unit_at,
                format!("`{word}` counts time, and a size has to stand here; write {wanted}"),
            )),
            Some((Unit::Size, _)) => Err(Mistake::new(
                unit_at,
                format!("`{word}` counts bytes, and a time has to stand here; write {wanted}"),
            )),
            None => Err(Mistake::new(unit_at, format!("`{word}` is no unit; write {wanted}"))),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    Size,
    Time,
}

/// The unit that a word names, and its size in bytes or ns.
pub(super) fn unit_of(word: &str) -> Option<(Unit, u64)> {
    let (unit, value) = match word.to_ascii_lowercase().as_str() {
        "b" | "byte" | "bytes" => (Unit::Size, 1),
        "kb" => (Unit::Size, 1_000),
        "mb" => (Unit::Size, 1_000_000),
        "gb" => (Unit::Size, 1_000_000_000),
        "kib" => (Unit::Size, 1 << 10),
        "mib" => (Unit::Size, 1 << 20),
        "gib" => (Unit::Size, 1 << 30),
        "ns" => (Unit::Time, 1),
        "us" | "µs" | "μs" => (Unit::Time, 1_000),
        "ms" => (Unit::Time, 1_000_000),
        "s" | "sec" => (Unit::Time, 1_000_000_000),
        _ => return None,
    };
    Some((unit, value))
}

/// Whether a number without a unit may stand before this word.
fn is_counted(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "blocks" | "block" | "rounds" | "round" | "times")
}

/// The message about a line that begins with a word that means nothing.
fn unknown(word: &str, written: &Kind) -> String {
    let written = shown(written);
    if let Some(meant) = meant(word, CALLS) {
        return format!("{written} is no call; did you mean `{meant}`?");
    }
    // What the field calls it elsewhere.
    let elsewhere = [
        ("memcpy", "`up 4 MiB`, or `down 4 MiB`"),
        ("alloc", "`device x 4 MiB`, or `pinned h 4 MiB`"),
        ("synchronize", "`sync`"),
        ("streamcreate", "`stream a`"),
        ("waitevent", "`wait e`"),
        ("eventcreate", "`event e`"),
        ("launch", "`kernel 2 ms`"),
        ("sleep", "`host 1 ms`"),
    ];
    match elsewhere.iter().find(|(part, _)| contains(word, part)) {
        Some((_, write)) => format!("{written} is no call here; write {write}"),
        None => format!("{written} is no call; a line begins with one of {}", CALLS.join(", ")),
    }
}
