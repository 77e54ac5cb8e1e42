//! `checker dev measure`: every program of every exercise on the simulated device and on the GPU,
//! and what the two have to do with each other, for the files that the book takes its numbers from.
//!
//! Without a GPU the predictions alone are made again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use simulator::Schedule;
use simulator::bounds::{self, Share};
use simulator::profile::BuiltIn;
use trace::draw::duration;
use trace::fidelity::report::verdict;
use trace::fidelity::{Ends, Measured, Operations, Overhead, Predicted, Row, Sum, Visit, median};
use trace::metrics::Bounds;
use trace::program::Call;
use trace::timeline::{Method, Origin};
use trace::{Fidelity, Record, env};

use crate::measurements::{MeasuredFiles, short_name};
use checker::attempt::Machine;
use checker::attempt::{self, Attempt, Order, Runnable, Watched};
use checker::cli;
use checker::commands::run::{numbers, player, target};
use checker::compile::{Build, Built, OVERHEAD, Optimisation, Source, Target};
use checker::device::{self, Device, Gpu, Simulated};
use checker::exercise::{self, Exercise, State};
use checker::exit::Exit;
use checker::grade::gate::Demand;
use checker::grade::{Finding, Gate, judge};
use checker::host_facts;
use checker::measure::{self, Budget, Outcome, PASSES};
use checker::print::{self, Style};
use checker::report::Role;
use checker::status::Indicator;
use checker::workspace::Workspace;
use sandbox::process::{self, Ending, Limits};
use sandbox::scratch::Scratch;

/// Processes that each program is timed in, in turn with the others: [`PASSES`] passes each.
const PROCESSES: u32 = 3;
/// How long the program that measures calls may take. It needs some ten seconds.
const OVERHEAD_LIMIT: Duration = Duration::from_secs(120);

/// Measures the exercises that are named, or all.
pub(crate) fn measure(arguments: &cli::author::Measure) -> Result<Exit> {
    let workspace = match &arguments.prebuilt {
        Some(folder) => Workspace::prebuilt(folder)?,
        None => Workspace::find()?,
    };
    let source = match &arguments.prebuilt {
        Some(_) => Source::Prebuilt(workspace.root().to_owned()),
        None => Source::Cargo(workspace.clone()),
    };
    let gpu = match device::choose(arguments.device, None)? {
        Device::Gpu(gpu) => Some(gpu),
        Device::Simulated(_) => None,
    };
    // A GPU whose profile comes with the simulator is predicted by that.
    let own = gpu.as_ref().and_then(|gpu| BuiltIn::of_device(&gpu.name)).map(BuiltIn::name);
    let profile = arguments.profile.as_deref().or(own);
    let simulated = match device::choose(device::DeviceChoice::Sim, profile)? {
        Device::Simulated(simulated) => *simulated,
        Device::Gpu(_) => bail!("the simulated device is not simulated"),
    };
    // Another profile's predictions are another file's.
    let name = match &gpu {
        Some(gpu) if own != Some(&*simulated.profile.name) => short_name(&gpu.name),
        _ => simulated.profile.name.clone(),
    };
    let files = MeasuredFiles::of(&workspace, name, arguments.output.as_deref());
    let profile = simulated.profile.name.clone();
    let kept = files.read()?.unwrap_or_else(|| {
        let device = gpu.as_ref().map_or(simulated.profile.device.clone(), |gpu| gpu.name.clone());
        Fidelity::new(device, profile)
    });

    let exercises = exercise::named_or_all(&workspace, &arguments.exercises)?;
    let all: Vec<String> = exercise::all(&workspace)?.into_iter().map(|place| place.id).collect();

    let mut session = Session {
        source,
        simulated,
        files,
        kept,
        visit: None,
        troubles: Vec::new(),
        written: vec![],
    };
    if let Some(gpu) = &gpu {
        session.visit = Some(visit(gpu));
    }
    for exercise in &exercises {
        if let Some(why) = gpu.as_ref().and_then(|gpu| gpu.cannot_run(exercise)) {
            print::err(&format!("{why}: it is left out\n"));
            continue;
        }
        if let Err(error) = session.exercise(exercise) {
            sandbox::interrupt::check()?;
            session.trouble(&exercise.place.id, &error);
        }
    }
    if gpu.is_some()
        && let Err(error) = session.overhead(workspace.root())
    {
        sandbox::interrupt::check()?;
        session.trouble("calls", &error);
    }
    session.finish(&workspace, &all)
}

