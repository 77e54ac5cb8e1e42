//! The only way to standard output and standard error, so that `--json` stays one object.

use std::io::{self, IsTerminal, Write};

/// Writes `text` to standard output. A reader that went away (`| head`) is no error.
pub(crate) fn out(text: &str) {
    write(io::stdout().lock(), text);
}

/// Writes `text` to standard error.
pub(crate) fn err(text: &str) {
    write(io::stderr().lock(), text);
}

/// Writes `value` to standard output as one JSON object on lines of its own.
pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    out(&format!("{text}\n"));
    Ok(())
}

/// Writes an error with its causes to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    err(&format!("error: {}\n", chain(error)));
}

/// An error with its causes, on one line as far as they are; what to do about it comes last.
pub(crate) fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut hints = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let (cause, hint) = match cause.split_once(HINT) {
            Some((cause, hint)) => (cause, Some(hint)),
            None => (cause.as_str(), None),
        };
        hints.extend(hint.map(|hint| format!("{HINT}{}", hint.trim_end())));
        // A cause often repeats what it caused; said once is enough.
        if text.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause.trim_end());
    }
    text + &hints
}

/// What stands between an error and the next step.
const HINT: &str = "\n\nhint: ";

fn write(mut stream: impl Write, text: &str) {
    // Nothing is left to tell anyone if this fails.
    _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// How text may look on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// Letters alone: in a pipe, with `NO_COLOR`, with `--plain`.
    Plain,
    /// ANSI colours.
    Colour,
}

impl Style {
    /// The style for standard output, as the terminal and the environment have it.
    pub(crate) fn of_stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// The style for standard error.
    pub(crate) fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Self {
        // https://no-color.org: any value but the empty one.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        if terminal && !refused { Self::Colour } else { Self::Plain }
    }

    /// `text` in bold.
    pub(crate) fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// `text` in green.
    pub(crate) fn good(self, text: &str) -> String {
        self.wrap("32;1", text)
    }

    /// `text` in red.
    pub(crate) fn bad(self, text: &str) -> String {
        self.wrap("31;1", text)
    }

    /// `text` in yellow.
    pub(crate) fn unsure(self, text: &str) -> String {
        self.wrap("33;1", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Columns of a drawing where standard output is no terminal.
const COLUMNS_IN_A_PIPE: usize = 80;
/// A wider drawing is harder to read, not easier.
const COLUMNS_AT_MOST: usize = 100;

/// How many columns a drawing on standard output may take.
pub(crate) fn columns() -> usize {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` and nothing else; it fails on anything but a terminal.
    let result = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    if result != 0 || size.ws_col == 0 {
        return COLUMNS_IN_A_PIPE;
    }
    usize::from(size.ws_col).min(COLUMNS_AT_MOST)
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn the_next_step_comes_after_all_causes() {
        let error = Err::<(), _>(anyhow!("no such file"))
            .context("cannot read `a`\n\nhint: make it")
            .context("cannot start")
            .unwrap_err();
        assert_eq!(chain(&error), "cannot start: cannot read `a`: no such file\n\nhint: make it");
    }
}
