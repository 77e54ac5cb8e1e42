//! One build of the whole book.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use mdbook_driver::MDBook;

use crate::log;
use crate::perfetto;
use crate::records::Records;
use crate::step::STEPS;

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
    let (built, warnings) = log::capture(|| -> Result<PathBuf> {
        let mut book = MDBook::load(root).context("cannot load the book")?;
        if let Some(folder) = folder {
            book.config.build.build_dir = folder.to_owned();
        }
        for step in STEPS {
            book.with_preprocessor(step);
        }
        book.build()?;
        Ok(book.build_dir_for("html"))
    });
    let folder = built?;
    traces(root, &folder)?;
    Ok(Site { folder, warnings })
}

/// Puts the records beside the pages, for Perfetto.
fn traces(root: &Path, folder: &Path) -> Result<()> {
    let records = Records::read(root)?;
    let folder = folder.join("traces");
    std::fs::create_dir_all(&folder).context("cannot make the folder of traces")?;
    for recorded in records.iter() {
        let path = folder.join(format!("{}.json", recorded.name));
        std::fs::write(&path, perfetto::export(&recorded.record))
            .with_context(|| format!("cannot write `{}`", path.display()))?;
    }
    Ok(())
}
