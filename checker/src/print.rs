//! The only way to standard output and standard error, so that `--json` stays one object.

use std::io::{self, IsTerminal, Write};

pub use sandbox::chain;

/// Writes `text` to standard output. A reader that went away (`| head`) is no error.
pub fn out(text: &str) {
    write(io::stdout().lock(), text);
}

/// Writes `text` to standard error.
pub fn err(text: &str) {
    write(io::stderr().lock(), text);
}

/// Whether standard output can still be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// It can.
    Present,
    /// It cannot.
    Gone,
}

/// Writes `text` to standard output for one who may go away at any time.
pub fn out_to_reader(text: &str) -> Reader {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Reader::Gone,
        _ => Reader::Present,
    }
}

/// Writes `value` to standard output as one JSON object on lines of its own.
pub fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    out(&format!("{text}\n"));
    Ok(())
}

/// Writes an error with its causes to standard error.
pub fn error(error: &anyhow::Error) {
    err(&format!("error: {}\n", chain(error)));
}

fn write(mut stream: impl Write, text: &str) {
    // Nothing is left to tell anyone if this fails.
    _ = stream.write_all(text.as_bytes()).and_then(|()| stream.flush());
}

/// How text may look on standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Letters alone: in a pipe, with `NO_COLOR`, with `--plain`.
    Plain,
    /// ANSI colours.
    Colour,
}

impl Style {
    /// The style for standard output, as the terminal and the environment have it.
    pub fn of_stdout() -> Self {
        Self::of(io::stdout().is_terminal())
    }

    /// The style for standard error.
    pub fn of_stderr() -> Self {
        Self::of(io::stderr().is_terminal())
    }

    fn of(terminal: bool) -> Self {
        // https://no-color.org: any value but the empty one.
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        // https://bixense.com/clicolors: in a pipe too, unless it is 0.
        let forced =
            set("CLICOLOR_FORCE") && std::env::var_os("CLICOLOR_FORCE") != Some("0".into());
        match (set("NO_COLOR"), forced) {
            (true, _) => Self::Plain,
            (false, true) => Self::Colour,
            (false, false) if terminal && !is_dumb() => Self::Colour,
            (false, false) => Self::Plain,
        }
    }

    /// `text` in bold.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// `text` in green.
    pub fn good(self, text: &str) -> String {
        self.wrap("32;1", text)
    }

    /// `text` in red.
    pub fn bad(self, text: &str) -> String {
        self.wrap("31;1", text)
    }

    /// `text` in yellow.
    pub fn unsure(self, text: &str) -> String {
        self.wrap("33;1", text)
    }

    fn wrap(self, code: &str, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }
}

/// Puts `line` in the place of the one before it on standard error; an empty one ends that. Nothing
/// where standard error is no terminal.
pub fn progress(line: &str) {
    if io::stderr().is_terminal() && !is_dumb() {
        let line: String = line.chars().take(columns_of_stderr()).collect();
        err(&format!("\r\x1b[2K{line}"));
    }
}

/// Whether the terminal cannot move its cursor.
pub fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|value| value == "dumb")
}

/// Columns of a drawing where standard output is no terminal.
const COLUMNS_IN_A_PIPE: usize = 80;
/// Wider reports are harder to read, not easier.
pub const COLUMNS_AT_MOST: usize = 100;

/// How many columns a drawing on standard output may take.
pub fn columns() -> usize {
    columns_of(libc::STDOUT_FILENO).unwrap_or(COLUMNS_IN_A_PIPE).min(COLUMNS_AT_MOST)
}

/// How many columns a line on standard error may take.
pub fn columns_of_stderr() -> usize {
    columns_of(libc::STDERR_FILENO).unwrap_or(COLUMNS_IN_A_PIPE)
}

/// The columns of a terminal.
fn columns_of(descriptor: libc::c_int) -> Option<usize> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: TIOCGWINSZ writes one `winsize` and nothing else; it fails on anything but a
    // terminal.
    let result = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    (result == 0 && size.ws_col > 0).then(|| usize::from(size.ws_col))
}
