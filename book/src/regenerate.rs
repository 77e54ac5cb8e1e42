//! Runs the programs behind the simulated records again, by the checker.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::records;

/// A record that was made again.
#[derive(Debug)]
pub struct Fresh {
    /// Its name.
    pub name: String,
    /// What the checker wrote.
    pub text: String,
}

/// Runs the program of each simulated record of the book in `root`.
pub fn regenerate(root: &Path) -> Result<Vec<Fresh>> {
    let workspace = root.parent().context("the book lies in the workspace")?;
    let scratch = std::env::temp_dir().join(format!("book-figures-{}", std::process::id()));
    std::fs::create_dir_all(&scratch).context("cannot make a folder for the records")?;
    let fresh = records::runs(root)?.into_iter().map(|(name, arguments)| {
        let path = scratch.join(format!("{name}.json"));
        let text = run(workspace, &arguments, &path)
            .with_context(|| format!("cannot make record `{name}` again"))?;
        Ok(Fresh { name, text })
    });
    let fresh: Result<Vec<Fresh>> = fresh.collect();
    _ = std::fs::remove_dir_all(&scratch);
    fresh
}

/// The record as it is kept.
fn run(workspace: &Path, arguments: &[String], path: &Path) -> Result<String> {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["run", "--quiet", "--package", "checker", "--", "run"])
        .args(arguments)
        .args(["--device", "sim", "--plain", "--trace"])
        .arg(path)
        .current_dir(workspace)
        .output()
        .context("cannot start cargo")?;
    // A baseline fails, and is to be seen all the same: what counts is that there is a record.
    let ran = matches!(output.status.code(), Some(0 | 1));
    match std::fs::read_to_string(path) {
        Ok(text) if ran => Ok(split(&text)),
        _ => {
            let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
            bail!("the checker says:\n{}", said.concat().trim_end())
        }
    }
}

/// One step and one span to a line, so that a change of one call is a few lines of a diff.
fn split(text: &str) -> String {
    let mut lines = text.trim_end().replace(",{\"call\":", ",\n{\"call\":");
    lines = lines.replace(",{\"step\":", ",\n{\"step\":");
    lines.push('\n');
    lines
}
