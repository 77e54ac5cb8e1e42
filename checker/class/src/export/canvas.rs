//! Points into the gradebook that Canvas exported.
//!
//! The file stays as it is but for our columns, so the students' ids, sections and other
//! assignments return as Canvas wrote them. A name that a spreadsheet would take for a formula
//! gets a `'` in front, since Canvas goes by the ID. A student is found by Canvas's ID, then by SIS
//! id, then by login. Where there are no points the cell stays as it was: a blank would empty it.
//! So does one that says `EX`, excused.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};

use super::plain::{cell, line, name};
use super::points::{FULL, Points};
use super::roll::Student;
use super::{Context, Person, csv, roll};
use checker::cli::class::Column;

use crate::record::Row;

/// An exported gradebook, and what goes where.
pub(crate) struct Gradebook<'a> {
    /// The export of Canvas.
    pub(crate) export: &'a str,
    pub(crate) columns: &'a [Column],
}

/// The outcome.
pub(super) struct Filled {
    pub(super) gradebook: String,
    /// Students whose points are nowhere in it, and why.
    pub(super) unmatched: String,
}

/// Fills in the points of `rows`.
pub(super) fn fill(
    rows: &[Row],
    context: &Context<'_>,
    gradebook: &Gradebook<'_>,
) -> Result<Filled> {
    let mut table = Table::read(gradebook.export)?;
    let roll = roll(rows, context);
    let mut targets = Vec::new();
    for column in gradebook.columns {
        let exercise = match &column.exercise {
            None => None,
            Some(wanted) => match roll.exercises.iter().position(|name| name == wanted) {
                Some(place) => Some(place),
                None => bail!("there is no exercise `{}` in these grades", line(wanted)),
            },
        };
        targets.push((table.column(&column.heading)?, exercise));
    }
    if targets.is_empty() {
        bail!("nothing says which column of the gradebook to fill");
    }

    let mut unmatched: Vec<(&Student<'_>, String)> = Vec::new();
    let mut places: BTreeMap<usize, Vec<&Student<'_>>> = BTreeMap::new();
    for student in &roll.students {
        match table.find(student.name, context.people.get(student.name)) {
            Ok(found) => {
                found.into_iter().for_each(|at| places.entry(at).or_default().push(student))
            }
            Err(why) => unmatched.push((student, why)),
        }
    }
    for (at, students) in places {
        if let [student] = students[..] {
            for (column, exercise) in &targets {
                let (points, full) = match exercise {
                    Some(exercise) => (student.rows[*exercise].and_then(Points::of), FULL),
                    None => (student.total(), Points::full(roll.exercises.len())),
                };
                // Who is excused stays so.
                let is_excused = table.rows[at][*column].trim().eq_ignore_ascii_case("EX");
                if let (Some(points), false) = (points, is_excused) {
                    let possible = table.possible(*column).unwrap_or(full.number());
                    table.rows[at][*column] = points.scaled(full, possible);
                }
            }
        } else {
            for student in students {
                let why = format!("several submissions are of the gradebook's line {}", at + 1);
                // Who is in two sections has two lines.
                if !unmatched.iter().any(|(listed, _)| listed.name == student.name) {
                    unmatched.push((student, why));
                }
            }
        }
    }
    unmatched.sort_by_key(|(student, _)| student.name);

    let listed = unmatched.iter().map(|(student, why)| {
        let total = student.total().map(|total| total.to_string()).unwrap_or_default();
        [cell(student.name), total, why.clone()]
    });
    Ok(Filled {
        gradebook: table.write()?,
        unmatched: csv::write(&["student", "points", "why"], listed)?,
    })
}

/// The mark at the beginning of files for Windows.
const MARK: char = '\u{feff}';

struct Table {
    /// The heading first.
    rows: Vec<Vec<String>>,
    delimiter: u8,
    has_mark: bool,
    /// Columns that a student is known by, in this order.
    keys: Vec<usize>,
    /// The first column that is no student's.
    assignments: usize,
    /// The row with the points that each assignment gives.
    possible: Option<usize>,
}

impl Table {
    fn read(export: &str) -> Result<Self> {
        let text = export.strip_prefix(MARK).unwrap_or(export);
        let heading = text.lines().next().unwrap_or_default();
        let count = |c| heading.matches(c).count();
        let delimiter = if count(';') > count(',') { b';' } else { b',' };
        let mut reader = ::csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            .from_reader(text.as_bytes());
        let mut rows: Vec<Vec<String>> = Vec::new();
        for record in reader.records() {
            let record = record.context("cannot read the gradebook as a table")?;
            rows.push(record.iter().map(str::to_owned).collect());
        }
        let Some(heading) = rows.first() else { bail!("the gradebook is empty") };
        let at = |name: &str| heading.iter().position(|heading| heading.trim() == name);
        let (Some(id), Some(section)) = (at("ID"), at("Section")) else {
            bail!(
                "this is no gradebook of Canvas: its heading has no `ID` or no `Section`\n\nhint: \
                 export it from Canvas (Grades, Export)"
            );
        };
        let keys =
            [Some(id), at("SIS User ID"), at("SIS Login ID")].into_iter().flatten().collect();
        let possible = rows.iter().position(|row| row[0].contains("Points Possible"));
        let has_mark = text.len() < export.len();
        Ok(Self { delimiter, has_mark, keys, assignments: section + 1, possible, rows })
    }

    /// Whether Canvas takes what is written there.
    fn is_open(&self, column: usize) -> bool {
        let says = self.possible.and_then(|row| self.rows[row].get(column));
        !says.is_some_and(|says| says.contains("read only"))
    }

    /// The column that `wanted` means.
    fn column(&self, wanted: &str) -> Result<usize> {
        let parts = |heading: &str| {
            let (title, id) = heading.trim().rsplit_once(" (")?;
            Some((title.to_owned(), id.strip_suffix(')')?.to_owned()))
        };
        let is_meant = |heading: &String| {
            heading.trim() == wanted
                || parts(heading).is_some_and(|(title, id)| title == wanted || id == wanted)
        };
        let columns = || {
            let all = self.rows[0].iter().enumerate().skip(self.assignments);
            all.filter(|(at, _)| self.is_open(*at))
        };
        let found: Vec<usize> =
            columns().filter(|(_, heading)| is_meant(heading)).map(|(at, _)| at).collect();
        match found[..] {
            [column] => Ok(column),
            [] => {
                let known: Vec<String> =
                    columns().map(|(_, heading)| format!("`{}`", line(heading))).collect();
                bail!(
                    "the gradebook has no column `{}`\n\nhint: it has {}",
                    line(wanted),
                    known.join(", ")
                )
            }
            _ => bail!(
                "the gradebook has several columns `{}`\n\nhint: name its number",
                line(wanted)
            ),
        }
    }

    /// The most that a column's assignment gives.
    fn possible(&self, column: usize) -> Option<f64> {
        let text = self.rows[self.possible?].get(column)?.trim();
        text.parse().ok().filter(|possible: &f64| possible.is_finite() && *possible > 0.0)
    }

    /// The rows of a student: several where they are in several sections. Else why there are none.
    fn find(&self, student: &str, person: Option<&Person>) -> Result<Vec<usize>, String> {
        let called: Vec<&str> = person
            .into_iter()
            .flat_map(|person| [&person.id, &person.login, &person.email])
            .filter_map(|called| called.as_deref())
            .chain([student])
            .map(str::trim)
            .filter(|called| !called.is_empty())
            .collect();
        for &key in &self.keys {
            let rows: Vec<usize> = self
                .rows
                .iter()
                .enumerate()
                .skip(1)
                .filter(|(at, _)| Some(*at) != self.possible)
                .filter(|(_, row)| {
                    // Logins are often mail addresses, where capitals do not count.
                    let value = row.get(key).map(|value| value.trim().to_lowercase());
                    value.is_some_and(|value| called.iter().any(|it| it.to_lowercase() == value))
                })
                .map(|(at, _)| at)
                .collect();
            let mut ids: Vec<&str> =
                rows.iter().map(|&at| self.rows[at][self.keys[0]].as_str()).collect();
            ids.dedup();
            match ids[..] {
                [] => {}
                [_] => return Ok(rows),
                _ => {
                    return Err(format!(
                        "several students of the gradebook are `{}`",
                        name(student)
                    ));
                }
            }
        }
        Err("no student of the gradebook has this ID, SIS id or login".to_owned())
    }

    fn write(self) -> Result<String> {
        let mut writer = ::csv::WriterBuilder::new()
            .flexible(true)
            .delimiter(self.delimiter)
            .from_writer(Vec::new());
        let columns = self.rows[0].len();
        for (at, mut row) in self.rows.into_iter().enumerate() {
            let has_id = row.get(self.keys[0]).is_some_and(|id| !id.trim().is_empty());
            if at > 0 && has_id {
                row[..self.keys[0]].iter_mut().for_each(|name| *name = cell(name));
            }
            // A row that was shorter than its heading.
            row.resize(row.len().max(columns), String::new());
            writer.write_record(&row).context("cannot write the gradebook")?;
        }
        let bytes = writer.into_inner().context("cannot write the gradebook")?;
        let text = String::from_utf8(bytes).context("cannot write the gradebook")?;
        Ok(if self.has_mark { format!("{MARK}{text}") } else { text })
    }
}
