//! Kept measurements of GPUs: `measured/GPU.json`, as `checker dev measure` writes it, and
//! `measured/alternatives/GPU.json`, of the programs in `checker/tests/alternatives`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use trace::Fidelity;

use super::metric::Number;

/// Reads the kept measurements in a folder, by GPU; a book may have none.
pub(super) fn read(folder: &Path) -> Result<BTreeMap<String, Fidelity>> {
    let mut kept = BTreeMap::new();
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(kept) };
    for entry in entries {
        let path = entry.context("cannot list what is kept of GPUs")?.path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let context = || format!("cannot read `{}`", path.display());
        let text = std::fs::read(&path).with_context(context)?;
        let file: Fidelity = serde_json::from_slice(&text).with_context(context)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        kept.insert(name, file);
    }
    Ok(kept)
}

/// The number of a GPU that `EXERCISE.PROGRAM METRIC` stands for, or the name of a figure that was
/// noted.
pub fn number(kept: &Fidelity, argument: &str) -> Result<Number, String> {
    let Some((program, metric)) = argument.split_once(' ') else {
        let found = kept.noted.iter().find(|noted| noted.name == argument);
        let missing = || format!("no figure `{argument}` is noted of {}", kept.device);
        return found.map(|noted| Number::Time(noted.ns)).ok_or_else(missing);
    };
    let missing = || format!("`{program}` was not measured on {}", kept.device);
    let (exercise, name) = program.split_once('.').ok_or_else(missing)?;
    let rows = kept.rows();
    let mut rows = rows.iter();
    let row =
        rows.find(|row| (&*row.predicted.exercise, &*row.predicted.program) == (exercise, name));
    let seen = row.and_then(|row| row.measured.as_ref()).ok_or_else(missing)?;
    match metric.trim() {
        "makespan" => Ok(Number::Time(seen.makespan_ns)),
        "spread" => Ok(Number::Time(seen.spread_ns)),
        "efficiency" => seen.efficiency.map(Number::Share).ok_or_else(missing),
        other => Err(format!(
            "there is no metric `{other}` of a GPU; there are: makespan, spread, efficiency"
        )),
    }
}
