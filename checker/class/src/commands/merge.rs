//! `checker merge`: parts of a class become one.

use anyhow::Result;
use trace::words::counted;

use super::reports::{self, Reports};
use crate::store::{self, Earlier, Store};
use checker::cli;
use checker::exit::Exit;
use checker::print;

/// Puts parts of a class into one.
pub(crate) fn merge(arguments: &cli::Merge) -> Result<Exit> {
    let exercises = reports::exercises_if_any()?;
    let roster = reports::roster(&arguments.report)?;
    let store::Together { rows, notes } = store::read_parts(&arguments.folders)?;
    let rows = store::merge(rows)?;
    let store = Store::open(&arguments.out, Earlier::Resumed)?;
    for folder in &arguments.folders {
        store.take_drawings(folder)?;
    }
    let written = store.write_rows(&rows, None)?;
    let noted = store.write_notes(&notes, None)?;
    let reports = Reports {
        arguments: &arguments.report,
        store: &store,
        rows: &rows,
        roster: roster.as_ref(),
        exercises: &exercises,
    };
    reports.write_and_show(arguments.look)?;
    print::err(&format!("{}; `{}`\n", counted(rows.len(), "exercise"), written.display()));
    reports::tell_reports(&store);
    reports::tell_notes(&notes, &noted);
    Ok(reports::exit(&rows))
}
