//! Backups of a student's file, so that no command of the checker ever loses anything.
//!
//! They are `.kept/1.rs`, `.kept/2.rs` and so on in the exercise's folder, the newest last. None is
//! ever removed, and no contents are kept twice: the student's file is found among them by its
//! contents.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::exercise::Location;
use crate::progress::replace;

/// The folder, in the exercise's.
const FOLDER: &str = ".kept";

/// A kept file of an exercise.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// Its number, from 1.
    pub number: u32,
    /// Where it is.
    pub path: PathBuf,
    /// When it was kept.
    pub at: SystemTime,
}

impl Kept {
    fn text(&self) -> Result<String> {
        std::fs::read_to_string(&self.path)
            .with_context(|| format!("cannot read `{}`", self.path.display()))
    }
}

/// All kept files of `place`, the oldest first.
pub(crate) fn all(place: &Location) -> Vec<Kept> {
    let entries = std::fs::read_dir(place.folder.join(FOLDER));
    let kept = entries.into_iter().flatten().flatten().filter_map(|entry| {
        let path = entry.path();
        let number = path.file_name()?.to_str()?.strip_suffix(".rs")?.parse().ok()?;
        let at = entry.metadata().and_then(|data| data.modified()).ok()?;
        Some(Kept { number, path, at })
    });
    let mut kept: Vec<Kept> = kept.collect();
    kept.sort_by_key(|kept| kept.number);
    kept
}

/// Puts `text` in the place of the student's file, which is kept. Returns where; none where there
/// was no file, or where it is as it was shipped, which is never lost.
pub(crate) fn exchange(place: &Location, text: &str) -> Result<Option<PathBuf>> {
    let file = place.file();
    let path = match std::fs::read_to_string(&file) {
        Ok(own) => keep(place, &own)?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read `{}`", file.display()));
        }
    };
    file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    replace(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(path)
}

/// Keeps a state of the student's file, whole and on disk.
fn keep(place: &Location, own: &str) -> Result<Option<PathBuf>> {
    if place.shipped().is_ok_and(|shipped| shipped == own) {
        return Ok(None);
    }
    let before = all(place);
    if let Some(same) = before.iter().find(|kept| kept.text().is_ok_and(|text| text == own)) {
        return Ok(Some(same.path.clone()));
    }
    let number = before.last().map_or(1, |kept| kept.number + 1);
    let folder = place.folder.join(FOLDER);
    let path = folder.join(format!("{number}.rs"));
    std::fs::create_dir_all(&folder)
        .and_then(|()| replace(&path, own))
        .with_context(|| format!("cannot keep your file as `{}`", path.display()))?;
    Ok(Some(path))
}

/// The kept file to go back to from the present one: the one before it, or the newest where the
/// present one is not among them. None where the present one is the oldest.
pub(crate) fn before(place: &Location) -> Option<Kept> {
    let kept = all(place);
    let own = std::fs::read_to_string(place.file()).ok();
    let present = kept.iter().position(|kept| kept.text().ok() == own && own.is_some());
    let to = present.unwrap_or(kept.len()).checked_sub(1)?;
    kept.into_iter().nth(to)
}

/// Puts a kept file back and keeps the present one. Returns where.
pub(crate) fn restore(place: &Location, kept: &Kept) -> Result<Option<PathBuf>> {
    exchange(place, &kept.text()?)
}