/// Today's visit to this machine, before anything is measured.
fn visit(gpu: &Gpu) -> Visit {
    Visit {
        date: host_facts::today(),
        driver: host_facts::driver_release(),
        cuda: gpu.driver,
        host: host_facts::processor(),
        cores: host_facts::cores(),
        command: command(std::env::args().skip(1)),
        programs: Vec::new(),
        overhead: None,
    }
}

/// The command as the repository keeps it: of a path its last part, not where it lay on that
/// machine.
fn command(arguments: impl Iterator<Item = String>) -> String {
    arguments.fold("checker".to_owned(), |command, argument| {
        let (option, value) = match argument.split_once('=') {
            Some((option, value)) => (format!("{option}="), value),
            None => (String::new(), argument.as_str()),
        };
        let path = Path::new(value);
        let name = path.file_name().filter(|_| path.is_absolute());
        let value = name.map_or(value.into(), |name| name.to_string_lossy());
        format!("{command} {option}{value}")
    })
}

struct Session {
    source: Source,
    simulated: Simulated,
    files: MeasuredFiles,
    kept: Fidelity,
    /// None without a GPU.
    visit: Option<Visit>,
    /// Failures that did not stop the rest.
    troubles: Vec<String>,
    written: Vec<PathBuf>,
}

/// One program of an exercise.
struct Program {
    role: Role,
    /// Its name in the kept file.
    name: String,
    target: Target,
}

impl Program {
    fn runnable<'a>(&self, exercise: &'a Exercise, build: &'a Build) -> Result<Runnable<'a>> {
        let numbers = numbers(exercise, &self.role);
        Ok(Runnable { numbers, ..Runnable::program(build.executable(&self.target.name)?) })
    }

    fn is_puzzle(&self) -> bool {
        matches!(self.role, Role::Puzzle(_))
    }

    /// Whether its outputs are looked at. The shipped file may be wrong: that may be what it is
    /// about.
    fn demand(&self, passes: u32) -> Demand {
        match self.role {
            Role::Baseline | Role::Solution => Demand::Task { trials: passes as usize },
            Role::Student | Role::Puzzle(_) => Demand::Region,
        }
    }
}

/// A program on the GPU, and its measurements so far.
struct Subject<'a> {
    exercise: &'a Exercise,
    program: &'a Program,
    build: &'a Build,
    budget: &'a Budget,
    measured: Measured,
}

impl<'a> Subject<'a> {
    fn new(
        exercise: &'a Exercise,
        program: &'a Program,
        build: &'a Build,
        budget: &'a Budget,
        bounds: Option<Bounds>,
    ) -> Self {
        let measured = Measured {
            exercise: exercise.place.id.clone(),
            program: program.name.clone(),
            bounds: bounds.filter(|_| !program.is_puzzle()),
            ..Measured::default()
        };
        Self { exercise, program, build, budget, measured }
    }

    /// Times it in another process, without a trace.
    fn time(&mut self) -> Result<()> {
        if self.measured.failure.is_some() {
            return Ok(());
        }
        let runnable = self.program.runnable(self.exercise, self.build)?;
        match measure::timed(runnable, self.program.demand(PASSES), self.budget) {
            Ok(Outcome::Done(passes)) => {
                self.measured.makespans_ns.extend(passes.iter().map(|pass| pass.makespan_ns));
            }
            Ok(Outcome::Stopped(finding, _)) => self.measured.failure = Some(words(finding)),
            Err(error) => self.measured.failure = Some(print::chain(&error)),
        }
        sandbox::interrupt::check()?;
        Ok(())
    }

    /// Traces it.
    fn trace(&mut self) -> Result<()> {
        if self.measured.failure.is_some() {
            return Ok(());
        }
        let runnable = self.program.runnable(self.exercise, self.build)?;
        let limit_s = self.budget.limit_s;
        let traced = measure::trace(runnable, PASSES, self.budget)
            .and_then(|attempt| sound(&attempt, limit_s, Demand::Region).cloned());
        match traced {
            Ok(record) => see(&mut self.measured, &record),
            Err(error) => {
                self.measured.failure = Some(format!("no timeline: {}", print::chain(&error)));
            }
        }
        sandbox::interrupt::check()?;
        Ok(())
    }
}

impl Session {
    fn trouble(&mut self, what: &str, error: &anyhow::Error) {
        let message = format!("{what}: {}", print::chain(error));
        print::err(&format!("{message}\n"));
        self.troubles.push(message);
    }

