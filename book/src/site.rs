//! One build of the whole book.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use mdbook_driver::MDBook;
use trace::export;
use trace::observed::Observed;

use crate::head;
use crate::log;
use crate::preprocessors::STEPS;
use crate::records::Records;
use crate::search;
use crate::viewer;

/// A finished build.
#[derive(Debug)]
pub struct Site {
    /// Where the pages are.
    pub folder: PathBuf,
    /// The warnings that mdBook logged on the way.
    pub warnings: Vec<String>,
}

/// Builds the book in `root`, into the folder that `book.toml` names or into `folder`.
pub fn build(root: &Path, folder: Option<&Path>) -> Result<Site> {
    let records = Arc::new(Records::read(root)?);
    let (built, warnings) = log::capture(|| -> Result<PathBuf> {
        let mut book = MDBook::load(root).context("cannot load the book")?;
        if let Some(folder) = folder {
            book.config.build.build_dir = folder.to_owned();
        }
        for step in STEPS {
            book.with_preprocessor(step.with(&records));
        }
        book.build()?;
        let folder = book.build_dir_for("html");
        head::describe(&book, &records, &folder)?;
        Ok(folder)
    });
    let folder = built?;
    search::index(&folder)?;
    traces(&records, &folder)?;
    if folder.join(VIEWER).exists() {
        viewer::script(root, &folder)?;
    }
    programs(&root.join(PROGRAMS), &folder.join(PROGRAMS))?;
    Ok(Site { folder, warnings })
}

/// The page that reads traces.
const VIEWER: &str = "viewer.html";

/// The programs in PyTorch and their traces: pages name them, and lie in `book` of a student's
/// workspace.
const PROGRAMS: &str = "pytorch";

/// Puts a folder beside the pages, if there is one.
fn programs(from: &Path, to: &Path) -> Result<()> {
    let Ok(entries) = std::fs::read_dir(from) else { return Ok(()) };
    std::fs::create_dir_all(to).with_context(|| format!("cannot make `{}`", to.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot read `{}`", from.display()))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        if path.is_dir() {
            programs(&path, &target)?;
        } else {
            std::fs::copy(&path, &target)
                .with_context(|| format!("cannot copy `{}`", path.display()))?;
        }
    }
    Ok(())
}

/// Puts the records beside the pages, for Perfetto.
fn traces(records: &Records, folder: &Path) -> Result<()> {
    let folder = folder.join("traces");
    std::fs::create_dir_all(&folder).context("cannot make the folder of traces")?;
    for recorded in records.iter() {
        let path = folder.join(format!("{}.json", recorded.name));
        let record = &recorded.record;
        let lines: Vec<String> = record.program.sites.iter().map(ToString::to_string).collect();
        let observed = Observed::of_program(record.timeline.clone(), &record.program, &lines);
        std::fs::File::create(&path)
            .and_then(|file| {
                let mut file = std::io::BufWriter::new(file);
                export::chrome(&[export::Device { index: 0, observed: &observed }], &mut file)?;
                file.flush()
            })
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}
