//! Every report of a class, made from its rows.
//!
//! Names, panics and whatever a program printed are other people's text: none of it reaches a
//! report but through [`plain`], and each format has a test with the same table of hostile strings.
//! An exercise without points has none in any of them: trouble that is not the student's is never a
//! zero.
//!
//! | module | what it writes |
//! | --- | --- |
//! | [`summary`] | the class for a terminal |
//! | [`jsonl`] | the rows themselves |
//! | [`csv`] | one row for each student and exercise |
//! | [`junit`] | what CI systems show |
//! | [`gradescope`], [`prairielearn`], [`classroom50`] | one student's result, for the platform that started the checker |
//! | [`canvas`] | points into the gradebook that was exported |
//! | [`moodle`] | points for the import of grades |
//! | [`markdown`] | the class for the summary of a GitHub job |
//! | [`student_page`], [`class_page`] | pages for a browser |
//!
//! | module | what these are made of |
//! | --- | --- |
//! | [`plain`] | other people's text, harmless |
//! | [`points`] | the one rounding |
//! | [`roll`] | rows by student, exercises in order |
//! | [`feedback`] | what a student may read |
//! | [`html`] | elements, the style sheet, drawings that are let in |

pub(crate) mod canvas;
mod class_page;
mod classroom50;
mod csv;
mod feedback;
mod gradescope;
mod html;
mod jsonl;
mod junit;
mod markdown;
mod moodle;
mod plain;
mod points;
mod prairielearn;
mod roll;
mod student_page;
pub(crate) mod summary;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use checker::cli::class::Format;

pub(crate) use canvas::Gradebook;
pub(crate) use classroom50::Submission;
pub(crate) use plain::cell;
pub(crate) use student_page::Timelines;

use super::name::slug;
use super::record::Row;
use checker::cli::Feedback;
use checker::print::Style;
use roll::Roll;

/// Facts of a report besides the rows.
pub(crate) struct Context<'a> {
    /// Name of the class.
    pub(crate) title: &'a str,
    /// The exercises in the course's order: name and title. Those that are not among them come
    /// last.
    pub(crate) exercises: &'a [(String, String)],
    /// How much about lost overlap a student may read.
    pub(crate) feedback: Feedback,
    /// Who the students are, by what the rows call them.
    pub(crate) people: &'a BTreeMap<String, Person>,
    /// Submissions that are the same but for white space and comments.
    pub(crate) identical: &'a [Identical],
    /// The drawings of a row; asked once for each.
    pub(crate) timelines: &'a dyn Fn(&Row) -> Timelines,
    /// For [`Format::Canvas`].
    pub(crate) gradebook: Option<Gradebook<'a>>,
    /// For [`Format::Classroom50`].
    pub(crate) submission: Option<Submission>,
    /// Columns of the summary.
    pub(crate) columns: usize,
}

/// Who a student is, as far as a roster says besides what the rows call them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Person {
    /// Their name among people.
    pub(crate) name: Option<String>,
    pub(crate) login: Option<String>,
    /// The number that the institution knows them by.
    pub(crate) id: Option<String>,
    pub(crate) email: Option<String>,
    /// Their name in Moodle's grading worksheet: `Participant 123`.
    pub(crate) participant: Option<String>,
}

/// Students whose files of an exercise say the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identical {
    pub(crate) exercise: String,
    pub(crate) students: Vec<String>,
}

impl Context<'_> {
    /// The name of a student among people.
    fn name<'b>(&'b self, student: &'b str) -> &'b str {
        self.people.get(student).and_then(|person| person.name.as_deref()).unwrap_or(student)
    }

    /// The title of an exercise.
    fn title<'b>(&'b self, exercise: &'b str) -> &'b str {
        let known = self.exercises.iter().find(|(name, _)| name == exercise);
        known.map_or(exercise, |(_, title)| title)
    }
}

