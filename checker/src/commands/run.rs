//! `checker run`: one exercise, from its source to a verdict.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use simulator::{Profile, Schedule, advice};
use trace::{Hazard, Metrics, Program, Timeline, causes, draw, hazards};

use crate::attempt::{self, Attempt, Order, Watched};
use crate::cli;
use crate::compile::{Build, Built, Optimisation, PLAYER, Refusal, Source, Target, TargetKind};
use crate::device::{self, Device, Simulated};
use crate::exercise::{self, Exercise, Place};
use crate::exit::{self, Exit, Usage};
use crate::grade::gate::Demand;
use crate::grade::{Finding, Gate, Standard, Verdict, judge, score};
use crate::measure::{self, Budget, Measurement, Outcome, Programs, Runnable};
use crate::print::{self, Style};
use crate::process::Limits;
use crate::progress;
use crate::report::{Chart, Exhibit, Report, Role, Where, cause, hazard, json, snippet, terminal};
use crate::workspace::Workspace;

/// Runs an exercise and reports.
pub(super) fn run(arguments: &cli::Run) -> Result<Exit> {
    let (report, exhibit) = (Report::default(), Exhibit::default());
    let mut run = Run { arguments, report, exhibit, profile: None };
    if let Err(error) = run.run() {
        if error.is::<crate::interrupt::Interrupted>() || !arguments.look.json {
            return Err(error);
        }
        run.report.verdict = Some(Verdict::Error);
        run.report.gate = None;
        run.report.score = None;
        run.report.message = print::chain(&error);
        print::json(&json::object(&run.report))?;
        return Ok(exit::of_error(&error));
    }
    let Run { report, exhibit, .. } = &run;
    if arguments.look.json {
        print::json(&json::object(report))?;
    } else {
        let style = if arguments.look.plain { Style::Plain } else { Style::of_stdout() };
        print::out(&terminal::text(report, exhibit, print::columns(), style));
    }
    Ok(report.verdict.map_or(Exit::Passed, Exit::from))
}

struct Run<'a> {
    arguments: &'a cli::Run,
    report: Report,
    exhibit: Exhibit,
    /// That of the simulated device, where it runs on one.
    profile: Option<Profile>,
}

/// An exercise with everything that is needed to run one of its programs.
struct Task {
    exercise: Exercise,
    role: Role,
    source: Source,
    /// Where the code is that the role's author wrote: errors elsewhere are not theirs.
    own: PathBuf,
    limits: Limits,
    limit_s: f64,
}

