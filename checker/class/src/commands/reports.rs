//! The reports of a class, which all commands that touch its grades write.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde::Serialize;
use trace::words::counted;

use crate::export::{self, Gradebook, Identical, Person, Timelines};
use crate::record::{Reason, Row};
use crate::roster::{Member, Roster};
use crate::similar;
use crate::store::Store;
use checker::cli;
use checker::cli::class::Format;
use checker::exercise::{self, Exercise};
use checker::exit::{Exit, Usage};
use checker::grade::Verdict;
use checker::print::{self, Style};
use checker::workspace::Workspace;

/// The sources of reports, besides the command line.
pub(super) struct Reports<'a> {
    pub(super) arguments: &'a cli::ClassReport,
    pub(super) store: &'a Store,
    pub(super) rows: &'a [Row],
    pub(super) roster: Option<&'a Roster>,
    pub(super) exercises: &'a [Exercise],
}

impl Reports<'_> {
    /// Writes every report that was named, and shows the summary.
    pub(super) fn write_and_show(&self, look: cli::Look) -> Result<()> {
        #[derive(Serialize)]
        struct Object {
            format: u32,
            rows: usize,
            /// How many rows have each verdict.
            verdicts: BTreeMap<String, usize>,
            written: Vec<PathBuf>,
        }

        let written = self.write()?;
        if look.json {
            let mut verdicts = BTreeMap::new();
            for row in self.rows {
                *verdicts.entry(row.verdict.to_string()).or_default() += 1;
            }
            return print::json(&Object { format: 1, rows: self.rows.len(), verdicts, written });
        }
        let style = if look.plain { Style::Plain } else { Style::of_stdout() };
        self.with_context(|context| {
            print::out(&export::summary::text(self.rows, context, style));
            Ok(())
        })
    }

    /// Writes every report that was named; their paths.
    pub(super) fn write(&self) -> Result<Vec<PathBuf>> {
        self.with_context(|context| {
            let mut written = Vec::new();
            for &format in &self.arguments.formats {
                // The rows themselves lie beside the reports.
                if format != Format::Jsonl {
                    let rows = self.rows.iter().map(|row| Ok(row.clone()));
                    written.extend(export::write(format, rows, context, &self.store.reports())?);
                }
            }
            Ok(written)
        })
    }

    /// Gives `body` what a report says besides what the rows say.
    fn with_context<T>(&self, body: impl FnOnce(&export::Context<'_>) -> Result<T>) -> Result<T> {
        let &Self { arguments, store, rows, roster, exercises } = self;
        let titles: Vec<(String, String)> = exercises
            .iter()
            .map(|exercise| (exercise.place.id.clone(), exercise.manifest.title.clone()))
            .collect();
        let mut counts: BTreeMap<&String, usize> = BTreeMap::new();
        let names = roster.iter().flat_map(|roster| roster.members.values());
        for name in names.filter_map(|member| member.name.as_ref()) {
            *counts.entry(name).or_default() += 1;
        }
        let people: BTreeMap<String, Person> = roster
            .iter()
            .flat_map(|roster| &roster.members)
            .map(|(id, member)| {
                let Member { name, email, participant, .. } = member.clone();
                // Of two with one name, each has the id too.
                let alone = |name: &String| counts[name] == 1;
                let name =
                    name.map(|name| if alone(&name) { name } else { format!("{name} ({id})") });
                (id.clone(), Person { name, email, participant, ..Person::default() })
            })
            .collect();
        let drawings = store.drawings();
        let timelines = |row: &Row| {
            let path = row.drawing().map(|name| drawings.join(name));
            let student = path.and_then(|path| std::fs::read_to_string(path).ok());
            Timelines { student, reference: None }
        };
        let gradebook = match &arguments.gradebook {
            None => None,
            Some(path) => Some(
                std::fs::read_to_string(path)
                    .map_err(|error| Usage(format!("cannot read `{}`: {error}", path.display())))?,
            ),
        };
        body(&export::Context {
            title: &arguments.title,
            exercises: &titles,
            feedback: arguments.feedback,
            people: &people,
            identical: &identical(rows),
            timelines: &timelines,
            gradebook: gradebook
                .as_deref()
                .map(|export| Gradebook { export, columns: &arguments.columns }),
            submission: export::Submission::of_environment(),
            columns: print::columns(),
        })
    }
}

/// Students with the same file, unless it is the one that everybody was handed.
fn identical(rows: &[Row]) -> Vec<Identical> {
    let mut by_exercise: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.reason != Some(Reason::Untouched)) {
        if let Some(file) = &row.file {
            let files = by_exercise.entry(&row.exercise).or_default();
            files.push((&row.student, &file.sha256));
        }
    }
    let groups = by_exercise.into_iter().flat_map(|(exercise, files)| {
        let groups = similar::identical(files);
        groups
            .into_iter()
            .map(|students| Identical { exercise: exercise.to_owned(), students })
            .collect::<Vec<_>>()
    });
    groups.collect()
}

/// Says where reports are.
pub(super) fn tell_reports(store: &Store) {
    let folder = store.reports();
    if folder.is_dir() {
        print::err(&format!("reports in `{}`\n", folder.display()));
    }
}

/// Says how many notes there are, and where.
pub(super) fn tell_notes(notes: &[String], noted: &Path) {
    if !notes.is_empty() {
        print::err(&format!("{}; `{}`\n", counted(notes.len(), "note"), noted.display()));
    }
}

/// The exit that the rows come to: that a student failed is no trouble.
pub(super) fn exit(rows: &[Row]) -> Exit {
    let has = |verdict| rows.iter().any(|row| row.verdict == verdict);
    match () {
        () if has(Verdict::Error) => Exit::Error,
        () if has(Verdict::Inconclusive) => Exit::Inconclusive,
        () => Exit::Passed,
    }
}

/// The exercises that are wanted, in the book's order: all of them where none is named.
pub(super) fn exercises(workspace: &Workspace, wanted: &[String]) -> Result<Vec<Exercise>> {
    if wanted.is_empty() {
        let places = exercise::all(workspace)?;
        return places.into_iter().map(|place| place.open(workspace)).collect();
    }
    let mut exercises: Vec<Exercise> = Vec::new();
    for wanted in wanted {
        let exercise = exercise::find(workspace, wanted)?;
        if exercises.iter().all(|other| other.place.id != exercise.place.id) {
            exercises.push(exercise);
        }
    }
    exercises.sort_by_key(|exercise| exercise.place.number);
    Ok(exercises)
}

/// Those of the workspace, where this is one: without, the names in the rows have to do.
pub(super) fn exercises_if_any() -> Result<Vec<Exercise>> {
    match Workspace::find() {
        Ok(workspace) => exercises(&workspace, &[]),
        Err(_) => Ok(Vec::new()),
    }
}

/// A table that the instructor wrote. What is wrong with it can be mended by them.
pub(super) fn table<T>(path: &Path, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let bytes = std::fs::read(path)
        .map_err(|error| Usage(format!("cannot read `{}`: {error}", path.display())))?;
    read(&bytes)
        .map_err(|error| Usage(format!("cannot read `{}`:\n{error:#}", path.display())).into())
}

/// Who is in the class, where that was given.
pub(super) fn roster(arguments: &cli::ClassReport) -> Result<Option<Roster>> {
    let key = arguments.key.as_deref();
    let read = |path: &PathBuf| table(path, |bytes| Roster::read(bytes, key));
    arguments.roster.as_ref().map(read).transpose()
}
