//! `checker reset EX` and `checker undo`: the file as it was shipped, and the way back.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::backups;
use crate::cli::Look;
use crate::exercise::{self, Place, State};
use crate::exit::{Exit, Usage};
use crate::print;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    exercise: String,
    /// The student's file.
    file: PathBuf,
    /// Where what it held before is kept; null where nothing has changed.
    kept: Option<PathBuf>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Makes the student's file the shipped one again. The old one is kept.
pub(super) fn reset(wanted: &str, look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let place = exercise::find(&workspace, wanted)?.place;
    let id = &place.id;
    match place.state() {
        State::Untouched if look.json => return object(&workspace, &place, None),
        State::Untouched => {
            print::out(&format!("`{}` is as it was shipped\n", shown(&workspace, &place)));
            return Ok(Exit::Passed);
        }
        State::Unknown => {
            let message = format!("`{id}` has no shipped copy to go back to");
            return Err(Usage(message).into());
        }
        State::Changed => {}
    }
    let shipped = place.folder.join(".shipped/lib.rs");
    let text = std::fs::read_to_string(&shipped)
        .with_context(|| format!("cannot read `{}`", workspace.relative(&shipped).display()))?;
    let kept = backups::exchange(&place, &text)?;
    if look.json {
        return object(&workspace, &place, Some(&kept));
    }
    print::out(&format!(
        "`{}` is as it was shipped; yours is kept as `{}`\n\nhint: `checker undo {id}` brings it back\n",
        shown(&workspace, &place),
        workspace.relative(&kept).display(),
    ));
    Ok(Exit::Passed)
}

/// Takes back the last reset: of the exercise that is named, else the last of all.
pub(super) fn undo(wanted: Option<&str>, look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let places = match wanted {
        Some(wanted) => vec![exercise::find(&workspace, wanted)?.place],
        None => exercise::all(&workspace)?,
    };
    let kept = places.iter().filter_map(|place| Some((place, backups::newest(place)?)));
    let Some((place, kept)) = kept.max_by_key(|(_, kept)| kept.at) else {
        return Err(Usage("there is nothing to take back: no file was reset".to_owned()).into());
    };
    let path = backups::restore(place, &kept)?;
    if look.json {
        return object(&workspace, place, Some(&path));
    }
    print::out(&format!(
        "`{}` is what it was before; what it was now is kept as `{}`\n",
        shown(&workspace, place),
        workspace.relative(&path).display(),
    ));
    Ok(Exit::Passed)
}

fn shown(workspace: &Workspace, place: &Place) -> String {
    workspace.relative(&place.file()).display().to_string()
}

fn object(workspace: &Workspace, place: &Place, kept: Option<&Path>) -> Result<Exit> {
    let relative = |path: &Path| workspace.relative(path).to_owned();
    let (exercise, file) = (place.id.clone(), relative(&place.file()));
    print::json(&Object { format: FORMAT, exercise, file, kept: kept.map(relative) })?;
    Ok(Exit::Passed)
}
