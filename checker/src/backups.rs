//! Former states of a student's file, kept so that nothing is ever lost by a command of ours.
//!
//! They lie in `.kept` in the exercise's folder, `1.rs`, `2.rs` and so on, the newest last.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::exercise::Place;
use crate::progress::replace;

/// The folder, in the exercise's.
const FOLDER: &str = ".kept";

/// The newest kept file of an exercise.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    number: u32,
    path: PathBuf,
    /// When it was kept.
    pub at: SystemTime,
}

/// The newest kept file of `place`.
pub(crate) fn newest(place: &Place) -> Option<Kept> {
    let entries = std::fs::read_dir(place.folder.join(FOLDER)).ok()?;
    let kept = entries.flatten().filter_map(|entry| {
        let path = entry.path();
        let number = path.file_name()?.to_str()?.strip_suffix(".rs")?.parse().ok()?;
        let at = entry.metadata().and_then(|data| data.modified()).ok()?;
        Some(Kept { number, path, at })
    });
    kept.max_by_key(|kept| kept.number)
}

/// Puts `text` in the place of the student's file, which is kept. Returns where.
pub(crate) fn exchange(place: &Place, text: &str) -> Result<PathBuf> {
    let file = place.file();
    let own = std::fs::read_to_string(&file)
        .with_context(|| format!("cannot read `{}`", file.display()))?;
    let folder = place.folder.join(FOLDER);
    let number = newest(place).map_or(1, |kept| kept.number + 1);
    let path = folder.join(format!("{number}.rs"));
    // First the copy, whole and on disk, then the change.
    std::fs::create_dir_all(&folder)
        .and_then(|()| replace(&path, &own))
        .with_context(|| format!("cannot keep your file as `{}`", path.display()))?;
    replace(&file, text).with_context(|| format!("cannot write `{}`", file.display()))?;
    Ok(path)
}

/// Puts the newest kept file back and keeps the present one, so that this undoes itself as well.
pub(crate) fn restore(place: &Place, kept: &Kept) -> Result<PathBuf> {
    let text = std::fs::read_to_string(&kept.path)
        .with_context(|| format!("cannot read `{}`", kept.path.display()))?;
    let path = exchange(place, &text)?;
    // It is the student's file again; a copy more would only be in the way.
    _ = std::fs::remove_file(&kept.path);
    Ok(path)
}
