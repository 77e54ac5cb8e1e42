//! The book: where an exercise's page is, and how it gets built and opened.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::compile::cargo_command;
use crate::exercise::Location;
use crate::handout::{BOOK, SITE};
use crate::workspace::Workspace;

/// The page of a chapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The page itself, whether or not it has been built.
    pub path: PathBuf,
    /// The source that it is built from; none in a workspace that was handed out with the built
    /// book.
    source: Option<PathBuf>,
}

/// The page of an exercise's chapter; none where the workspace has neither the book nor its source.
pub fn page(workspace: &Workspace, place: &Location) -> Option<Page> {
    named(workspace, &place.id)
}

/// The book's first page.
pub fn first_page(workspace: &Workspace) -> Option<Page> {
    named(workspace, "introduction")
}

fn named(workspace: &Workspace, name: &str) -> Option<Page> {
    let (root, file) = (workspace.root(), format!("{name}.html"));
    let handed_out = root.join(BOOK).join(&file);
    if handed_out.is_file() {
        return Some(Page { path: handed_out, source: None });
    }
    let source = root.join(BOOK).join("chapters").join(format!("{name}.md"));
    source.is_file().then(|| Page { path: root.join(SITE).join(file), source: Some(source) })
}

/// The command that opens the page of an exercise; none where there is no such page.
pub fn command(workspace: &Workspace, place: &Location) -> Option<String> {
    page(workspace, place).map(|_| format!("`cargo run -- book {}`", place.id))
}

impl Page {
    /// Whether it is there, and not older than its chapter.
    pub fn is_built(&self) -> bool {
        let changed = |path: &Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
        match (changed(&self.path), &self.source) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(built), Some(source)) => changed(source).is_none_or(|changed| changed <= built),
        }
    }

    /// Builds the book.
    pub fn build(&self, workspace: &Workspace) -> Result<()> {
        let status = cargo_command()
            .args(["run", "--quiet", "--package", "book", "--", "build"])
            .current_dir(workspace.root())
            .stdout(Stdio::null())
            .status()
            .context("cannot start `cargo`")?;
        if !status.success() || !self.path.is_file() {
            bail!("the book could not be built\n\nhint: `cargo run -p book -- build` says why");
        }
        Ok(())
    }
}

/// The program that opens pages here, with its arguments before the page; none where a page would
/// not be seen.
fn browser() -> Option<Vec<String>> {
    let set = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    // https://www.catb.org/~esr/BROWSER: several are apart by colons, and `%s` stands for the page.
    if let Some(chosen) = set("BROWSER") {
        let first = chosen.split(':').next().unwrap_or_default();
        return Some(first.split_whitespace().map(str::to_owned).collect());
    }
    let is_far = set("SSH_CONNECTION").is_some() || set("SSH_TTY").is_some();
    let has_screen = set("DISPLAY").is_some() || set("WAYLAND_DISPLAY").is_some();
    (!is_far && has_screen).then(|| vec!["xdg-open".to_owned()])
}

/// Opens a page in the browser. Whether there is one that could be started.
pub fn open(path: &Path) -> bool {
    let Some(words) = browser() else { return false };
    let Some((program, rest)) = words.split_first() else { return false };
    let page = path.display().to_string();
    let mut command = Command::new(program);
    for word in rest {
        command.arg(word.replace("%s", &page));
    }
    if !rest.iter().any(|word| word.contains("%s")) {
        command.arg(path);
    }
    // A browser may go on for as long as its reader does.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().is_ok()
}