    fn build(&self, targets: &[Target], optimisation: Optimisation) -> Result<Build> {
        let own = Path::new("/"); // whatever does not compile, it is not a student's
        let indicator = Indicator::start();
        match self
            .source
            .build(targets, optimisation, own, Style::Plain, &|stage| indicator.tell(stage))?
        {
            Built::Ready(build) => Ok(build),
            Built::Refused(refusal) => bail!("{}\n\n{}", refusal.summary, refusal.rendered),
        }
    }

    fn exercise(&mut self, exercise: &Exercise) -> Result<()> {
        let place = &exercise.place;
        if place.state() == State::Changed {
            bail!(
                "`{}` is not as it was shipped\n\nhint: `.shipped/lib.rs` is",
                place.file().display()
            );
        }
        let mut roles = vec![(Role::Baseline, "baseline".to_owned())];
        // A file that fails a gate as it is shipped gives up before there is a time.
        let cause = exercise.manifest.cause.as_deref();
        if cause.and_then(Gate::named).is_none() {
            roles.insert(0, (Role::Student, "shipped".to_owned()));
        }
        if self.source.has_solution(place) {
            roles.push((Role::Solution, "solution".to_owned()));
        }
        let puzzles = exercise.manifest.programs.iter();
        roles.extend(puzzles.map(|it| (Role::Puzzle(it.name.clone()), it.name.clone())));
        let mut programs = Vec::new();
        for (role, name) in roles {
            let target = target(exercise, &role)?;
            programs.push(Program { role, name, target });
        }

        let targets: Vec<Target> = programs.iter().map(|it| it.target.clone()).collect();
        let build = self.build(&targets, Optimisation::Dev)?;
        let (mut predicted, mut asked) = (BTreeMap::new(), BTreeMap::new());
        for program in &programs {
            match self.predict(exercise, program, &build) {
                Ok(record) => {
                    predicted.insert(program.name.clone(), Operations::of(&record.timeline));
                    asked.insert(program.name.clone(), record.program);
                }
                Err(error) => self.trouble(&format!("{} {}", place.id, program.name), &error),
            }
        }
        self.order(&place.id, &predicted);
        if self.visit.is_none() {
            return Ok(());
        }
        self.measure(exercise, &programs, &asked, &build, &targets)?;
        self.order(&place.id, &predicted);
        Ok(())
    }

    /// Compares the order of operations of each program's last visit with what is predicted now.
    /// Those of the visits before go: they are nine tenths of the file, and say the same.
    fn order(&mut self, exercise: &str, predicted: &BTreeMap<String, Operations>) {
        let visits = self.kept.visits.iter_mut().chain(&mut self.visit).rev();
        let mut seen = BTreeSet::new();
        for measured in visits.flat_map(|visit| &mut visit.programs) {
            if measured.exercise != exercise {
                continue;
            }
            if seen.contains(&measured.program) {
                (measured.operations, measured.order) = (None, None);
            } else if let Some(operations) = &measured.operations {
                seen.insert(measured.program.clone());
                if let Some(predicted) = predicted.get(&measured.program) {
                    measured.order = operations.agreement(predicted);
                }
            }
        }
    }

    /// Runs a program on the simulated device.
    fn predict(&mut self, exercise: &Exercise, program: &Program, build: &Build) -> Result<Record> {
        let limit_s = exercise.manifest.time_limit_s;
        let attempt = attempt::run(&Order {
            program: program.runnable(exercise, build)?,
            folder: &exercise.place.folder,
            driver: build.driver.as_deref(),
            device: Watched::Simulated {
                profile: self.simulated.file.as_deref(),
                schedule: Schedule::Exact,
                watch: None,
                machine: Machine::InProcess,
                demand: None,
            },
            mode: env::MODE_SOLVE,
            limits: limits(exercise),
            sandbox: None,
        })?;
        let record = sound(&attempt, limit_s, program.demand(1))?;
        let trial = record.trials.last().context("the record holds no trial")?;
        let profile = Arc::new(self.simulated.profile.clone());
        let own = bounds::bounds_of_program(&record.program, &profile);
        // A program with kernels that no task has is on no task's scale.
        let of_task = trial.bounds.filter(|_| is_of_tasks(&record.program));
        let (bounds, ends) = match of_task {
            Some(bounds) => (bounds, Ends::Task),
            None => (own, Ends::Program),
        };
        let (exercise, name) = (&exercise.place.id, &program.name);
        let same = |it: &Predicted| it.exercise == *exercise && it.program == *name;
        let at = self.kept.programs.iter().position(same);
        let predicted = Predicted {
            exercise: exercise.clone(),
            program: name.clone(),
            makespan_ns: trial.makespan_ns,
            bounds,
            ends,
            misses: at.and_then(|at| self.kept.programs[at].misses.clone()),
        };
        match at {
            Some(at) => self.kept.programs[at] = predicted,
            None => self.kept.programs.push(predicted),
        }
        Ok(record.clone())
    }

