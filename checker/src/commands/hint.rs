//! `checker hint`: the next step for one who is stuck.

use anyhow::Result;
use serde::Serialize;

use crate::cli::Look;
use crate::exercise::{self, Exercise};
use crate::exit::{Exit, Usage};
use crate::print;
use crate::progress::{self, Progress};
use crate::workspace::Workspace;

/// The steps of an exercise's hints that have been read.
#[derive(Serialize)]
pub(super) struct Steps {
    format: u32,
    exercise: String,
    /// The code that the last run found first; null where it found none.
    code: Option<String>,
    /// How many of the steps have been read, with this one.
    level: usize,
    levels: usize,
    /// The steps that have been read.
    hints: Vec<String>,
    /// Further remarks for the student.
    #[serde(skip)]
    note: Option<String>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Shows the steps that have been read, and one more.
pub(super) fn hint(wanted: Option<&str>, look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercise = match wanted {
        Some(wanted) => exercise::find(&workspace, wanted)?,
        None => exercise::current(&workspace)?,
    };
    let id = &exercise.place.id;
    let Some(steps) = Steps::next(&workspace, &exercise)? else {
        return Err(Usage(format!("`{id}` has no hints")).into());
    };
    if look.json {
        steps.note.iter().for_each(|note| print::err(&format!("note: {note}\n")));
        print::json(&steps)?;
        return Ok(Exit::Passed);
    }
    let mut text = steps.text();
    match steps.left() {
        0 => {}
        left => text.push_str(&format!("\n`cargo run -- hint {id}` has {left} more\n")),
    }
    print::out(&text);
    Ok(Exit::Passed)
}

impl Steps {
    /// One more step than before, which is kept; none where there are no hints.
    pub(super) fn next(workspace: &Workspace, exercise: &Exercise) -> Result<Option<Self>> {
        let id = exercise.place.id.as_str();
        let progress = Progress::read(workspace);
        let stuck = progress.stuck(id);
        let Some(list) = exercise.hints(stuck)? else { return Ok(None) };
        // Hints read in the general list count whatever the code, so that they are not shown twice.
        let code = list.code.as_deref();
        let level = (progress.hints(id, code) + 1).min(list.levels.len());
        let note = progress::update(workspace, |progress| progress.hinted(id, code, level))?;
        Ok(Some(Self {
            format: FORMAT,
            exercise: id.to_owned(),
            code: stuck.map(str::to_owned),
            level,
            levels: list.levels.len(),
            hints: list.levels[..level].to_vec(),
            note,
        }))
    }

    /// How many there are yet to read.
    pub(super) fn left(&self) -> usize {
        self.levels - self.level
    }

    /// The steps that have been read.
    pub(super) fn text(&self) -> String {
        let mut text = self.note.iter().map(|note| format!("note: {note}\n\n")).collect::<String>();
        if let Some(code) = &self.code {
            text.push_str(&format!(
                "your last run found {code}; `cargo run -- explain {code}` tells more\n\n"
            ));
        }
        for (number, step) in (1..).zip(&self.hints) {
            text.push_str(&format!("{number}. {}\n", step.trim().replace('\n', "\n   ")));
        }
        text
    }
}
