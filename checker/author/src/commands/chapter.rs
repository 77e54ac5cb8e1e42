//! `checker dev new`: starts a chapter. What it writes compiles, and `checker dev check` lists what
//! is still to be written.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::template::{self, Names};
use checker::exercise::{self, Location};
use checker::exit::{Exit, Usage};
use checker::print;
use checker::workspace::Workspace;

/// Starts the chapter that is called `name`, with this title above its page.
pub(crate) fn new(name: &str, title: Option<&str>) -> Result<Exit> {
    let names = Names::parse(name).and_then(|names| match title {
        Some(title) => names.titled(title),
        None => Ok(names),
    });
    let names = names.map_err(Usage)?;
    let workspace = Workspace::find()?;
    let places = exercise::all(&workspace)?;
    if let Some(place) = places.iter().find(|p| p.number == names.number || p.id == names.id) {
        let name = place.name().display();
        return Err(Usage(format!("there is `{name}` already")).into());
    }
    let root = workspace.root();
    let mut changes: Vec<Change> =
        names.files().into_iter().map(|(p, t)| Change::new(root, p, t)).collect();
    if let Some(there) = changes.iter().find(|change| change.path.exists()) {
        let path = workspace.relative(&there.path).display();
        return Err(Usage(format!("there is `{path}` already")).into());
    }
    let made = changes.len();
    // All are read and changed before the first is written: a chapter is started whole or not at
    // all.
    changes.extend(lists(root, &names, &places)?);
    for change in &changes {
        change.write()?;
    }
    let rust: Vec<&Path> = changes[made..]
        .iter()
        .map(|c| c.path.as_path())
        .filter(|p| p.extension().is_some_and(|e| e == "rs"))
        .collect();
    // It only sets long lists of ours as everyone's are set; `cargo fmt` does it later otherwise.
    _ = Command::new("rustfmt").args(["--edition", "2024"]).args(rust).current_dir(root).output();

    for (index, change) in changes.iter().enumerate() {
        let done = if index < made { "wrote" } else { "added to" };
        print::out(&format!("{done} {}\n", workspace.relative(&change.path).display()));
    }
    let mut next = String::from("\nnext:\n");
    for (command, what) in [
        (format!("cargo run -- dev record {}", names.id), "every copy of what stands elsewhere"),
        (format!("cargo run -- dev check {}", names.id), "what is still to be written"),
    ] {
        next.push_str(&format!("  {command:<40} {what}\n"));
    }
    print::out(&format!("{next}`book/README.md` says the rest\n"));
    Ok(Exit::Passed)
}

/// A file as it is to be.
struct Change {
    path: PathBuf,
    text: String,
}

impl Change {
    fn new(root: &Path, path: impl AsRef<Path>, text: String) -> Self {
        Self { path: root.join(path), text }
    }

    fn write(&self) -> Result<()> {
        let folder = self.path.parent().context("a file has a folder")?;
        std::fs::create_dir_all(folder)
            .and_then(|()| std::fs::write(&self.path, &self.text))
            .with_context(|| format!("cannot write `{}`", self.path.display()))
    }
}

/// The files that list chapters, with one more in them.
fn lists(root: &Path, names: &Names, places: &[Location]) -> Result<Vec<Change>> {
    let Names { id, number, .. } = names;
    let page = |place: &Location| format!("({}.md)", place.id);
    let before: Vec<_> = places.iter().filter(|p| p.number < *number).map(page).collect();
    let after: Vec<_> = places.iter().filter(|p| p.number > *number).map(page).collect();
    Ok(vec![
        changed(root, "exercises/lab/src/lib.rs", |text| template::with_module(text, id))?,
        changed(root, "exercises/lab/kernels/src/task.rs", |text| template::with_task(text, id))?,
        changed(root, "book/chapters/SUMMARY.md", |text| {
            Ok(template::insert_between(text, &before, &after, &names.listed()))
        })?,
    ])
}

fn changed(root: &Path, path: &str, change: impl Fn(&str) -> Result<String>) -> Result<Change> {
    let context = || format!("cannot add the chapter to `{path}`");
    let text = std::fs::read_to_string(root.join(path)).with_context(context)?;
    Ok(Change::new(root, path, change(&text).with_context(context)?))
}