    /// Runs the programs on the GPU: in turn, so that whatever slows the machine down slows them
    /// alike.
    fn measure(
        &mut self,
        exercise: &Exercise,
        programs: &[Program],
        asked: &BTreeMap<String, trace::Program>,
        drawn: &Build,
        targets: &[Target],
    ) -> Result<()> {
        let build = self.build(targets, Optimisation::Release)?;
        let budget = Budget {
            driver: build.driver.clone(),
            folder: exercise.place.folder.clone(),
            limits: limits(exercise),
            limit_s: exercise.manifest.time_limit_s,
            cap: Duration::MAX,
        };
        let bounds = self.task_alone(exercise, programs, &build, &budget);
        let subject = |program| Subject::new(exercise, program, &build, &budget, bounds);
        let mut subjects: Vec<Subject<'_>> = programs.iter().map(subject).collect();
        for subject in &mut subjects {
            if let Some(asked) = asked.get(&subject.program.name) {
                self.program_alone(subject, asked)?;
            }
        }
        for _ in 0..PROCESSES {
            subjects.iter_mut().try_for_each(Subject::time)?;
        }
        subjects.iter_mut().try_for_each(Subject::trace)?;
        for subject in &subjects {
            self.draw(subject, drawn)?;
        }
        for Subject { measured, .. } in &subjects {
            if let Some(failure) = &measured.failure {
                let what = format!("{} {}", measured.exercise, measured.program);
                self.trouble(&what, &anyhow!("{failure}"));
            }
        }
        if let Some(visit) = &mut self.visit {
            visit.programs.extend(subjects.into_iter().map(|subject| subject.measured));
        }
        Ok(())
    }

    /// Measures the work of the task on each engine alone.
    fn task_alone(
        &mut self,
        exercise: &Exercise,
        programs: &[Program],
        build: &Build,
        budget: &Budget,
    ) -> Option<Bounds> {
        let baseline = programs.iter().find(|program| program.role == Role::Baseline)?;
        let executable = build.executable(&baseline.target.name);
        match executable.and_then(|executable| measure::calibrate(executable, budget)) {
            Ok(bounds) => Some(bounds),
            Err(error) => {
                self.trouble(&format!("{}, each engine alone", exercise.place.id), &error);
                None
            }
        }
    }

    /// Measures the work of a program that is on no task's scale on each engine alone.
    fn program_alone(&mut self, subject: &mut Subject<'_>, asked: &trace::Program) -> Result<()> {
        let (id, program) = (&subject.measured.exercise, subject.program);
        let of_this = |it: &&Predicted| it.exercise == *id && it.program == program.name;
        let is_of_task =
            || self.kept.programs.iter().find(of_this).is_some_and(|it| it.ends == Ends::Task);
        // What a graph does is one operation, and the player makes no graphs.
        let has_graphs =
            || asked.steps.iter().any(|step| matches!(step.call, Call::GraphCreate { .. }));
        if !program.is_puzzle() || is_of_task() || has_graphs() {
            return Ok(());
        }
        match self.shares(asked, subject.budget) {
            Ok(found) => subject.measured.bounds = Some(found),
            Err(error) => {
                self.trouble(&format!("{id} {}, each engine alone", program.name), &error);
            }
        }
        sandbox::interrupt::check()?;
        Ok(())
    }

    /// Keeps one traced run of a program that the book draws.
    fn draw(&mut self, subject: &Subject<'_>, build: &Build) -> Result<()> {
        let (id, name) = (&subject.measured.exercise, &subject.program.name);
        if !self.files.shows(id, name) || subject.measured.failure.is_some() {
            return Ok(());
        }
        let budget = Budget { driver: build.driver.clone(), ..subject.budget.clone() };
        let attempt =
            measure::trace(subject.program.runnable(subject.exercise, build)?, 1, &budget)?;
        match sound(&attempt, budget.limit_s, Demand::Region) {
            Ok(record) => self.written.push(self.files.write_record(id, name, record)?),
            Err(error) => self.trouble(&format!("{id} {name}"), &error),
        }
        Ok(())
    }

