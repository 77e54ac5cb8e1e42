//! `checker` alone: where you are and what to do next.

use anyhow::Result;

use crate::exercise::{self, State};
use crate::exit::Exit;
use crate::print;
use crate::workspace::Workspace;

/// Says where the exercises are and names the next command.
pub(super) fn overview() -> Result<Exit> {
    let workspace = Workspace::find()?;
    let places = exercise::all(&workspace)?;
    let changed = places.iter().filter(|place| place.state() == State::Changed).count();
    let count = |n: usize| if n == 1 { "1 exercise".to_owned() } else { format!("{n} exercises") };
    let mut text = format!("{}: {}", workspace.root().display(), count(places.len()));
    if !places.is_empty() {
        text.push_str(&format!(", {changed} begun"));
    }
    text.push('\n');
    // The one at hand if any has been begun, so that the command that repeats itself is the next.
    match exercise::current(&workspace) {
        Ok(exercise) => text.push_str(&format!(
            "\nnext: `cargo run -- run {}`: {}\n",
            exercise.place.id, exercise.manifest.summary
        )),
        Err(_) if places.is_empty() => {}
        Err(error) => return Err(error),
    }
    text.push_str(MORE);
    print::out(&text);
    Ok(Exit::Passed)
}

const MORE: &str =
    "\n`cargo run -- list` names all exercises, `cargo run -- --help` all commands\n";
