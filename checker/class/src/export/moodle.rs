//! Points for Moodle's import of grades, whose dialog asks what each column is.
//!
//! Moodle takes an empty cell for *no grade*, and an import would take away a grade that is there.
//! So students without points in some exercise are in a file of their own, to be imported once they
//! have them. It also breaks off an import at the first student whom it does not know.

use anyhow::Result;

use super::plain::cell;
use super::points::Points;
use super::roll::Student;
use super::{Context, csv, roll};
use crate::record::Row;

/// The two files.
pub(super) struct Tables {
    /// Students with points in every exercise.
    pub(super) complete: String,
    /// The others.
    pub(super) unfinished: String,
}

/// The tables of a class.
pub(super) fn tables(rows: &[Row], context: &Context<'_>) -> Result<Tables> {
    let roll = roll(rows, context);
    // The worksheet's own name for a student is what Moodle knows; there is no other then.
    let by_worksheet = context.people.values().any(|person| person.participant.is_some());
    let known_by = if by_worksheet { "Identifier" } else { "username" };
    let mut columns: Vec<String> = [known_by, "idnumber", "email"].map(str::to_owned).to_vec();
    columns.extend(roll.exercises.iter().map(|exercise| cell(exercise)));
    columns.push("total".to_owned());
    let record = |student: &Student<'_>| {
        let person = context.people.get(student.name);
        let of = |what: Option<&String>| what.map(|text| cell(text)).unwrap_or_default();
        let login = person.and_then(|person| person.login.as_deref());
        let mut record = vec![
            match by_worksheet {
                true => of(person.and_then(|person| person.participant.as_ref())),
                // What the rows call a student is often that.
                false => cell(login.unwrap_or(student.name)),
            },
            of(person.and_then(|person| person.id.as_ref())),
            of(person.and_then(|person| person.email.as_ref())),
        ];
        let show = |points: Option<Points>| points.map(|it| it.to_string()).unwrap_or_default();
        record.extend(student.rows.iter().map(|row| show(row.and_then(Points::of))));
        record.push(show(student.total()));
        record
    };
    let (complete, unfinished): (Vec<&Student<'_>>, Vec<_>) =
        roll.students.iter().partition(|student| student.total().is_some());
    Ok(Tables {
        complete: csv::write(&columns, complete.into_iter().map(record))?,
        unfinished: csv::write(&columns, unfinished.into_iter().map(record))?,
    })
}