/// Writes `rows`, which come ordered by student, into `folder` and says which files there are now.
/// The output of a student's program is kept for one student at a time.
pub(crate) fn write(
    format: Format,
    rows: impl IntoIterator<Item = Result<Row>>,
    context: &Context<'_>,
    folder: &Path,
) -> Result<Vec<PathBuf>> {
    let rows = rows.into_iter();
    let mut files = Files { folder, written: Vec::new() };
    match format {
        Format::Jsonl => {
            let mut text = String::new();
            for row in rows {
                text.push_str(&jsonl::line(&row?)?);
            }
            files.put("grades.jsonl", &text)?;
        }
        Format::Text => {
            let rows = without_texts(rows)?;
            files.put("summary.txt", &summary::text(&rows, context, Style::Plain))?;
        }
        Format::Csv => files.put("grades.csv", &csv::text(&without_texts(rows)?)?)?,
        Format::Junit => {
            let rows: Vec<Row> = rows.map(|row| row.map(junit::cut)).collect::<Result<_>>()?;
            files.put("junit.xml", &junit::text(&rows, context)?)?;
        }
        Format::Markdown => {
            let rows: Vec<Row> = rows.map(|row| row.map(markdown::cut)).collect::<Result<_>>()?;
            files.put("summary.md", &markdown::text(&rows, context))?;
        }
        Format::Canvas => {
            let Some(gradebook) = &context.gradebook else {
                bail!(
                    "there is no gradebook to fill\n\nhint: export it from Canvas (Grades, Export) \
                     and name the file and the column"
                );
            };
            let filled = canvas::fill(&without_texts(rows)?, context, gradebook)?;
            files.put("canvas.csv", &filled.gradebook)?;
            // Also where all are matched: a file of an earlier run would say otherwise.
            files.put("canvas_unmatched.csv", &filled.unmatched)?;
        }
        Format::Moodle => {
            let tables = moodle::tables(&without_texts(rows)?, context)?;
            files.put("moodle.csv", &tables.complete)?;
            files.put("moodle_unfinished.csv", &tables.unfinished)?;
        }
        Format::Gradescope => {
            singly(rows, "gradescope", "results.json", &mut files, |rows| {
                gradescope::text(rows, context)
            })?;
        }
        Format::Prairielearn => {
            singly(rows, "prairielearn", "results.json", &mut files, |rows| {
                prairielearn::text(rows, context)
            })?;
        }
        Format::Classroom50 => {
            let rows: Vec<Row> = rows.collect::<Result<_>>()?;
            let Some(submission) = &context.submission else {
                bail!(
                    "nothing says which submission this is\n\nhint: run it where Classroom 50 does, \
                     which sets `CLASSROOM`, `ASSIGNMENT` and others"
                );
            };
            files.put("result.json", &classroom50::text(&rows, submission)?)?;
        }
        Format::Html => {
            let mut kept = Vec::new();
            by_student(rows, |rows| {
                let page = student_page::text(&rows, context);
                files.put(&format!("students/{}.html", slug(&rows[0].student)), &page)?;
                kept.extend(rows.into_iter().map(without_text));
                Ok(())
            })?;
            files.put("index.html", &class_page::text(&kept, context))?;
        }
    }
    Ok(files.written)
}

/// One file for each student; with a single one it lies where an autograder looks for it.
fn singly(
    rows: impl Iterator<Item = Result<Row>>,
    folder: &str,
    file: &str,
    files: &mut Files<'_>,
    text: impl Fn(&[Row]) -> Result<String>,
) -> Result<()> {
    let mut first: Option<(String, String)> = None;
    let mut several = false;
    by_student(rows, |rows| {
        let (name, text) = (slug(&rows[0].student), text(&rows)?);
        if let Some((name, text)) = first.take() {
            several = true;
            files.put(&format!("{folder}/{name}/{file}"), &text)?;
        }
        match several {
            true => files.put(&format!("{folder}/{name}/{file}"), &text)?,
            false => first = Some((name, text)),
        }
        Ok(())
    })?;
    match first {
        Some((_, text)) => files.put(&format!("{folder}/{file}"), &text),
        None if several => Ok(()),
        None => bail!("there is no row to write"),
    }
}

/// Hands over the rows of each student, who come one after the other.
fn by_student(
    rows: impl Iterator<Item = Result<Row>>,
    mut take: impl FnMut(Vec<Row>) -> Result<()>,
) -> Result<()> {
    let mut of_one: Vec<Row> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for row in rows {
        let row = row?;
        if of_one.first().is_some_and(|first| first.student != row.student) {
            take(std::mem::take(&mut of_one))?;
        }
        if of_one.is_empty() && !seen.insert(row.student.clone()) {
            bail!("the rows of `{}` do not come one after the other", plain::line(&row.student));
        }
        of_one.push(row);
    }
    if of_one.is_empty() { Ok(()) } else { take(of_one) }
}

/// A row as a report of the whole class needs it.
fn without_text(mut row: Row) -> Row {
    row.compiler = String::new();
    row.output = String::new();
    row
}

fn without_texts(rows: impl Iterator<Item = Result<Row>>) -> Result<Vec<Row>> {
    rows.map(|row| row.map(without_text)).collect()
}

/// The files of a report.
struct Files<'a> {
    folder: &'a Path,
    written: Vec<PathBuf>,
}

impl Files<'_> {
    /// Writes a file whole or not at all: who reads it meanwhile sees the one that was there.
    fn put(&mut self, name: &str, text: &str) -> Result<()> {
        let path = self.folder.join(name);
        let write = || -> std::io::Result<()> {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            let beside = path.with_extension("new");
            fs::write(&beside, text)?;
            fs::rename(&beside, &path)
        };
        write().with_context(|| format!("cannot write `{}`", path.display()))?;
        self.written.push(path);
        Ok(())
    }
}

/// The rows of a class as most reports look at them.
fn roll<'a>(rows: &'a [Row], context: &Context<'_>) -> Roll<'a> {
    Roll::new(rows, context.exercises.iter().map(|(name, _)| name.as_str()))
}
