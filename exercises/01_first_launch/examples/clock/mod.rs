//! What the puzzle's programs have in common: they say what they have measured.

use std::time::Duration;

#[expect(clippy::print_stdout, reason = "what it prints is what the puzzle is about")]
pub(crate) fn print(time: Duration) {
    println!("{:.2} ms", time.as_secs_f64() * 1e3);
}