impl Run<'_> {
    fn run(&mut self) -> Result<()> {
        let arguments = self.arguments;
        self.report.exercise = arguments.exercise.clone();
        let workspace = match &arguments.prebuilt {
            Some(folder) => Workspace::prebuilt(folder)?,
            None => Workspace::find()?,
        };
        let exercise = match &arguments.exercise {
            Some(wanted) => exercise::find(&workspace, wanted)?,
            None => exercise::current(&workspace)?,
        };
        self.report.exercise = Some(exercise.place.id.clone());
        let role = match &arguments.program {
            Some(name) => Role::Puzzle(exercise.puzzle(name)?.name.clone()),
            None if arguments.solution => Role::Solution,
            None if arguments.baseline => Role::Baseline,
            None => Role::Student,
        };
        self.report.role = Some(role.clone());
        if !matches!(role, Role::Puzzle(_)) {
            self.report.metric = Some(exercise.manifest.metric);
            self.report.pass_score = Some(exercise.manifest.pass_score);
        }
        let limit_s = arguments.time_limit.unwrap_or(exercise.manifest.time_limit_s);
        let wall = Duration::try_from_secs_f64(limit_s)
            .map_err(|_| Usage(format!("`--time-limit {limit_s}` is no number of seconds")))?;
        let limits =
            Limits { wall, output_bytes: exercise.manifest.output_limit_kib as usize * 1024 };

        if arguments.device == cli::DeviceChoice::Gpu {
            self.report.device = Some(Where::Gpu { name: None });
        }
        let device = device::choose(arguments.device, arguments.profile.as_deref())?;
        self.report.device = Some(match &device {
            Device::Simulated(simulated) => Where::Simulated {
                profile: simulated.profile.name.clone(),
                schedule: arguments.schedule,
            },
            Device::Gpu(gpu) => Where::Gpu { name: Some(gpu.name.clone()) },
        });

        let own = match role {
            Role::Solution => workspace.root().join("solutions").join(exercise.place.name()),
            _ => exercise.place.folder.clone(),
        };
        let source = match &arguments.prebuilt {
            Some(_) => Source::Prebuilt(workspace.root().to_owned()),
            None => Source::Cargo(workspace),
        };
        if role == Role::Solution && !source.has_solution(&exercise.place) {
            let message = format!("there is no solution of `{}` here", exercise.place.id);
            return Err(Usage(message).into());
        }
        let task = Task { exercise, role, source, own, limits, limit_s };
        match device {
            Device::Simulated(simulated) => self.simulated(&task, &simulated),
            Device::Gpu(_) => self.gpu(&task),
        }?;
        if task.role == Role::Student && arguments.prebuilt.is_none() {
            self.keep(&task.exercise.place)?;
        }
        let passes = self.report.verdict != Some(Verdict::Failed);
        let whole = passes || task.role != Role::Student;
        let step = if whole { cli::Feedback::Advice } else { cli::Feedback::Symptom };
        self.exhibit.feedback = Some(arguments.feedback.unwrap_or(step));
        self.exhibit.next = match (&task.role, self.report.verdict) {
            (Role::Student, Some(Verdict::Passed)) => {
                Some(task.exercise.manifest.next.passed.clone())
            }
            (Role::Student, Some(Verdict::Failed)) => Some(self.after_a_fail(&task)),
            _ => None,
        };
        self.write_svg(&task)
    }

    /// What to do next. Where there is a race, nothing else is worth looking at before it.
    fn after_a_fail(&self, task: &Task) -> String {
        let is_race = |hazard: &&Hazard| hazard.severity == hazards::Severity::Error;
        match self.report.hazards.iter().find(is_race) {
            Some(hazard) => {
                let code = hazard.code;
                format!(
                    "put the two lines of {code} in order; `cargo run -- explain {code}` tells more"
                )
            }
            None => task.exercise.manifest.next.failed.clone(),
        }
    }

    /// Keeps what the student has reached, and what stands in the way.
    fn keep(&self, place: &Place) -> Result<()> {
        progress::update(&Workspace::find()?, |progress| {
            if let (Some(Verdict::Passed), Some(score)) = (self.report.verdict, self.report.score) {
                progress.passed(place, score);
            }
            let hazard = self.report.hazards.first().map(|hazard| hazard.code.as_str());
            let cause = self.report.advised.causes.first().map(|cause| cause.code.as_str());
            let code = hazard.or(cause);
            progress.found(&place.id, code);
        })
    }

    /// One run on the simulated device, which is exact.
    fn simulated(&mut self, task: &Task, device: &Simulated) -> Result<()> {
        self.profile = Some(device.profile.clone());
        let target = target(&task.exercise, &task.role)?;
        let name = target.name.clone();
        let Some(build) = self.build(task, &[target], Optimisation::Dev)? else { return Ok(()) };
        let attempt = attempt::run(&Order {
            executable: build.executable(&name)?,
            recorded: None,
            folder: &task.exercise.place.folder,
            driver: build.driver.as_deref(),
            device: Watched::Simulated {
                profile: device.file.as_deref(),
                schedule: self.arguments.schedule,
                machine: self.arguments.machine,
            },
            mode: trace::run::MODE_SOLVE,
            limits: task.limits,
        })?;
        let demand = task.role.demand();
        let finding = judge(&attempt, task.limit_s, demand);
        self.observe(task, &attempt)?;
        if let Some(trial) = attempt.record().and_then(|record| record.trials.last()) {
            self.report.makespan_ns = Some(trial.makespan_ns);
            self.report.bounds = trial.bounds;
        }
        if demand == Demand::Region {
            self.settle(task, finding);
            return Ok(());
        }

        let schedule = self.arguments.schedule.map_or(Schedule::Exact, Schedule::Perturbed);
        let replay = |file: &str| -> Result<(Program, Timeline)> {
            let program = recorded(&task.exercise.place, file)?;
            let timeline = simulator::replay(&program, &device.profile, schedule);
            Ok((program, timeline))
        };
        let reference = replay(REFERENCE);
        if let Ok((program, timeline)) = &reference
            && !self.exhibit.charts.is_empty()
            && task.role != Role::Solution
        {
            self.exhibit.charts.push(Chart {
                title: "the reference".to_owned(),
                program: program.clone(),
                timeline: timeline.clone(),
            });
        }
        self.report.metric_value = self.report.overlap_efficiency();
        if !self.settle(task, finding) {
            return Ok(());
        }

        let bounds = self.report.bounds.context(NO_BOUNDS)?;
        let value = |timeline: &Timeline| {
            bounds.overlap_efficiency(timeline.extent().ns()).context(NO_BOUNDS)
        };
        let standard = Standard::new(value(&replay(BASELINE)?.1)?, value(&reference?.1)?);
        let profile = &device.profile.name;
        let standard = standard.with_context(|| format!("{NO_STANDARD} on profile `{profile}`"))?;
        self.report.standard = Some(standard);
        self.report.score = self.report.metric_value.map(|value| standard.score(value));
        self.decide(task);
        Ok(())
    }

    /// Many runs on a GPU, and one more for the timeline.
    fn gpu(&mut self, task: &Task) -> Result<()> {
        let exercise = &task.exercise;
        let own = target(exercise, &task.role)?;
        let demand = task.role.demand();
        let baseline = target(exercise, &Role::Baseline)?;
        let reference = match demand {
            Demand::Region => None,
            Demand::Task { .. } => Reference::of(task)?,
        };

        let mut timed = vec![own.clone()];
        if demand != Demand::Region {
            timed.push(baseline.clone());
        }
        let mut drawn = vec![own.clone()];
        if let Some(reference) = &reference {
            timed.push(reference.target.clone());
            drawn.push(reference.target.clone());
        }
        let Some(build) = self.build(task, &timed, Optimisation::Release)? else { return Ok(()) };
        let budget = |build: &Build| Budget {
            driver: build.driver.clone(),
            folder: exercise.place.folder.clone(),
            limits: task.limits,
            limit_s: task.limit_s,
            cap: Duration::try_from_secs_f64(self.arguments.time_cap).unwrap_or(Duration::MAX),
        };
        let timing = budget(&build);
        let student = build.executable(&own.name)?;
        if demand == Demand::Region {
            match measure::time(student, &timing)? {
                Outcome::Stopped(finding, attempt) => {
                    self.observe(task, &attempt)?;
                    self.settle(task, finding);
                    return Ok(());
                }
                Outcome::Done(makespan_ns) => self.report.makespan_ns = Some(makespan_ns),
            }
            self.settle(task, Finding::Clear);
        } else {
            let programs = Programs {
                student,
                baseline: build.executable(&baseline.name)?,
                reference: reference.as_ref().map(|it| it.runnable(&build)).transpose()?,
            };
            match measure::measure(programs, &timing)? {
                Outcome::Stopped(finding, attempt) => {
                    self.observe(task, &attempt)?;
                    self.settle(task, finding);
                    return Ok(());
                }
                Outcome::Done(measurement) => {
                    self.measured(task, &measurement, reference.is_some());
                    if reference.as_ref().is_some_and(|it| it.recorded.is_some()) {
                        self.report.notes.push(PLAYED.to_owned());
                    }
                }
            }
        }

        let Some(build) = self.build(task, &drawn, Optimisation::Dev)? else { return Ok(()) };
        let tracing = budget(&build);
        let own = Runnable::program(build.executable(&own.name)?);
        let attempt = measure::trace(own, 1, &tracing)?;
        self.observe(task, &attempt)?;
        if attempt.record().is_none() {
            let why = match judge(&attempt, task.limit_s, demand) {
                Finding::Clear => "it left no record".to_owned(),
                Finding::Failed { message, .. } | Finding::Trouble { message } => message,
            };
            self.report.notes.push(format!("there is no timeline: in a traced run, {why}"));
        }
        if let Some(reference) = &reference
            && !self.exhibit.charts.is_empty()
            && task.role != Role::Solution
        {
            let attempt = measure::trace(reference.runnable(&build)?, 1, &tracing)?;
            if let Ok(Some(record)) = attempt.record {
                self.exhibit.charts.push(Chart {
                    title: "the reference".to_owned(),
                    program: record.program,
                    timeline: record.timeline,
                });
            }
        }
        Ok(())
    }

    /// Takes over what the rounds on a GPU say.
    fn measured(&mut self, task: &Task, measurement: &Measurement, has_reference: bool) {
        let Measurement { bounds, summary, rounds } = *measurement;
        self.report.bounds = Some(bounds);
        self.report.makespan_ns = Some(summary.makespan_ns);
        self.report.metric_value = bounds.overlap_efficiency(summary.makespan_ns);
        self.report.standard = summary.standard;
        self.report.measured = summary.measured;
        self.report.notes.push(format!(
            "the makespan is the median of {rounds} untraced runs; the timeline is of one more"
        ));
        if (summary.makespan_ns as f64) < SUSPICIOUS * bounds.floor_ns as f64 {
            self.report.notes.push(BELOW_THE_FLOOR.to_owned());
        }
        match summary.measured {
            Some(measured) if measured.is_conclusive() => {
                self.report.score = Some(measured.score);
                self.decide(task);
            }
            Some(measured) => {
                self.report.verdict = Some(Verdict::Inconclusive);
                self.report.message = format!(
                    "after {rounds} rounds the score lies between {} and {}, too far apart for a \
                     verdict",
                    score::shown(measured.low),
                    score::shown(measured.high)
                );
            }
            None => {
                self.report.verdict = Some(Verdict::Inconclusive);
                self.report.message = match has_reference {
                    true => format!("{NO_STANDARD} on this GPU"),
                    false => NO_REFERENCE.to_owned(),
                };
            }
        }
    }

    /// Builds `targets`. None where the student's code does not compile; then the report says so.
    fn build(
        &mut self,
        task: &Task,
        targets: &[Target],
        optimisation: Optimisation,
    ) -> Result<Option<Build>> {
        let look = self.arguments.look;
        let style = if look.json || look.plain { Style::Plain } else { Style::of_stderr() };
        match task.source.build(targets, optimisation, &task.own, style)? {
            Built::Ready(build) => {
                if !look.json {
                    print::err(&build.warnings);
                }
                Ok(Some(build))
            }
            Built::Refused(Refusal { rendered, summary }) => {
                let message = if look.json {
                    format!("{summary}\n\n{}", rendered.trim_end())
                } else {
                    print::err(&rendered);
                    summary
                };
                self.settle(task, Finding::Failed { gate: Gate::Builds, message });
                Ok(None)
            }
        }
    }

    /// Keeps what a run showed, whether or not it was any good.
    fn observe(&mut self, task: &Task, attempt: &Attempt) -> Result<()> {
        self.exhibit.output = attempt.output.text();
        let Some(record) = attempt.record() else { return Ok(()) };
        for note in &record.notes {
            if !self.report.notes.contains(note) {
                self.report.notes.push(note.clone());
            }
        }
        self.report.hidden_fraction = Metrics::of(&record.timeline).hidden_fraction;
        self.report.hazards = hazards::find(&record.program);
        let profile = match &self.profile {
            Some(profile) => profile.clone(),
            None => device::built_in()?,
        };
        let found = causes::find(&record.program, &record.timeline);
        self.report.advised = advice::advise(&record.program, found, &profile);
        self.report.advised_on = Some(profile.name);
        let calls = hazard::calls(&self.report.hazards).chain(cause::calls(&self.report.advised));
        self.exhibit.sources = snippet::sources(calls, &task.own);
        self.exhibit.charts = vec![Chart {
            title: task.role.to_string(),
            program: record.program.clone(),
            timeline: record.timeline.clone(),
        }];
        if let Some(path) = &self.arguments.trace {
            let text = serde_json::to_string(record)?;
            write(path, &text)?;
        }
        Ok(())
    }

    /// Lets the gates decide; says whether they are clear.
    fn settle(&mut self, task: &Task, finding: Finding) -> bool {
        match finding {
            Finding::Clear => {
                if let Role::Puzzle(_) = task.role {
                    self.report.message = NOT_GRADED.to_owned();
                }
                return true;
            }
            Finding::Failed { gate, message } => {
                self.report.verdict = Some(Verdict::Failed);
                self.report.gate = Some(gate);
                self.report.message = message;
                if task.role.demand() != Demand::Region {
                    self.report.score = Some(0.0);
                }
            }
            Finding::Trouble { message } => {
                self.report.verdict = Some(Verdict::Error);
                self.report.message = message;
            }
        }
        false
    }

    /// Lets the score decide; the gates are clear.
    fn decide(&mut self, task: &Task) {
        let Some(score) = self.report.score else { return };
        let enough = task.exercise.manifest.pass_score;
        let shown = score::shown(score);
        if score >= enough {
            self.report.verdict = Some(Verdict::Passed);
            self.report.message = format!("score {shown}, and {enough} is enough");
        } else {
            self.report.verdict = Some(Verdict::Failed);
            self.report.message = format!("score {shown}, and {enough} is needed");
        }
    }

    fn write_svg(&self, task: &Task) -> Result<()> {
        let Some(path) = &self.arguments.svg else { return Ok(()) };
        if self.exhibit.charts.is_empty() {
            return Ok(()); // there is nothing to draw, and the verdict says why
        }
        let layout = terminal::layout(&self.exhibit.charts);
        write(path, &draw::svg(&layout, &task.exercise.place.id))
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

impl Role {
    /// What a run of it has to show.
    fn demand(&self) -> Demand {
        match self {
            Self::Puzzle(_) => Demand::Region,
            _ => Demand::Task { trials: 1 },
        }
    }
}

/// What a student is measured beside: the solution, or its record, which a program of the lab's plays.
struct Reference {
    target: Target,
    recorded: Option<PathBuf>,
}

impl Reference {
    fn of(task: &Task) -> Result<Option<Self>> {
        let place = &task.exercise.place;
        if task.source.has_solution(place) {
            let target = target(&task.exercise, &Role::Solution)?;
            return Ok(Some(Self { target, recorded: None }));
        }
        let recorded = place.folder.join(REFERENCE);
        let found = recorded.is_file() && task.source.has_player();
        Ok(found.then(|| Self { target: player(), recorded: Some(recorded) }))
    }

    fn runnable<'a>(&'a self, build: &'a Build) -> Result<Runnable<'a>> {
        let executable = build.executable(&self.target.name)?;
        Ok(Runnable { executable, recorded: self.recorded.as_deref() })
    }
}

/// The program that plays recorded programs.
pub(super) fn player() -> Target {
    Target { package: "lab".to_owned(), kind: TargetKind::Bin, name: PLAYER.to_owned() }
}

/// The target of one of an exercise's programs.
pub(super) fn target(exercise: &Exercise, role: &Role) -> Result<Target> {
    let id = &exercise.place.id;
    let (package, kind, name) = match role {
        Role::Student => (id.clone(), TargetKind::Bin, id.clone()),
        Role::Solution => (format!("{id}-solution"), TargetKind::Bin, format!("{id}-solution")),
        Role::Baseline => (id.clone(), TargetKind::Example, format!("{id}_baseline")),
        Role::Puzzle(name) => {
            (id.clone(), TargetKind::Example, exercise.puzzle(name)?.example.clone())
        }
    };
    Ok(Target { package, kind, name })
}

/// The recorded program of the baseline, in an exercise's folder.
pub(super) const BASELINE: &str = "recorded/baseline.json";
/// That of the reference.
pub(super) const REFERENCE: &str = "recorded/reference.json";

fn recorded(place: &Place, file: &str) -> Result<Program> {
    attempt::read_program(&place.folder.join(file)).with_context(|| {
        let Place { id, .. } = place;
        format!("cannot read `{file}` of `{id}`\n\nhint: `checker dev record {id}` makes it again")
    })
}

/// The share of the floor under which a run on a GPU is for a person to look at.
const SUSPICIOUS: f64 = 0.97;

const BELOW_THE_FLOOR: &str = "the makespan is below the floor, which no schedule can be; somebody \
                               should look at how this run was measured";

const NO_BOUNDS: &str = "the record does not say what the task's work takes alone";

const NO_STANDARD: &str = "the reference is no better than the baseline";

const NO_REFERENCE: &str = "there is neither a solution here to measure beside your file nor a record \
                            of one, so there is no score\n\nhint: `--device sim` grades without one";

const PLAYED: &str = "there is no solution here, so the reference was played from its record";

const NOT_GRADED: &str = "a program of the puzzle: drawn, not graded";
