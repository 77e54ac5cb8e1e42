//! `checker forget`: a student's data leaves a class's folder.

use anyhow::Result;
use trace::words::counted;

use super::reports::{self, Reports};
use crate::forget_student;
use crate::record::Row;
use crate::store::{self, Earlier, Store};
use checker::cli;
use checker::exit::{Exit, Usage};
use checker::print;

/// Takes a student's data out of a class's folder, and writes the reports anew.
pub(crate) fn forget(arguments: &cli::Forget) -> Result<Exit> {
    let exercises = reports::exercises_if_any()?;
    let roster = reports::roster(&arguments.report)?;
    let rows = store::read_rows(&arguments.out)?;
    let student = &arguments.student;
    if rows.iter().all(|row| row.student != *student) {
        let message = format!("`{}` holds nothing of `{student}`", arguments.out.display());
        return Err(Usage(message).into());
    }
    let store = Store::open(&arguments.out, Earlier::Resumed)?;
    let own = forget_student::only_of(&store.holdings(&rows)?, student);
    let removed = forget_student::remove(&arguments.out, &own)?;
    let others: Vec<Row> = rows.into_iter().filter(|row| row.student != *student).collect();
    store.write_rows(&others, None)?;
    store.forget(student)?;
    // The summary is not wanted here.
    for path in removed {
        print::out(&format!("removed {}\n", path.display()));
    }
    let reports = Reports {
        arguments: &arguments.report,
        store: &store,
        rows: &others,
        roster: roster.as_ref(),
        exercises: &exercises,
    };
    print::err(&format!("{} written anew\n", counted(reports.write()?.len(), "report")));
    print::err(&format!("{BESIDES}\n"));
    Ok(Exit::Passed)
}

const BESIDES: &str = "hint: what was handed in, tables of your own, and reports in formats that were not named \
                       now are still where they were";
