//! `checker new DIR` and `checker update FROM`: a student's workspace, and what is new for it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use trace::words::counted;

use crate::cli;
use crate::cli::Look;
use crate::exit::{Exit, Usage};
use crate::handout::packages::prune_lock;
use crate::handout::update::{self, Missing, Updated};
use crate::handout::{self, BOOK, Book};
use crate::print;
use crate::workspace::Workspace;

#[derive(Serialize)]
struct Made {
    format: u32,
    folder: PathBuf,
    exercises: Vec<String>,
    /// Whether the built book is there.
    book: bool,
}

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    #[serde(flatten)]
    updated: &'a Updated,
}

/// Version of both objects.
const FORMAT: u32 = 1;

/// Makes a student's workspace of this one.
pub(super) fn new(folder: &Path, site: Option<&Path>, look: Look) -> Result<Exit> {
    let workspace = Workspace::find()?;
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        let message = format!(
            "`{}` is not empty\n\nhint: `checker update` brings new exercises into a workspace that is there",
            folder.display()
        );
        return Err(Usage(message).into());
    }
    let mut files = handout::files(workspace.root(), site)?;
    let has_book = update::has_book(&files);
    handout::add_readme(&mut files, if has_book { Book::There } else { Book::Absent });
    handout::lay_out(folder, &files)?;

    let exercises: Vec<String> = update::exercises(files.keys()).into_keys().collect();
    if look.json {
        let folder = folder.to_owned();
        print::json(&Made { format: FORMAT, folder, exercises, book: has_book })?;
        return Ok(Exit::Passed);
    }
    let book = if has_book { "" } else { NO_BOOK };
    let count = exercises.len();
    print::out(&format!(
        "`{}` is a workspace of {count} exercises, without solutions{book}\n\nnext: `cd {}`, then `cargo run`\n",
        folder.display(),
        folder.display()
    ));
    Ok(Exit::Passed)
}

const NO_BOOK: &str = " and without the book

hint: `cargo run -p book -- build` first puts it in; `--book DIR` takes one that was built elsewhere";

/// Brings what is new in a handout into this workspace. Nothing that a student has changed is
/// touched.
pub(super) fn update(arguments: &cli::Update) -> Result<Exit> {
    let cli::Update { from, book, restore, look } = arguments;
    let workspace = Workspace::find()?;
    let root = workspace.root();
    let Some(mut prints) = handout::record(root)? else {
        let message = format!("`{}` is no workspace that `checker new` made", root.display());
        return Err(Usage(message).into());
    };
    if !from.join("exercises").is_dir() {
        return Err(Usage(format!("`{}` holds no exercises", from.display())).into());
    }
    let mut files = handout::files(from, book.as_deref())?;
    // Where no book comes, the one that is here stays.
    let index = root.join(BOOK).join("index.html");
    let has_book = update::has_book(&files) || index.is_file();
    handout::add_readme(&mut files, if has_book { Book::There } else { Book::Absent });
    let missing = if *restore { Missing::ComeBack } else { Missing::StayAway };
    let updated = update::update(root, &mut prints, files, missing, prune_lock);
    // What was done before something failed counts: the next update goes on from there.
    handout::write_record(root, &prints)?;
    let updated = updated?;

    if look.json {
        print::json(&Object { format: FORMAT, updated: &updated })?;
    } else {
        print::out(&text(&updated));
        if !updated.book && index.is_file() {
            print::out(OLD_BOOK);
        }
    }
    Ok(Exit::Passed)
}

const OLD_BOOK: &str = "
the book stays as it is: none came with the workspace

hint: `cargo run -p book -- build` there makes one; `--book DIR` takes one that was built elsewhere
";

fn text(updated: &Updated) -> String {
    let Updated { added, changed, removed, kept, gone, missing, book: _ } = updated;
    let done: Vec<String> = [
        (changed.len(), "brought up to date"),
        (removed.len(), "no longer handed out, and removed"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, what)| format!("{} {what}", counted(count, "file")))
    .collect();
    let mut text = match (&done[..], kept.is_empty() && gone.is_empty() && missing.is_empty()) {
        ([], true) => "everything is as it is handed out".to_owned(),
        ([], false) => "there is nothing to bring".to_owned(),
        (done, _) => done.join("; "),
    };
    if !added.is_empty() {
        text.push_str(&format!("; new: {}", added.join(", ")));
    }
    text.push('\n');
    for (paths, title) in [
        (kept, "yours, and left as they are, though they are handed out differently now:"),
        (gone, "no longer handed out; what you changed is here:"),
        (missing, "handed out, but you removed them, so they stay away:"),
    ] {
        if !paths.is_empty() {
            let paths = paths.iter().map(|path| format!("  {}\n", path.display()));
            text.push_str(&format!("\n{title}\n{}", paths.collect::<String>()));
        }
    }
    let hints = [
        (
            kept.iter().any(|path| path.ends_with("src/lib.rs")),
            "`checker reset EX` takes the new file of an exercise and keeps yours",
        ),
        (!missing.is_empty(), "`checker update FROM --restore` brings back what you removed"),
    ];
    for (_, hint) in hints.into_iter().filter(|(applies, _)| *applies) {
        text.push_str(&format!("\nhint: {hint}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_says_what_it_did_and_what_it_left() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(text(&Updated::default()), "everything is as it is handed out\n");
        let kept = paths(&["exercises/01_first/src/lib.rs"]);
        insta::assert_snapshot!(text(&Updated { kept: kept.clone(), ..Updated::default() }), @"
        there is nothing to bring

        yours, and left as they are, though they are handed out differently now:
          exercises/01_first/src/lib.rs

        hint: `checker reset EX` takes the new file of an exercise and keeps yours
        ");
        let all = Updated {
            added: vec!["echo".to_owned()],
            changed: paths(&["a", "b"]),
            removed: paths(&["c"]),
            kept,
            gone: paths(&["withdrawn/02_second"]),
            missing: paths(&["exercises/03_third"]),
            book: true,
        };
        insta::assert_snapshot!(text(&all), @"
        2 files brought up to date; 1 file no longer handed out, and removed; new: echo

        yours, and left as they are, though they are handed out differently now:
          exercises/01_first/src/lib.rs

        no longer handed out; what you changed is here:
          withdrawn/02_second

        handed out, but you removed them, so they stay away:
          exercises/03_third

        hint: `checker reset EX` takes the new file of an exercise and keeps yours

        hint: `checker update FROM --restore` brings back what you removed
        ");
    }
}