    /// Measures each engine's share of a program alone on the GPU: the program is played with that
    /// share only.
    fn shares(&self, program: &trace::Program, budget: &Budget) -> Result<Bounds> {
        let build = self.build(&[player()], Optimisation::Release)?;
        let player = build.executable(&player().name)?;
        let scratch = Scratch::new()?;
        let file = scratch.path().join("program.json");
        let copy_engines = self.simulated.profile.chip.copy_engines.value;
        bounds::ends_of_program(program, copy_engines, |keeps| {
            let mut left = program.clone();
            left.steps.retain(|step| keeps(&step.call));
            let text = serde_json::to_vec(&left).context("a program has no form in JSON")?;
            std::fs::write(&file, text).context("cannot write the program")?;
            let recorded = Runnable { recorded: Some(&file), ..Runnable::program(player) };
            let attempt = measure::trace(recorded, PASSES, budget)?;
            let record = sound(&attempt, budget.limit_s, Demand::Region)?;
            all_seen(&left, record)?;
            Ok(record.timeline.clone())
        })
    }

    /// Measures what the library between program and driver costs.
    fn overhead(&mut self, folder: &Path) -> Result<()> {
        let target = Target { name: OVERHEAD.to_owned(), ..player() };
        let build = self.build(std::slice::from_ref(&target), Optimisation::Release)?;
        let mut command = Command::new(build.executable(OVERHEAD)?);
        command.arg("--json").current_dir(folder).env_remove(env::RECORD);
        command.env(env::DEVICE, env::DEVICE_GPU).env(env::TRACE, env::TRACE_OFF);
        if let Some(driver) = &build.driver {
            command.env(env::DRIVER, driver);
        }
        let limits = Limits { wall: OVERHEAD_LIMIT, output_bytes: 64 * 1024 };
        let finished = process::run(command, limits, None)?;
        let text = finished.output.text();
        if finished.ending != Ending::Exited(0) {
            bail!("`{OVERHEAD}` says: {}", text.trim());
        }
        let overhead: Overhead = serde_json::from_str(text.trim())
            .with_context(|| format!("`{OVERHEAD}` says: {text}"))?;
        if let Some(visit) = &mut self.visit {
            visit.overhead = Some(overhead);
        }
        Ok(())
    }

    /// Writes what is kept and prints it.
    fn finish(mut self, workspace: &Workspace, all: &[String]) -> Result<Exit> {
        let place = |predicted: &Predicted| all.iter().position(|id| *id == predicted.exercise);
        self.kept.programs.retain(|predicted| place(predicted).is_some());
        self.kept.programs.sort_by_key(|predicted| place(predicted)); // stable: programs stay in order
        self.kept.visits.extend(self.visit.take().filter(|visit| !visit.programs.is_empty()));
        let mut text = table(&self.kept);
        self.written.extend(self.files.write(&self.kept)?);
        for path in &self.written {
            _ = writeln!(text, "wrote {}", workspace.relative(path).display());
        }
        for trouble in &self.troubles {
            _ = writeln!(text, "trouble: {}", trouble.lines().next().unwrap_or_default());
        }
        print::out(&text);
        Ok(if self.troubles.is_empty() { Exit::Passed } else { Exit::Error })
    }
}

fn limits(exercise: &Exercise) -> Limits {
    let manifest = &exercise.manifest;
    Limits {
        wall: Duration::from_secs_f64(manifest.time_limit_s),
        output_bytes: manifest.output_limit_kib as usize * 1024,
    }
}

fn words(finding: Finding) -> String {
    match finding {
        Finding::Clear => "it left no record".to_owned(),
        Finding::Failed { gate, message } => format!("gate `{gate}`: {message}"),
        Finding::Trouble { message } => message,
    }
}

/// The record of a run that did what it had to.
fn sound(attempt: &Attempt, limit_s: f64, demand: Demand) -> Result<&Record> {
    match (judge(attempt, limit_s, demand), attempt.record()) {
        (Finding::Clear, Some(record)) => Ok(record),
        (finding, _) => bail!("{}", words(finding)),
    }
}

/// Whether a program launches no kernels but those that tasks are made of: matrix products are in
/// none.
fn is_of_tasks(program: &trace::Program) -> bool {
    let mut others = BTreeSet::new();
    program.steps.iter().all(|step| match &step.call {
        Call::FunctionGet { kernel, rate, .. } if rate == "matmul" => {
            others.insert(*kernel);
            true
        }
        Call::Launch(launch) => !others.contains(&launch.kernel),
        _ => true,
    })
}

