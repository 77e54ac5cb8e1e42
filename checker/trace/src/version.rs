//! Refusing a JSON form that this build does not read.

use serde::Deserialize;

use crate::{Record, program, record, timeline};

/// The one field that every form has. A reader parses it first: another version may differ in a
/// way that fails to parse at all, and then the version is what the user needs to hear of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Header {
    /// The version that the text was written in.
    pub version: u32,
}

/// A form was written in a version that this build does not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongVersion {
    /// The thing that was read: `program`, `timeline` or `record`.
    pub what: &'static str,
    /// The version it was written in.
    pub found: u32,
    /// The version that this build reads.
    pub known: u32,
}

impl std::fmt::Display for WrongVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { what, found, known } = self;
        write!(f, "this {what} is of version {found}, but only version {known} can be read\n\n")?;
        if found > known {
            write!(f, "hint: it was written by a newer checker; update yours")
        } else {
            write!(f, "hint: it was written by an older checker; make the {what} again with yours")
        }
    }
}

impl std::error::Error for WrongVersion {}

/// Refuses a `what` of version `found` where this build reads `known`.
pub fn check_version(found: u32, known: u32, what: &'static str) -> Result<(), WrongVersion> {
    if found == known { Ok(()) } else { Err(WrongVersion { what, found, known }) }
}

impl Record {
    /// Refuses a record that is itself of another version, or whose program or timeline is.
    pub fn check_versions(&self) -> Result<(), WrongVersion> {
        check_version(self.version, record::VERSION, "record")?;
        check_version(self.program.version, program::VERSION, "program")?;
        check_version(self.timeline.version, timeline::VERSION, "timeline")
    }
}
