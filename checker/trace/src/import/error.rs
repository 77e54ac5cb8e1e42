//! Errors in a file: the place, and what to do about it.

use std::fmt;
use std::io;

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: u64,
    /// Byte in the line, from 1.
    pub column: u64,
}

/// A file that cannot be read as a trace.
#[derive(Debug)]
pub struct Error {
    /// Where, as far as it has a place.
    pub place: Option<Position>,
    /// What.
    pub problem: Problem,
}

/// Kinds of errors in a file.
#[derive(Debug)]
pub enum Problem {
    /// Something else than expected.
    Expected {
        /// The thing that should be there.
        what: &'static str,
        /// The thing that is there.
        found: Option<String>,
    },
    /// Inside of the outermost object, an object without a name.
    Nameless {
        /// The thing that should be there.
        what: &'static str,
    },
    /// The file ends.
    Truncated {
        /// The thing that should have come.
        what: &'static str,
    },
    /// A byte that is no UTF-8.
    NotText {
        /// The byte.
        byte: u8,
    },
    /// A number that no time or identifier can be.
    HugeNumber,
    /// A number of hundreds of digits.
    LongNumber,
    /// Values inside of values beyond all need.
    Nested {
        /// How many are read.
        most: usize,
    },
    /// More text than is read.
    TooLong {
        /// How many bytes are read.
        limit: u64,
    },
    /// A whole object without `traceEvents`.
    NoEvents,
    /// The source failed.
    Read(io::Error),
}

impl Problem {
    /// The thing that should have come where a gzip ends too early.
    pub(super) const GZIP: &str = "the end of the gzip data";
}

impl Error {
    pub(super) fn at(place: Position, problem: Problem) -> Self {
        Self { place: Some(place), problem }
    }

    /// Whether the text ends there, and not only what it was packed in.
    pub(super) fn is_at_the_end(&self) -> bool {
        matches!(self.problem, Problem::Truncated { what } if what != Problem::GZIP)
    }

    /// Advice on what to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match &self.problem {
            Problem::Nameless { .. } => {
                "profilers of 2023 lose the line `\"deviceProperties\": [`; put it in before this one"
            }
            Problem::Truncated { .. } => {
                "the file ends too early and nothing of it is analysed; was it copied whole, did its \
                 program end before the profiler did?"
            }
            Problem::NotText { .. } => "a trace is JSON in UTF-8, or a gzip of it",
            Problem::TooLong { .. } => "`--limit` takes more, such as `--limit 8GiB`",
            Problem::NoEvents => {
                "a trace is an object with a list `traceEvents`, as \
                 `torch.profiler.profile.export_chrome_trace` writes it"
            }
            Problem::Expected { found: Some(found), .. } if found == "," || found == "]" => {
                "look for a comma too many before it"
            }
            Problem::Expected { .. } => {
                "a profiler may have written a name with quotes in it, which nobody can tell from its end: look \
                 at the name before this place"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.problem {
            Problem::Expected { what, found: Some(found) } => {
                write!(f, "expected {what}, found `{found}`")
            }
            Problem::Expected { what, found: None } => write!(f, "expected {what}"),
            Problem::Nameless { what } => write!(f, "expected {what}, found `{{`"),
            Problem::Truncated { what } => {
                write!(f, "truncated: the file ends where {what} should be")
            }
            Problem::NotText { byte } => write!(f, "byte 0x{byte:02x} is no UTF-8 here"),
            Problem::HugeNumber => f.write_str("this number is larger than any time or identifier"),
            Problem::LongNumber => f.write_str("this number has hundreds of digits"),
            Problem::Nested { most } => write!(f, "values are nested more than {most} deep"),
            Problem::TooLong { limit } => write!(f, "the text is longer than {limit} bytes"),
            Problem::NoEvents => f.write_str("there is no list `traceEvents`"),
            Problem::Read(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.problem {
            Problem::Read(error) => Some(error),
            _ => None,
        }
    }
}
