//! The terminal: taken, drawn on, given back whatever happens.

use std::io;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::terminal::{
    self, BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen,
};

use crate::print;

/// The alternate screen, without echo. What was to be seen before returns with its end.
pub(super) struct Screen(());

/// Whether the terminal is ours.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// The size that a terminal is taken to have that does not say.
const SIZE: (u16, u16) = (80, 24);

impl Screen {
    pub(super) fn enter() -> Result<Self> {
        // A message is read on the screen that stays, so a panic gives it back before it speaks.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let speak = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                give_back();
                speak(panic);
            }));
        });
        terminal::enable_raw_mode().context("cannot take the terminal")?;
        TAKEN.store(true, Ordering::SeqCst);
        let mut bytes = Vec::new();
        queue!(bytes, EnterAlternateScreen, Hide)?;
        print::out(&String::from_utf8_lossy(&bytes));
        Ok(Self(()))
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        let (columns, rows) = terminal::size().unwrap_or(SIZE);
        (usize::from(columns), usize::from(rows))
    }

    /// Lines that fit on a page.
    pub(super) fn page(&self) -> usize {
        self.size().1.saturating_sub(4).max(1)
    }

    /// Draws lines, each of which fits, from the top.
    pub(super) fn draw(&mut self, lines: &[String]) {
        if let Ok(bytes) = painted(lines, self.size().1) {
            print::out(&String::from_utf8_lossy(&bytes));
        }
    }
}

/// The bytes that show lines from the top, for a terminal of so many rows.
///
/// A row is erased before it is written: after a line that fills it the cursor still stands on its
/// last column, and some terminals, xterm among them, would erase what stands there
/// (<https://github.com/microsoft/terminal/issues/3177>).
fn painted(lines: &[String], rows: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    queue!(bytes, BeginSynchronizedUpdate)?;
    let none = String::new();
    for (row, line) in (0..rows).zip(lines.iter().chain(std::iter::repeat(&none))) {
        let row = u16::try_from(row).unwrap_or(u16::MAX);
        queue!(bytes, MoveTo(0, row), Clear(ClearType::UntilNewLine))?;
        bytes.extend_from_slice(line.as_bytes());
    }
    queue!(bytes, EndSynchronizedUpdate)?;
    Ok(bytes)
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Makes the terminal what it was before.
fn give_back() {
    if !TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut bytes = Vec::new();
    _ = queue!(bytes, EndSynchronizedUpdate, LeaveAlternateScreen, Show);
    print::out(&String::from_utf8_lossy(&bytes));
    _ = terminal::disable_raw_mode(); // nothing is left to do if this fails
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::commands::watch::pseudo::Terminal;

    /// Set for the process that panics.
    const PANICS: &str = "SWIM_TEST_PANICS";

    #[test]
    fn nothing_is_erased_behind_a_text() {
        let lines = ["\x1b[31mfull\x1b[0m".to_owned(), "full".to_owned()];
        let bytes = painted(&lines, 3).expect("bytes");
        let text = String::from_utf8(bytes).expect("text");
        let parts: Vec<&str> = text.split("\x1b[K").collect();
        assert_eq!(parts.len(), 4, "three rows are erased, each on its own: {text:?}");
        for (row, before) in (1..).zip(&parts[..3]) {
            assert!(before.ends_with(&format!("\x1b[{row};1H")), "{text:?}");
        }
        assert!(!text.contains("\x1b[J"), "{text:?}");
    }

    #[test]
    fn a_panic_gives_the_terminal_back_and_is_read_there() {
        if std::env::var_os(PANICS).is_some() {
            let mut screen = Screen::enter().expect("a terminal");
            screen.draw(&["drawn".to_owned()]);
            // In another thread, as it would be in a run.
            _ = std::thread::spawn(|| panic!("our own mistake")).join();
            std::process::abort(); // nothing else may give it back
        }
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let name =
            "commands::watch::screen::tests::a_panic_gives_the_terminal_back_and_is_read_there";
        command.args(["--exact", name, "--nocapture"]).env(PANICS, "1");
        let mut terminal = Terminal::start(command, 24, 80);
        terminal.ended();
        terminal.is_given_back();
        terminal.shows("our own mistake");
    }
}
