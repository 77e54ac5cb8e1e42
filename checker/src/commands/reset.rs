//! `checker reset EX` and `checker undo`: the file as it was shipped, and the way back.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::backups::{self, Kept};
use crate::cli;
use crate::exercise::{self, Location, State};
use crate::exit::{Exit, Usage};
use crate::print;
use crate::progress::replace;
use crate::regions;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Object {
    format: u32,
    exercise: String,
    /// The student's file.
    file: PathBuf,
    /// The place where its former text is kept; null where nothing has changed, or nothing of the
    /// student's own.
    kept: Option<PathBuf>,
    /// Other files of the exercise that were brought back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    restored: Vec<PathBuf>,
}

/// Version of the object.
const FORMAT: u32 = 1;

/// Makes the student's file the shipped one again, or what is outside of its regions. The old one
/// is kept. Files without which the exercise does not run return too.
pub(super) fn reset(arguments: &cli::Reset) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let place = exercise::locate(&workspace, &arguments.exercise)?;
    let restored = restore_manifests(&place)?;
    let (kept, mut text) = match place.state() {
        State::Untouched => {
            (None, format!("`{}` is as it was shipped\n", shown(&workspace, &place)))
        }
        State::Unknown => {
            let message = format!("`{}` has no shipped copy to go back to", place.id);
            return Err(Usage(message).into());
        }
        State::Changed if arguments.outside => outside(&workspace, &place)?,
        State::Changed | State::Missing => whole(&workspace, &place)?,
    };
    for path in &restored {
        text.push_str(&format!(
            "`{}` is as it was shipped again\n",
            workspace.relative(path).display()
        ));
    }
    if arguments.look.json {
        return object(&workspace, &place, kept.as_deref(), &restored);
    }
    print::out(&text);
    Ok(Exit::Passed)
}

/// Puts the shipped file in the place of the student's. Where that is kept, and what is said.
fn whole(workspace: &Workspace, place: &Location) -> Result<(Option<PathBuf>, String)> {
    let kept = backups::exchange(place, &place.shipped()?)?;
    let file = shown(workspace, place);
    let said = match &kept {
        Some(kept) => format!(
            "`{file}` is as it was shipped; yours is kept as `{}`\n\nhint: `cargo run -- undo {}` brings it back\n",
            workspace.relative(kept).display(),
            place.id
        ),
        None => format!("`{file}` is there again, as it was shipped\n"),
    };
    Ok((kept, said))
}

/// Puts back what was shipped outside of the regions.
fn outside(workspace: &Workspace, place: &Location) -> Result<(Option<PathBuf>, String)> {
    let file = place.file();
    let own = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read `{}`", workspace.relative(&file).display()))?;
    let shipped = place.shipped()?;
    let name = shown(workspace, place);
    if regions::first_edit(&shipped, &own).is_none() {
        return Ok((None, format!("`{name}` is as it was shipped outside of its regions\n")));
    }
    let kept = backups::exchange(place, &regions::restored(&shipped, &own))?;
    let kept_as = kept.iter().map(|kept| workspace.relative(kept).display().to_string());
    let said = format!(
        "`{name}` is as it was shipped outside of its regions, and yours inside; what it was is kept as `{}`\n\n\
         hint: `cargo run -- undo {}` brings it back\n",
        kept_as.collect::<String>(),
        place.id
    );
    Ok((kept, said))
}

/// Brings back the files that say what the exercise is, where they are gone or cannot be read. The
/// text of a broken one is kept.
fn restore_manifests(place: &Location) -> Result<Vec<PathBuf>> {
    let mut restored = Vec::new();
    for name in exercise::MANIFESTS {
        let (path, copy) = place.copies(name);
        let Ok(shipped) = std::fs::read_to_string(&copy) else { continue };
        let own = std::fs::read_to_string(&path).ok();
        let is_sound = match name {
            exercise::MANIFEST => exercise::is_sound(&path),
            _ => own.as_ref().is_some_and(|text| toml::from_str::<toml::Table>(text).is_ok()),
        };
        if is_sound {
            continue;
        }
        let write = || -> std::io::Result<()> {
            if let Some(own) = &own {
                std::fs::create_dir_all(place.folder.join(".kept"))?;
                replace(&place.folder.join(".kept").join(name), own)?;
            }
            replace(&path, &shipped)
        };
        write().with_context(|| format!("cannot bring back `{}`", path.display()))?;
        restored.push(path);
    }
    Ok(restored)
}

/// Goes back to the version kept before the present one, of the exercise that is named, else of the
/// one in which something was kept last.
pub(super) fn undo(arguments: &cli::Undo) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let places = match &arguments.exercise {
        Some(wanted) => vec![exercise::locate(&workspace, wanted)?],
        None => exercise::all(&workspace)?,
    };
    let newest = |place: &Location| backups::all(place).into_iter().map(|kept| kept.at).max();
    let last = places.iter().filter_map(|place| Some((newest(place)?, place)));
    let Some((_, place)) = last.max_by_key(|(at, _)| *at) else {
        return Err(Usage("there is nothing to take back: no file was reset".to_owned()).into());
    };
    let all = backups::all(place);
    let kept = match arguments.to {
        Some(number) => {
            let found = all.iter().find(|kept| kept.number == number).cloned();
            found
                .ok_or_else(|| Usage(format!("there is no version {number}; {}", versions(&all))))?
        }
        None => backups::before(place).ok_or_else(|| oldest(place, &all))?,
    };
    let path = backups::restore(place, &kept)?;
    if arguments.look.json {
        return object(&workspace, place, path.as_deref(), &[]);
    }
    let was = match &path {
        Some(path) => {
            format!("; what it was is kept as `{}`", workspace.relative(path).display())
        }
        None => String::new(),
    };
    let (file, number) = (shown(&workspace, place), kept.number);
    print::out(&format!(
        "`{file}` is version {number} again{was}\n\nhint: {}; `cargo run -- undo {} --to N` takes any of them\n",
        versions(&backups::all(place)),
        place.id
    ));
    Ok(Exit::Passed)
}

fn oldest(place: &Location, all: &[Kept]) -> Usage {
    Usage(format!(
        "this is the oldest version of `{id}` that was kept\n\nhint: {}; `cargo run -- undo {id} --to N` takes \
         any of them, `cargo run -- reset {id}` the shipped file",
        versions(all),
        id = place.id
    ))
}

fn versions(all: &[Kept]) -> String {
    match all {
        [] => "none is kept".to_owned(),
        [only] => format!("version {} is kept", only.number),
        [first, .., last] => format!("versions {} to {} are kept", first.number, last.number),
    }
}

fn shown(workspace: &Workspace, place: &Location) -> String {
    workspace.relative(&place.file()).display().to_string()
}

fn object(
    workspace: &Workspace,
    place: &Location,
    kept: Option<&Path>,
    restored: &[PathBuf],
) -> Result<Exit> {
    let relative = |path: &Path| workspace.relative(path).to_owned();
    let (exercise, file) = (place.id.clone(), relative(&place.file()));
    let restored = restored.iter().map(|path| relative(path)).collect();
    print::json(&Object { format: FORMAT, exercise, file, kept: kept.map(relative), restored })?;
    Ok(Exit::Passed)
}
