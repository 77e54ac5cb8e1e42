//! `checker hint`: the next step for one who is stuck.

use anyhow::{Context, Result};
use serde::Serialize;

use crate::cli::Look;
use crate::exercise;
use crate::exit::{Exit, Usage};
use crate::hints::Hints;
use crate::print;
use crate::progress::{self, Progress};
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    exercise: &'a str,
    /// What the last run found first; null where it found nothing that has a code.
    code: Option<&'a str>,
    /// How many of the steps have been read, with this one.
    level: usize,
    levels: usize,
    /// The steps that have been read.
    hints: &'a [String],
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Shows the steps that have been read, and one more.
pub(super) fn hint(wanted: Option<&str>, look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let place = match wanted {
        Some(wanted) => exercise::find(&workspace, wanted)?.place,
        None => exercise::current(&workspace)?.place,
    };
    let id = place.id.as_str();
    let Some(hints) = Hints::read(&place)? else {
        return Err(Usage(format!("`{id}` has no hints")).into());
    };
    let progress = Progress::read(&workspace);
    let stuck = progress.stuck(id);
    let list = hints.of(stuck).context("there is no list of hints")?;
    // What was read of the general list counts whatever the code, so that nobody reads it twice.
    let code = list.code.as_deref();
    let level = (progress.hints(id, code) + 1).min(list.levels.len());
    progress::update(&workspace, |progress| progress.hinted(id, code, level))?;

    let read = &list.levels[..level];
    if look.json {
        let levels = list.levels.len();
        let object =
            Object { format: FORMAT, exercise: id, code: stuck, level, levels, hints: read };
        print::json(&object)?;
        return Ok(Exit::Passed);
    }
    let mut text = String::new();
    if let Some(code) = stuck {
        text.push_str(&format!(
            "your last run found {code}; `cargo run -- explain {code}` tells more\n\n"
        ));
    }
    for (number, step) in (1..).zip(read) {
        text.push_str(&format!("{number}. {}\n", step.trim().replace('\n', "\n   ")));
    }
    match list.levels.len() - level {
        0 => {}
        left => text.push_str(&format!("\n`cargo run -- hint {id}` has {left} more\n")),
    }
    print::out(&text);
    Ok(Exit::Passed)
}
