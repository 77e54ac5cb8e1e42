//! Exit codes, and which of them an error stands for.

use std::fmt;
use std::process::ExitCode;

use crate::grade::Verdict;
use sandbox::interrupt::Interrupted;

/// Exit codes of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Passed, or nothing was graded and nothing went wrong.
    Passed = 0,
    /// A gate failed or the score is too low: something for the student to change.
    Failed = 1,
    /// The command line names something that does not exist.
    Usage = 2,
    /// The measurements spread too far for a verdict.
    Inconclusive = 3,
    /// Trouble of ours or of the machine's; never the student's.
    Error = 4,
    /// A submission lacks files or holds forbidden ones.
    Rejected = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<Verdict> for Exit {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passed => Self::Passed,
            Verdict::Failed => Self::Failed,
            Verdict::Inconclusive => Self::Inconclusive,
            Verdict::Error => Self::Error,
            Verdict::Rejected => Self::Rejected,
        }
    }
}

/// An error that the one who typed the command can mend by typing another.
#[derive(Debug)]
pub struct Usage(pub String);

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The exit that an error stands for.
pub fn of_error(error: &anyhow::Error) -> Exit {
    if let Some(interrupted) = error.downcast_ref::<Interrupted>() {
        interrupted.raise_again();
    }
    if error.is::<Usage>() || error.is::<sandbox::UnknownLayer>() {
        Exit::Usage
    } else {
        Exit::Error
    }
}
