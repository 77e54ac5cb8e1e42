//! `checker dev check`: whether exercises are fit to be solved and graded.
//!
//! What pages, quizzes and figures have to be the book's own program knows, and is asked: a learner
//! who compiles the checker does not compile mdBook.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use simulator::Schedule;
use trace::causes::Code;
use trace::numbers;

use crate::problem::line_of;
use crate::{Problem, Problems, advice, placeholders, solution_regions};
use checker::cli;
use checker::cli::author::{Check, Half};
use checker::commands::run;

use crate::commands::record::{self, Recorder};
use crate::figures::{self, Figures};
use checker::compile::{Built, Complaint, Optimisation, Source, cargo_command};
use checker::exercise::{self, Exercise, MANIFEST, Metric};
use checker::exit::Exit;
use checker::grade::{Gate, score};
use checker::print::{self, Style};
use checker::report::{Presentation, Report, Role, json};
use checker::workspace::Workspace;

/// Times that baseline and solution are run as everybody runs them.
const REPEATS: usize = 3;
/// Other legal orders of operations that the solution has to be right in.
const SCHEDULES: u64 = 4;
/// How far baseline and reference have to be apart: with less, points would hang on noise.
const LEAST_DELTA: f64 = 0.2;
/// Where solutions written differently lie, a folder for each exercise.
const ALTERNATIVES: &str = "checker/tests/alternatives";
/// The fewest that an exercise has: with fewer, its score is not known to suit other ways.
const LEAST_ALTERNATIVES: usize = 4;
/// The share of the serial time that overlapping has to be able to save.
const LEAST_HEADROOM: f64 = 0.3;

/// Checks what the command line names.
pub(crate) fn check(arguments: &Check) -> Result<Exit> {
    let workspace = Workspace::find()?;
    let exercises = exercise::named_or_all(&workspace, &arguments.exercises)?;
    let mut checked: Vec<Checked> = Vec::new();
    for exercise in &exercises {
        let mut problems = Problems::new(workspace.root());
        if arguments.only != Some(Half::Page) {
            Examination { workspace: &workspace, exercise, problems: &mut problems }.all()?;
        }
        if arguments.only != Some(Half::Exercise) {
            page(&workspace, &exercise.place.id, &mut problems)?;
        }
        checked.push(Checked { exercise: exercise.place.id.clone(), problems: problems.sorted() });
        if !arguments.look.json {
            print::out(&text(checked.last().into_iter()));
        }
    }
    if arguments.look.json {
        print::json(&Object { format: 1, checked: &checked })?;
    }
    let sound = checked.iter().all(|checked| checked.problems.is_empty());
    Ok(if sound { Exit::Passed } else { Exit::Failed })
}

/// The whole report of a run, as JSON.
fn facts(report: &Report) -> Result<String> {
    Ok(serde_json::to_string(&json::object(report, &Presentation::default(), None))?)
}

#[derive(Serialize)]
struct Object<'a> {
    format: u32,
    checked: &'a [Checked],
}

/// An exercise, and what is wrong with it.
#[derive(Serialize)]
struct Checked {
    exercise: String,
    problems: Vec<Problem>,
}

fn text<'a>(checked: impl Iterator<Item = &'a Checked>) -> String {
    let mut text = String::new();
    for Checked { exercise, problems } in checked {
        for problem in problems {
            text.push_str(&format!("{problem}\n"));
        }
        text.push_str(&match problems.len() {
            0 => format!("{exercise}: nothing to complain about\n"),
            1 => format!("{exercise}: 1 problem\n"),
            n => format!("{exercise}: {n} problems\n"),
        });
    }
    text
}

/// Asks the book's own program about the exercise's page.
fn page(workspace: &Workspace, id: &str, problems: &mut Problems) -> Result<()> {
    let mut cargo = cargo_command();
    cargo.current_dir(workspace.root()).args([
        "run",
        "--quiet",
        "--package",
        "book",
        "--",
        "proof",
        id,
    ]);
    let output = cargo.stdin(Stdio::null()).output().context("cannot start `cargo`")?;
    let said = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(());
    }
    if said.trim().is_empty() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("the book cannot be proofed\n\n{}", said.trim_end());
    }
    said.lines().for_each(|line| problems.add_said(line));
    Ok(())
}

struct Examination<'a> {
    workspace: &'a Workspace,
    exercise: &'a Exercise,
    problems: &'a mut Problems,
}

