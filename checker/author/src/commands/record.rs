//! `checker dev record`: writes every copy that has to exist of what stands elsewhere.
//!
//! | copy | of what |
//! | --- | --- |
//! | `recorded` | what baseline and solution ask of the simulated device: a workspace without solutions can be graded too |
//! | `.shipped` | the student's file, and what says what the exercise is |
//! | `book/figures` | the runs that pages show, and what they take |
//! | snapshots of `checker/tests/it` | the scores of the alternatives, and what each synchronisation is for |

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use simulator::Schedule;
use trace::{Program, Record};

use crate::figures::{self, Figures};
use checker::attempt::Machine;
use checker::attempt::{self, Order, Runnable, Watched};
use checker::cli::author::Record as Arguments;
use checker::commands::run::{numbers, target};
use checker::compile::{Build, Built, Optimisation, Source, Target, cargo_command};
use checker::exercise::{self, Exercise};
use checker::exit::Exit;
use checker::grade::gate::Demand;
use checker::grade::{Finding, judge};
use checker::print::{self, Style};
use checker::report::Role;
use checker::status::Indicator;
use checker::workspace::Workspace;
use sandbox::process::Limits;

/// Records the exercises that are named, or all.
pub(crate) fn record(arguments: &Arguments) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercises = exercise::named_or_all(&workspace, &arguments.exercises)?;
    let written = |path: &Path| {
        print::out(&format!("wrote {}\n", workspace.relative(path).display()));
    };
    for exercise in &exercises {
        let id = &exercise.place.id;
        let copies = copies(&workspace, exercise).with_context(|| format!("cannot record `{id}`"));
        copies?.iter().for_each(|path| written(path));
    }
    let has_tests = TESTS.iter().all(|(_, _, folder)| workspace.root().join(folder).is_dir());
    if !arguments.no_snapshots && has_tests {
        let named = exercises.iter().map(|exercise| exercise.place.id.as_str());
        let before = contents(&workspace)?;
        accept(&workspace, &named.collect::<Vec<_>>())?;
        let after = contents(&workspace)?;
        let changed = after.iter().filter(|(path, text)| before.get(*path) != Some(text));
        changed.for_each(|(path, _)| written(path));
    }
    Ok(Exit::Passed)
}

/// Writes what follows from an exercise's own files; the files that were others before.
fn copies(workspace: &Workspace, exercise: &Exercise) -> Result<Vec<PathBuf>> {
    let runs = figures::runs(exercise);
    let roles: Vec<Role> = runs.iter().map(|(role, _)| role.clone()).collect();
    let recorder = Recorder::new(workspace, exercise, &roles)?;
    let figures = Figures::of(workspace);
    let mut times = figures.as_ref().map(Figures::times).unwrap_or_default();
    let of_exercise = format!("{}.", exercise.place.id);
    times.retain(|name, _| !name.starts_with(&of_exercise));
    let mut written = Vec::new();
    for (role, name) in runs {
        let record = recorder.run(&role, Schedule::Exact).with_context(|| role.to_string())?;
        if let Some(file) = figures::recorded(&role) {
            written.extend(write(&exercise.place.folder.join(file), &lines(&record.program)?)?);
        }
        if let (Some(figures), Some(name)) = (&figures, name) {
            times.insert(name.clone(), figures::line(&name, &record.timeline));
            written.extend(figures.write(&name, &figures::kept(&role, record))?);
        }
    }
    for (from, to) in exercise.place.shipped_files() {
        let text = std::fs::read_to_string(&from)
            .with_context(|| format!("cannot read `{}`", from.display()))?;
        written.extend(write(&to, &text)?);
    }
    if let Some(figures) = figures {
        written.extend(figures.write_times(&times)?);
    }
    Ok(written)
}

/// The tests that look at each exercise: their packages, what they are called, and where they keep
/// what they saw, a file for each exercise.
const TESTS: [(&str, &str, &str); 3] = [
    (
        "author",
        "synchronisations::each_synchronisation_of_a_solution",
        "checker/tests/it/snapshots",
    ),
    ("author", "alternatives::solutions_written_differently", "checker/tests/it/snapshots"),
    ("trace", "unwaited::each_final_wait", "checker/trace/tests/it/hazards/snapshots"),
];

/// Names the exercises, parted by commas, that the tests below look at.
const ONLY: &str = "SWIM_ONLY";

/// Lets these tests accept what they see.
fn accept(workspace: &Workspace, exercises: &[&str]) -> Result<()> {
    for (package, test, _) in TESTS {
        let mut cargo = cargo_command();
        cargo.args(["test", "--quiet", "--package", package, "--test", "it", "--", test]);
        cargo.current_dir(workspace.root()).env(ONLY, exercises.join(","));
        cargo.env("INSTA_UPDATE", "always").env("INSTA_FORCE_PASS", "1");
        let output = cargo.output().context("cannot start `cargo`")?;
        if !output.status.success() {
            let said = [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said));
            bail!("the test `{test}` fails\n\n{}", said.concat().trim_end());
        }
    }
    Ok(())
}

