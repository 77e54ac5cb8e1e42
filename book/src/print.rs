//! The ways to standard output and standard error.

use std::io::Write as _;

/// A line of output. A closed pipe is no reason to complain.
pub(crate) fn print(line: &str) {
    _ = writeln!(std::io::stdout(), "{line}");
}

/// An error, with what led to it.
pub(crate) fn print_error(error: &anyhow::Error) {
    _ = writeln!(std::io::stderr(), "error: {error:#}");
}
