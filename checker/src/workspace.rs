//! The folder that holds the exercises.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::exit::Usage;

/// Names the workspace for a checker that is started somewhere else.
pub const VARIABLE: &str = "SWIM_WORKSPACE";

/// A folder with `exercises/`, and, unless its programs were built elsewhere, a cargo workspace.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
}

impl Workspace {
    /// The workspace that [`VARIABLE`] names, or the nearest one above the current folder.
    pub fn find() -> Result<Self> {
        if let Some(root) = std::env::var_os(VARIABLE).filter(|root| !root.is_empty()) {
            let root = PathBuf::from(root);
            if !is_workspace(&root) {
                let message = format!("`{VARIABLE}` is `{}`, {NOT_ONE}", root.display());
                return Err(Usage(message).into());
            }
            return Self::at(&root);
        }
        let here = std::env::current_dir().context("cannot tell the current folder")?;
        match here.ancestors().find(|folder| is_workspace(folder)) {
            Some(root) => Self::at(root),
            None => Err(Usage(format!("`{}` is not inside {OUTSIDE}", here.display())).into()),
        }
    }

    /// A folder of programs that were built elsewhere.
    pub fn prebuilt(folder: &Path) -> Result<Self> {
        if !folder.join("exercises").is_dir() {
            let message = format!("`{}` {NOT_PREBUILT}", folder.display());
            return Err(Usage(message).into());
        }
        Self::at(folder)
    }

    /// The workspace in the folder `root`, whatever lies there.
    pub fn at(root: &Path) -> Result<Self> {
        // Compilers and programs report canonical paths; ours must be comparable.
        let root = root
            .canonicalize()
            .with_context(|| format!("cannot resolve the folder `{}`", root.display()))?;
        Ok(Self { root })
    }

    /// Where it is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// `path` as it is called from the workspace's folder.
    pub fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.root).unwrap_or(path)
    }
}

fn is_workspace(folder: &Path) -> bool {
    folder.join("exercises").is_dir()
        && std::fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|text| {
            toml::from_str::<toml::Table>(&text)
                .is_ok_and(|manifest| manifest.contains_key("workspace"))
        })
}

const NOT_ONE: &str = "which is no workspace of exercises

hint: it has to be the folder that holds `Cargo.toml` and `exercises`";

const OUTSIDE: &str = "a workspace of exercises

hint: go to the folder that holds `Cargo.toml` and `exercises`, or name it in `SWIM_WORKSPACE`";

const NOT_PREBUILT: &str = "holds no `exercises` folder

hint: `--prebuilt` takes a folder that `checker dev bundle` made";
