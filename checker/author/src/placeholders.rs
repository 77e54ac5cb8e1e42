//! Places that are still to be filled. `checker dev new` marks each with the same word, in every
//! kind of file; `book proof` knows it too.

use std::path::Path;

use crate::Problems;

/// The mark before the words that say what an author has yet to write.
const MARK: &str = "WRITE: ";

/// Notes every place in `folder` or the file of this path. Files that commands write are left out.
pub(crate) fn find(path: &Path, problems: &mut Problems) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The shipped copy is the student's file once more; recordings are made.
    if name.starts_with('.') || name == "recorded" || name == "target" {
        return;
    }
    if path.is_dir() {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.for_each(|entry| find(&entry.path(), problems));
        return;
    }
    note(path, |_| true, problems);
}

/// Notes every place of the exercise `id` in a file that all share.
pub(crate) fn find_of(id: &str, path: &Path, problems: &mut Problems) {
    note(path, |what| what.contains(&format!("`{id}`")), problems);
}

fn note(path: &Path, is_wanted: impl Fn(&str) -> bool, problems: &mut Problems) {
    // What is no text has no such place, and a file that is missing is for others to miss.
    let text = std::fs::read_to_string(path).unwrap_or_default();
    for (number, line) in (1..).zip(text.lines()) {
        if let Some((_, what)) = line.split_once(MARK).filter(|(_, what)| is_wanted(what)) {
            // In TOML, a quotation mark ends it.
            let what = what.split('"').next().unwrap_or(what);
            problems.add(path, number, format!("still to be written: {what}"));
        }
    }
}