/// That the timeline of a part of a program has all its operations.
fn all_seen(part: &trace::Program, record: &Record) -> Result<()> {
    if let [note, ..] = &record.notes[..] {
        bail!("a part of the program, alone: {note}");
    }
    let asked = part.steps.iter().any(|step| Share::of(&step.call).is_some());
    let untraced =
        matches!(record.timeline.origin, Origin::Measured { method: Method::Untraced, .. });
    if asked && (untraced || record.timeline.spans.is_empty()) {
        bail!("nothing was seen of a part of the program, alone");
    }
    Ok(())
}

/// Keeps what a traced run shows.
fn see(measured: &mut Measured, record: &Record) {
    measured.traced_ns = record.trials.iter().map(|trial| trial.makespan_ns).collect();
    if let Origin::Measured { method, .. } = record.timeline.origin {
        measured.method = Some(method);
    }
    measured.operations = Some(Operations::of(&record.timeline));
    if let [first, ..] = &record.notes[..] {
        print::err(&format!("{} {}: {first}\n", measured.exercise, measured.program));
    }
}

/// The kept measurements as a table for a terminal.
fn table(kept: &Fidelity) -> String {
    let rows = kept.rows();
    let mut text = format!("{}, profile `{}`\n\n", kept.device, kept.profile);
    let mut lines = vec![
        ["program", "predicted", "measured", "off by", "efficiency", "order", ""]
            .map(str::to_owned),
    ];
    lines.extend(rows.iter().map(cells));
    let width = |column: usize| {
        lines.iter().map(|line| line[column].chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..7).map(width).collect();
    for line in &lines {
        let mut padded = String::new();
        for (cell, width) in line.iter().zip(&widths) {
            _ = write!(padded, "{cell:width$}  ");
        }
        _ = writeln!(text, "{}", padded.trim_end());
    }
    let sum = Sum::of(&rows);
    let thirds = if sum.close_enough() { "enough" } else { "too few" };
    _ = writeln!(
        text,
        "\n{} of {} programs meet both goals; {} of {} are within 5 %, {thirds}",
        sum.met, sum.measured, sum.close, sum.measured
    );
    if let Some(Overhead { calls, untraced_ns, traced_ns, shortest_ns }) =
        kept.visits.last().and_then(|visit| visit.overhead.as_ref())
    {
        for cost in calls {
            let added = cost.through_ns - cost.direct_ns;
            _ = writeln!(
                text,
                "{:<20} {:>7.0} ns direct, {:>7.0} ns through the library, {added:+.0} ns",
                cost.call, cost.direct_ns, cost.through_ns
            );
        }
        if let (Some(without), Some(with)) = (median(untraced_ns), median(traced_ns)) {
            let share = (with as f64 / without as f64 - 1.0) * 100.0;
            _ = writeln!(
                text,
                "tracing: {} without, {} with, {share:+.1} %, shortest operation {}",
                duration(without),
                duration(with),
                duration(*shortest_ns)
            );
        }
    }
    text + "\n"
}

fn cells(row: &Row<'_>) -> [String; 7] {
    let none = || "–".to_owned();
    let predicted = row.predicted;
    let share = |share: Option<f64>| share.map_or_else(none, |share| format!("{share:.3}"));
    let seen = row.measured.as_ref();
    [
        format!("{} {}", predicted.exercise, predicted.program),
        duration(predicted.makespan_ns),
        seen.map_or_else(none, |seen| duration(seen.makespan_ns)),
        row.error().map_or_else(none, |error| format!("{:+.1} %", error * 100.0)),
        format!("{} {}", share(row.efficiency), share(seen.and_then(|seen| seen.efficiency))),
        seen.and_then(|seen| seen.order).map_or_else(none, |order| {
            format!("{} {}", share(order.engine.share()), share(order.across.share()))
        }),
        verdict(row).to_owned(),
    ]
}

#[cfg(test)]
mod tests {
    use super::command;

    #[test]
    fn the_kept_command_does_not_tell_where_things_lay() {
        let typed =
            ["dev", "measure", "events", "--prebuilt", "/srv/a/b", "--output=/srv/m", "c/d"];
        let kept = command(typed.map(str::to_owned).into_iter());
        assert_eq!(kept, "checker dev measure events --prebuilt b --output=m c/d");
    }
}
