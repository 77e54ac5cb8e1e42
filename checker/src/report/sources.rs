//! Source files that a report shows lines of.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use trace::hazards::CallAt;

/// Source files, by the path that a place in the source names.
pub type Sources = BTreeMap<String, String>;

/// Reads the files that `calls` come from, below `folder`. One that is not there, or not below it,
/// is left out: the places come from the program that ran, and may say anything.
pub fn sources<'a>(calls: impl IntoIterator<Item = &'a CallAt>, folder: &Path) -> Sources {
    let files = calls.into_iter().filter_map(|call| Some(&call.site.as_ref()?.file));
    let below = |file: &&String| {
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_)))
    };
    files
        .filter(below)
        .filter_map(|file| Some((file.clone(), std::fs::read_to_string(folder.join(file)).ok()?)))
        .collect()
}

pub(super) fn source<'a>(call: &'a CallAt, sources: &'a Sources) -> Option<(&'a str, &'a str)> {
    let file = &call.site.as_ref()?.file;
    Some((file, sources.get(file)?))
}

/// Whether `c` can stand in a name.
pub(super) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}