fn contents(workspace: &Workspace) -> Result<BTreeMap<PathBuf, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for folder in TESTS.map(|(_, _, folder)| workspace.root().join(folder)) {
        let context = || format!("cannot read `{}`", folder.display());
        for entry in std::fs::read_dir(&folder).with_context(context)? {
            let path = entry.with_context(context)?.path();
            let bytes = std::fs::read(&path).with_context(context)?;
            contents.insert(path, bytes);
        }
    }
    Ok(contents)
}

/// Programs of one exercise, ready to run.
pub(super) struct Recorder<'a> {
    exercise: &'a Exercise,
    build: Build,
}

impl<'a> Recorder<'a> {
    /// Builds the programs of these roles.
    pub(super) fn new(
        workspace: &Workspace,
        exercise: &'a Exercise,
        roles: &[Role],
    ) -> Result<Self> {
        let targets: Result<Vec<Target>> =
            roles.iter().map(|role| target(exercise, role)).collect();
        let source = Source::Cargo(workspace.clone());
        let indicator = Indicator::start();
        let built = source.build(
            &targets?,
            Optimisation::Dev,
            workspace.root(),
            Style::of_stderr(),
            &|stage| indicator.tell(stage),
        )?;
        match built {
            Built::Ready(build) => Ok(Self { exercise, build }),
            Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
        }
    }

    /// Runs a role's program, in some legal order of operations; an error where it fails a gate.
    pub(super) fn run(&self, role: &Role, schedule: Schedule) -> Result<Record> {
        let Self { exercise, build } = self;
        let executable = build.executable(&target(exercise, role)?.name)?;
        let limit_s = exercise.manifest.time_limit_s;
        let attempt = attempt::run(&Order {
            program: Runnable { numbers: numbers(exercise, role), ..Runnable::program(executable) },
            folder: &exercise.place.folder,
            driver: build.driver.as_deref(),
            device: Watched::Simulated {
                profile: None,
                schedule,
                watch: None,
                machine: Machine::InProcess,
                demand: None,
            },
            mode: trace::env::MODE_SOLVE,
            limits: Limits { wall: Duration::from_secs_f64(limit_s), output_bytes: 64 * 1024 },
            sandbox: None,
        })?;
        let demand = match role {
            Role::Puzzle(_) => Demand::Region,
            Role::Student | Role::Baseline | Role::Solution => Demand::Task { trials: 1 },
        };
        match judge(&attempt, limit_s, demand) {
            Finding::Clear => {}
            Finding::Failed { gate, message } => bail!("gate `{gate}`: {message}"),
            Finding::Trouble { message } => bail!("{message}"),
        }
        attempt.record?.with_context(|| format!("the run of {role} left no record"))
    }
}

/// A program as it stands in its file. JSON with a line for each step: a change of one call is one
/// line of a diff.
pub(super) fn lines(program: &Program) -> Result<String> {
    let Program { version, scale, sites, steps } = program;
    let mut text = format!("{{\"version\":{version},\"scale\":{scale},\"sites\":");
    list(&mut text, sites)?;
    text.push_str(",\"steps\":");
    list(&mut text, steps)?;
    text.push_str("}\n");
    Ok(text)
}

fn list<T: serde::Serialize>(text: &mut String, items: &[T]) -> Result<()> {
    text.push('[');
    for (index, item) in items.iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        write!(text, "{comma}\n{}", serde_json::to_string(item)?)?;
    }
    text.push(']');
    Ok(())
}

/// Writes a file; its path, where something else stood there.
fn write(path: &Path, text: &str) -> Result<Option<PathBuf>> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(None);
    }
    let folder = path.parent().context("a file has a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, text))
        .with_context(|| format!("cannot write `{}`", path.display()))?;
    Ok(Some(path.to_owned()))
}

#[cfg(test)]
mod tests {
    use trace::program::{Call, Site, Step};

    use super::*;

    #[test]
    fn a_recorded_program_reads_back_as_it_was() {
        let mut program = Program::new(32);
        program.sites.push(Site { file: "src/lib.rs".to_owned(), line: 3, column: None });
        for call in [Call::RegionBegin, Call::HostWork { ns: 5, target: None }, Call::RegionEnd] {
            program.steps.push(Step {
                call,
                site: Some(0),
                thread: 0,
                gap_ns: 0,
                result: 0,
                device: 0,
            });
        }
        let text = lines(&program).expect("plain data");
        assert_eq!(text.lines().count(), 1 + program.sites.len() + program.steps.len());
        assert_eq!(serde_json::from_str::<Program>(&text).expect("it is JSON"), program);
    }
}
