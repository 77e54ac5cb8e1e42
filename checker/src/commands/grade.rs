//! `checker grade`: a class.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::class::grading::{self, Handed, Plan, Student};
use crate::class::kit::{self, Kit};
use crate::class::one::Bench;
use crate::class::record::{Layers, Level, Row, Submitted};
use crate::class::store::{self, Earlier, Store};
use crate::class::worker::{self, Setting};
use crate::cli;
use crate::device::Simulated;
use crate::exercise::{self, Exercise, Place};
use crate::exit::{Exit, Usage};
use crate::grade::Verdict;
use crate::print;
use crate::scratch::Scratch;
use crate::stage::Indicator;
use crate::workspace::Workspace;

/// Grades a class.
pub(super) fn grade(arguments: &cli::Grade) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercises = exercises(&workspace, &arguments.exercises)?;
    let earlier = if arguments.resume { Earlier::Resumed } else { Earlier::Refused };
    let store = Store::open(&arguments.out, earlier)?;
    let sandbox = Layers { level: Level::None, guards: Vec::new(), missing: Vec::new() };
    let device = Simulated::named(arguments.profile.as_deref())?;

    let staged = Scratch::new()?;
    let places: Vec<Place> = exercises.iter().map(|exercise| exercise.place.clone()).collect();
    let indicator = Indicator::start();
    let kit = Kit::stage(&workspace, &places, staged.path(), &|stage| indicator.tell(stage))?;
    drop(indicator);
    let setting = Setting {
        kit: kit.clone(),
        exercises: places.iter().map(|place| place.folder.clone()).collect(),
        profile: arguments.profile.clone(),
        sandbox: sandbox.clone(),
    };
    let kit = Arc::new(kit);
    let bench = |exercise: &Exercise| {
        Bench::new(exercise.clone(), Arc::clone(&kit), device.clone(), sandbox.clone())
    };
    let benches = exercises.iter().map(bench).collect::<Result<Vec<_>>>()?;

    let mut students = submissions(&arguments.folder, &exercises)?;
    if let Some(shard) = arguments.shard {
        students.retain(|student| shard.holds(&student.id));
    }
    let start = Instant::now();
    let plan = Plan {
        workspace: &workspace,
        setting: &setting,
        benches: &benches,
        store: &store,
        jobs: arguments.jobs.unwrap_or_else(cores),
        budget_s: arguments.budget,
        progress: &|done, total| print::progress(&format!("graded {done} of {total}")),
    };
    let graded = grading::grade(&plan, &students)?;
    print::progress("");
    let written = store.write_rows(&graded.rows, arguments.shard)?;
    let wall_s = start.elapsed().as_secs_f64();
    print::err(&format!(
        "{} exercises of {} students in {wall_s:.1} s; {} were compiled and run; `{}`\n",
        graded.rows.len(),
        students.len(),
        graded.run,
        written.display()
    ));
    Ok(exit(&graded.rows))
}

/// Puts parts of a class into one.
pub(super) fn merge(folders: &[PathBuf], out: &Path) -> Result<Exit> {
    let mut rows = Vec::new();
    for folder in folders {
        rows.extend(store::read_rows(folder)?);
    }
    let rows = store::merge(rows)?;
    let store = Store::open(out, Earlier::Resumed)?;
    for folder in folders {
        store.take_drawings(folder)?;
    }
    let written = store.write_rows(&rows, None)?;
    print::err(&format!("{} exercises; `{}`\n", rows.len(), written.display()));
    Ok(exit(&rows))
}

/// What the rows come to for whoever started the command: that somebody failed is no trouble.
fn exit(rows: &[Row]) -> Exit {
    let has = |verdict| rows.iter().any(|row| row.verdict == verdict);
    match () {
        () if has(Verdict::Error) => Exit::Error,
        () if has(Verdict::Inconclusive) => Exit::Inconclusive,
        () => Exit::Passed,
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn exercises(workspace: &Workspace, wanted: &[String]) -> Result<Vec<Exercise>> {
    if wanted.is_empty() {
        let places = exercise::all(workspace)?;
        return places.into_iter().map(|place| place.open(workspace)).collect();
    }
    wanted.iter().map(|wanted| exercise::find(workspace, wanted)).collect()
}

fn submissions(folder: &Path, exercises: &[Exercise]) -> Result<Vec<Student>> {
    let mut students = Vec::new();
    let entries = std::fs::read_dir(folder)
        .map_err(|error| Usage(format!("cannot list `{}`: {error}", folder.display())))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders.iter().filter(|folder| folder.is_dir()) {
        let id = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let handed =
            exercises.iter().map(|exercise| handed(folder, exercise)).collect::<Result<_>>()?;
        students.push(Student { id, handed });
    }
    Ok(students)
}

fn handed(folder: &Path, exercise: &Exercise) -> Result<Handed> {
    let path = folder.join(format!("{}.rs", exercise.place.id));
    let Ok(bytes) = std::fs::read(&path) else {
        return Ok(Handed::Missing { message: "there is no file".to_owned() });
    };
    let shipped = std::fs::read(exercise.place.folder.join(".shipped/lib.rs"));
    let submitted = Submitted {
        path: path.strip_prefix(folder).unwrap_or(&path).display().to_string(),
        bytes: bytes.len() as u64,
        sha256: kit::sha256(&bytes),
        ignored: Vec::new(),
    };
    if std::str::from_utf8(&bytes).is_err() {
        return Ok(Handed::Invalid { message: "the file is not UTF-8".to_owned() });
    }
    if shipped.is_ok_and(|shipped| shipped == bytes) {
        return Ok(Handed::Untouched { submitted });
    }
    Ok(Handed::File { bytes, submitted, flags: Vec::new() })
}

/// The body of a worker's process.
pub(super) fn worker() -> Result<Exit> {
    let workspace = Workspace::find().context("a worker is started by the checker alone")?;
    worker::serve(&workspace)?;
    Ok(Exit::Passed)
}