impl Examination<'_> {
    fn all(mut self) -> Result<()> {
        self.places();
        self.files();
        self.alternatives();
        if !self.compiles()? {
            return Ok(());
        }
        let runs = figures::runs(self.exercise);
        let roles: Vec<Role> = runs.iter().map(|(role, _)| role.clone()).collect();
        let recorder = Recorder::new(self.workspace, self.exercise, &roles)?;
        if self.recordings(&recorder)? {
            self.shipped();
            self.ends(&recorder)?;
        }
        Ok(())
    }

    fn own(&self, file: &str) -> PathBuf {
        self.exercise.place.folder.join(file)
    }

    fn solution(&self) -> PathBuf {
        self.workspace.root().join("solutions").join(self.exercise.place.name())
    }

    /// Where a chapter that was started has places to fill.
    fn places(&mut self) {
        let lab = self.workspace.root().join("exercises/lab");
        let file = format!("{}.rs", self.exercise.place.id);
        for path in [
            self.exercise.place.folder.clone(),
            self.solution(),
            lab.join("src").join(&file),
            lab.join("kernels/src/task").join(&file),
        ] {
            placeholders::find(&path, self.problems);
        }
        placeholders::find_of(
            &self.exercise.place.id,
            &lab.join("kernels/src/task.rs"),
            self.problems,
        );
    }

    /// Solutions written differently, where the tests are that look at them.
    fn alternatives(&mut self) {
        let all = self.workspace.root().join(ALTERNATIVES);
        if !all.is_dir() {
            return;
        }
        let own = all.join(&self.exercise.place.id);
        let count = std::fs::read_dir(&own).into_iter().flatten().flatten().count();
        if count < LEAST_ALTERNATIVES {
            let message =
                format!("{count} solutions written differently, of at least {LEAST_ALTERNATIVES}");
            self.problems.add(&own, None, message);
        }
    }

    /// Checks all that can be seen without running anything.
    fn files(&mut self) {
        let (shipped, student) = (self.own(".shipped/lib.rs"), self.exercise.place.file());
        let (solution, manifest) = (self.solution().join("src/lib.rs"), self.own(MANIFEST));
        let mut read = |path: &Path| match std::fs::read_to_string(path) {
            Ok(text) => Some(text),
            Err(error) => {
                self.problems.add(path, None, format!("cannot read it: {error}"));
                None
            }
        };
        let [old, now, new, hinted] =
            [&shipped, &student, &solution, &manifest].map(|path| read(path));
        if let (Some(old), Some(now)) = (&old, &now)
            && old != now
        {
            let same = old.lines().zip(now.lines()).take_while(|(a, b)| a == b).count();
            let message = format!(
                "the student's file is not the shipped one: `cargo run -- dev record {}` ships it",
                self.exercise.place.id
            );
            self.problems.add(&student, same + 1, message);
        }
        let mut changed = Vec::new();
        if let (Some(old), Some(new)) = (&old, &new) {
            let is_free = !self.exercise.manifest.plan.is_empty();
            let files = [(&*student, &**old), (&*solution, &**new)];
            changed = solution_regions::compare(files, is_free, self.problems);
        }
        for name in exercise::MANIFESTS {
            let (own, copy) = self.exercise.place.copies(name);
            if std::fs::read(&own).ok() != std::fs::read(&copy).ok() {
                let id = &self.exercise.place.id;
                let message =
                    format!("not what lies in `.shipped`: `cargo run -- dev record {id}`");
                self.problems.add(&own, None, message);
            }
        }
        let cause = self.exercise.manifest.cause.as_deref();
        if cause.is_none() {
            let message = "no `cause`: the code that a run of the shipped file finds first";
            self.problems.add(&manifest, None, message);
        }
        let text = hinted.as_deref().unwrap_or_default();
        match self.exercise.question() {
            Ok(Some(_)) => {}
            // Without programs there is nothing to ask about; that the page has no puzzle is said
            // there.
            Ok(None) if self.exercise.manifest.programs.is_empty() => {}
            Ok(None) => {
                self.problems.add(
                    &manifest,
                    None,
                    "no `[puzzle]`: the question about its programs",
                );
            }
            Err(error) => {
                self.problems.add(&manifest, line_of(text, "[puzzle]"), print::chain(&error));
            }
        }
        self.numbers(&manifest, text);
        if let Some(hinted) = hinted {
            // What is said of a gate is for everybody: hints without a code.
            let code = cause.filter(|cause| Gate::named(cause).is_none());
            advice::check((&manifest, &hinted), code, &changed, self.problems);
        }
    }

    /// Whether each program that shares its file has the numbers that the file reads, and no
    /// others.
    fn numbers(&mut self, manifest: &Path, text: &str) {
        for program in &self.exercise.manifest.programs {
            let file = self.own(&self.exercise.program_file(program));
            let source = std::fs::read_to_string(&file).unwrap_or_default();
            let asked = numbers::asked(&source);
            let line = line_of(text, &format!("name = \"{}\"", program.name));
            let name = &program.name;
            for number in asked.iter().filter(|it| !program.numbers.contains_key(**it)) {
                let message = format!("`{name}` has no number `{number}`, for which its file asks");
                self.problems.add(manifest, line, message);
            }
            for number in program.numbers.keys().filter(|it| !asked.contains(&it.as_str())) {
                let message =
                    format!("`{name}` has a number `{number}`, and its file asks for none");
                self.problems.add(manifest, line, message);
            }
        }
    }

    /// Whether all programs compile, and without a warning.
    fn compiles(&mut self) -> Result<bool> {
        let source = Source::Cargo(self.workspace.clone());
        let puzzles = self.exercise.manifest.programs.iter().map(|p| Role::Puzzle(p.name.clone()));
        let mut roles = vec![Role::Student, Role::Baseline];
        roles.extend(puzzles);
        let solution = self.solution();
        let mut compile = |roles: &[Role], own: &Path| -> Result<bool> {
            let targets: Result<Vec<_>> =
                roles.iter().map(|role| run::target(self.exercise, role)).collect();
            let built = source.build(&targets?, Optimisation::Dev, own, Style::Plain, &|_| {})?;
            let (said, compiles) = match built {
                Built::Ready(build) => (build.warned, true),
                Built::Refused(refusal) => (refusal.complaints, false),
            };
            for Complaint { place, message } in said {
                let (file, line) = place.unwrap_or_default();
                let file = if file.is_empty() { own.to_owned() } else { file.into() };
                self.problems.add(&file, Some(line as usize).filter(|line| *line > 0), message);
            }
            Ok(compiles)
        };
        let own = compile(&roles, &self.exercise.place.folder)?;
        // That it is missing has been said.
        Ok(own && solution.is_dir() && compile(&[Role::Solution], &solution)?)
    }

    /// Whether all programs run, and whether what is kept of them is what they do today. Says
    /// whether a score can be given: whether what is recorded of its two ends is.
    fn recordings(&mut self, recorder: &Recorder<'_>) -> Result<bool> {
        let mut can_score = true;
        let again = format!("`cargo run -- dev record {}`", self.exercise.place.id);
        let figures = Figures::of(self.workspace);
        let times = figures.as_ref().map(Figures::times).unwrap_or_default();
        for (role, name) in figures::runs(self.exercise) {
            let record = match recorder.run(&role, Schedule::Exact) {
                Ok(record) => record,
                Err(error) => {
                    let (file, line) = self.source(&role);
                    self.problems.add(&file, line, print::chain(&error));
                    can_score &= matches!(role, Role::Puzzle(_));
                    continue;
                }
            };
            if let Some(file) = figures::recorded(&role) {
                let path = self.own(file);
                let text = record::lines(&record.program)?;
                if !std::fs::read_to_string(&path).is_ok_and(|kept| kept == text) {
                    let message = match path.exists() {
                        true => format!("not what {role} asks for today: {again}"),
                        false => format!("not there yet: {again}"),
                    };
                    self.problems.add(&path, None, message);
                    can_score = false;
                }
            }
            let (Some(figures), Some(name)) = (&figures, name) else { continue };
            let line = figures::line(&name, &record.timeline);
            let kept = figures.read(&name)?;
            if kept.as_ref() != Some(&figures::kept(&role, record)) {
                let message = match kept {
                    Some(_) => format!("not what {role} does today: {again}"),
                    None => format!("not there yet: {again}"),
                };
                self.problems.add(&figures.file(&name), None, message);
            } else if times.get(&name) != Some(&line) {
                let message = format!("`{name}` does not take today what stands here: {again}");
                self.problems.add(&figures.times_file(), None, message);
            }
        }
        Ok(can_score)
    }

    /// The shipped file scores nothing, for the reason that the exercise is about.
    fn shipped(&mut self) {
        let Some(report) = self.run(&Role::Student) else { return };
        let (file, line) = self.source(&Role::Student);
        if report.score.is_none_or(|score| score > 0.0) {
            let scores = report.score.map_or("nothing known".to_owned(), score::shown);
            let message = format!("the shipped file scores {scores}, not 0 ({})", report.message);
            self.problems.add(&file, line, message);
        }
        let Some(cause) = self.exercise.manifest.cause.as_deref() else { return };
        let gate = report.gate.map(|gate| gate.to_string());
        let found = match Gate::named(cause) {
            Some(_) => gate.as_deref(),
            None => report.found_first(),
        };
        if found != Some(cause) {
            let path = self.own(MANIFEST);
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let found = found.map_or("nothing".to_owned(), |code| format!("`{code}`"));
            let message = format!("a run of the shipped file finds {found} first, not `{cause}`");
            self.problems.add(&path, line_of(&text, "cause"), message);
        }
    }

    /// The two ends of the score: they are where they should be, far enough apart, and stay there.
    fn ends(&mut self, recorder: &Recorder<'_>) -> Result<()> {
        for (role, ends) in [(Role::Baseline, 0.0), (Role::Solution, 100.0)] {
            let (file, line) = self.source(&role);
            let Some(first) = self.run(&role) else { continue };
            if let Some(gate) = first.gate {
                self.problems.add(
                    &file,
                    line,
                    format!("{role} fails gate `{gate}`: {}", first.message),
                );
                continue;
            }
            if first.score != Some(ends) {
                let scores = first.score.map_or("nothing known".to_owned(), score::shown);
                let message = format!("{role} scores {scores}, not {ends} ({})", first.message);
                self.problems.add(&file, line, message);
            }
            for _ in 1..REPEATS {
                let Some(again) = self.run(&role) else { break };
                if facts(&again)? != facts(&first)? {
                    self.problems.add(&file, line, format!("two runs of {role} differ"));
                    break;
                }
            }
            if role == Role::Solution {
                self.reference(&first, recorder, &file, line);
            }
        }
        Ok(())
    }

    /// Checks the solution, apart from its score.
    fn reference(
        &mut self,
        report: &Report,
        recorder: &Recorder<'_>,
        file: &Path,
        line: Option<usize>,
    ) {
        for hazard in &report.hazards {
            let message = format!("{} in the solution: {}", hazard.code, hazard.message());
            self.problems.add(file, line, message);
        }
        // At the end of a plan the device is full, and that kernels wait for room there is as it
        // should be.
        let is_full = |code| !self.exercise.manifest.plan.is_empty() && code == Code::FullDevice;
        for cause in report.advised.causes.iter().filter(|cause| !is_full(cause.code)) {
            let message = format!("{} in the solution: {}", cause.code, cause.headline());
            self.problems.add(file, line, message);
        }
        if let Some(standard) = report.standard
            && standard.delta() < LEAST_DELTA
        {
            let message = format!(
                "baseline and solution are {:.2} apart, and {LEAST_DELTA} is the least",
                standard.delta()
            );
            self.problems.add(file, line, message);
        }
        if let Some(bounds) = report.bounds {
            if report.makespan_ns.is_some_and(|makespan_ns| makespan_ns < bounds.floor_ns) {
                self.problems.add(
                    file,
                    line,
                    "the solution takes less than the busiest engine alone",
                );
            }
            let headroom = bounds.headroom().unwrap_or(0.0);
            // How long a request waits is another matter than how long all of the work takes.
            let overlaps = self.exercise.manifest.metric != Metric::LatencyRatio;
            if overlaps && headroom < LEAST_HEADROOM {
                let message = format!(
                    "overlapping can save {headroom:.2} of the serial time, and {LEAST_HEADROOM} is the \
                     least: change the task's ratios"
                );
                self.problems.add(file, line, message);
            }
        }
        for seed in 1..=SCHEDULES {
            if let Err(error) = recorder.run(&Role::Solution, Schedule::Perturbed(seed)) {
                let message = format!("with `--schedule {seed}`, {}", print::chain(&error));
                self.problems.add(file, line, message);
            }
        }
    }

    /// The file of a role's program, and the line in which its function begins.
    fn source(&self, role: &Role) -> (PathBuf, Option<usize>) {
        let file = match role {
            Role::Student => self.exercise.place.file(),
            Role::Solution => self.solution().join("src/lib.rs"),
            Role::Baseline => self.own("baseline.rs"),
            Role::Puzzle(name) => {
                let program = self.exercise.manifest.programs.iter().find(|p| p.name == *name);
                let file = program.map(|program| self.exercise.program_file(program));
                self.own(&file.unwrap_or_default())
            }
        };
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let line = line_of(&text, "pub fn ").or_else(|| line_of(&text, "fn "));
        (file, line)
    }

    /// Runs a role's program as everybody does. What keeps it from running is a problem of its
    /// author's.
    fn run(&mut self, role: &Role) -> Option<Report> {
        let report = run::examine(&cli::Run {
            exercise: Some(self.exercise.place.id.clone()),
            solution: *role == Role::Solution,
            baseline: *role == Role::Baseline,
            program: None,
            device: checker::device::DeviceChoice::Sim,
            profile: None,
            schedule: None,
            prebuilt: None,
            explain_score: false,
            feedback: None,
            trace: None,
            window: None,
            svg: None,
            html: None,
            look: cli::Look { json: true, plain: true },
            machine: checker::attempt::Machine::InProcess,
            confined: false,
            seed: None,
            time_limit: None,
            time_cap: 0.0,
        });
        let (file, line) = self.source(role);
        report.map_err(|error| self.problems.add(&file, line, print::chain(&error))).ok()
    }
}
