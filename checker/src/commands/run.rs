//! `checker run`: one exercise, from its source to a verdict.

mod gpu;
mod memory;
pub(super) mod next;
mod reference;
mod simulated;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
pub use reference::Reference;
use simulator::profile::BuiltIn;
use simulator::{Profile, advice};
use trace::draw::{Lanes, duration};
use trace::hazards::{CallAt, TooMuch};
use trace::numbers::Numbers;
use trace::record::Output;
use trace::timeline::Origin;
use trace::{Hazard, Metrics, Program, Timeline, causes, draw, hazards};

use crate::attempt::{Attempt, NO_NUMBERS};
use crate::cli;
use crate::compile::{
    Apart, Build, Built, Optimisation, PLAYER, Refusal, Source, Target, TargetKind,
};
use crate::device::{self, Device, DeviceChoice, Simulated};
use crate::exercise::{self, Change, Exercise, Location, State};
use crate::exit::{self, Exit, Usage};
use crate::grade::gate::{self, Demand};
use crate::grade::{Finding, Gate, Verdict, score};
use crate::print::{self, Style};
use crate::quantity::Window;
use crate::regions;
use crate::report::{
    Chart, Planned, Presentation, Report, Role, Where, cause, hazard, json, names, softly, sources,
    terminal,
};
use crate::status::{Indicator, Status, Tell};
use crate::workspace::Workspace;
use sandbox::Exceeded;
use sandbox::process::Limits;

/// Runs an exercise and reports.
pub(super) fn run(arguments: &cli::Run) -> Result<Exit> {
    let style = if arguments.look.plain { Style::Plain } else { Style::of_stdout() };
    let compiler =
        if arguments.look.json || arguments.look.plain { Style::Plain } else { Style::of_stderr() };
    let indicator = Indicator::start();
    let ran = perform(arguments, compiler, &|stage| indicator.tell(stage));
    drop(indicator);
    let Ran { report, presentation } = ran?;
    if let Some(path) = &arguments.html {
        write(path, &terminal::page(&report, &presentation))?;
    }
    if arguments.look.json {
        print::json(&json::object(&report, &presentation, arguments.feedback))?;
    } else {
        print::err(&presentation.compiler);
        print::out(&terminal::text(&report, &presentation, print::columns(), style));
    }
    Ok(exit_of(&report))
}

/// A run's report, and the things shown beside it.
pub struct Ran {
    /// Its report.
    pub report: Report,
    /// Things shown with it.
    pub presentation: Presentation,
}

/// The exit that a report stands for.
fn exit_of(report: &Report) -> Exit {
    report.exit.unwrap_or_else(|| report.verdict.map_or(Exit::Passed, Exit::from))
}

/// Runs an exercise. With `--json` an error is a report too; only an interruption is not.
pub(super) fn perform(arguments: &cli::Run, compiler: Style, tell: Tell<'_>) -> Result<Ran> {
    let mut run = Run::new(arguments, compiler, tell);
    if let Err(error) = run.run().and_then(|task| run.remember(&task)) {
        if error.is::<sandbox::interrupt::Interrupted>() || !arguments.look.json {
            return Err(error);
        }
        run.report.verdict = Some(Verdict::Error);
        run.report.gate = None;
        run.report.score = None;
        run.report.message = print::chain(&error);
        run.report.exit = Some(exit::of_error(&error));
    }
    let Run { report, presentation, .. } = run;
    Ok(Ran { report, presentation })
}

/// Runs an exercise and keeps nothing of it: what it comes to is for an author.
pub fn examine(arguments: &cli::Run) -> Result<Report> {
    let mut run = Run::new(arguments, Style::Plain, &|_| {});
    run.run()?;
    Ok(run.report)
}

/// Runs a student's file that lies apart from its exercise, on the simulated device.
pub fn apart(
    exercise: &Exercise,
    apart: impl Apart + 'static,
    device: &Simulated,
    arguments: &cli::Run,
    tell: Tell<'_>,
) -> Result<Ran> {
    let mut run = Run::new(arguments, Style::Plain, tell);
    let apart: Arc<dyn Apart> = Arc::new(apart);
    let source = Source::Apart(Arc::clone(&apart));
    let task = run.task(exercise.clone(), Role::Student, source, apart.folder())?;
    run.carry_out(&task, &Device::Simulated(Box::new(device.clone())))?;
    let Run { report, presentation, .. } = run;
    Ok(Ran { report, presentation })
}

struct Run<'a> {
    arguments: &'a cli::Run,
    report: Report,
    presentation: Presentation,
    /// That of the simulated device, where it runs on one.
    profile: Option<Profile>,
    /// How the compiler's words look.
    compiler: Style,
    tell: Tell<'a>,
    /// File and line of the compiler's first error.
    first_error: Option<(String, u32)>,
    /// The outputs of the last region.
    output: Option<Output>,
}

impl<'a> Run<'a> {
    fn new(arguments: &'a cli::Run, compiler: Style, tell: Tell<'a>) -> Self {
        Self {
            arguments,
            report: Report::default(),
            presentation: Presentation::default(),
            profile: None,
            compiler,
            tell,
            first_error: None,
            output: None,
        }
    }
}

/// An exercise with everything that is needed to run one of its programs.
struct Task {
    exercise: Exercise,
    role: Role,
    source: Source,
    /// Where the code is that the role's author wrote: errors elsewhere are not theirs.
    own: PathBuf,
    /// Where its programs are started.
    folder: PathBuf,
    limits: Limits,
    limit_s: f64,
}

impl Run<'_> {
    fn run(&mut self) -> Result<Task> {
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
        let role = match &arguments.program {
            Some(name) => Role::Puzzle(exercise.program(name)?.name.clone()),
            None if arguments.solution => Role::Solution,
            None if arguments.baseline => Role::Baseline,
            None => Role::Student,
        };
        let own = match role {
            Role::Solution => workspace.root().join("solutions").join(exercise.place.name()),
            _ => exercise.place.folder.clone(),
        };
        let source = match &arguments.prebuilt {
            Some(_) => Source::Prebuilt(workspace.root().to_owned()),
            None => Source::Cargo(workspace),
        };
        let task = self.task(exercise, role, source, &own)?;
        let is_missing = task.exercise.place.state() == State::Missing;
        if is_missing && task.role == Role::Student && matches!(task.source, Source::Cargo(_)) {
            return Err(Usage(missing(&task.exercise.place)).into());
        }
        let device = self.device(&task.exercise)?;
        if task.role == Role::Solution && !task.source.has_solution(&task.exercise.place) {
            let message = format!("there is no solution of `{}` here", task.exercise.place.id);
            return Err(Usage(message).into());
        }
        self.carry_out(&task, &device)?;
        if let (Role::Student, Source::Cargo(workspace)) = (&task.role, &task.source) {
            let edit = edited_outside(workspace, &task.exercise.place);
            self.report.notes.extend(edit);
        }
        Ok(task)
    }

    /// The task to do, with the limits that it has.
    fn task(&mut self, exercise: Exercise, role: Role, source: Source, own: &Path) -> Result<Task> {
        self.report.exercise = Some(exercise.place.id.clone());
        self.report.role = Some(role.clone());
        if !matches!(role, Role::Puzzle(_)) {
            self.report.metric = Some(exercise.manifest.metric);
            self.report.pass_score = Some(exercise.manifest.pass_score);
        }
        let limit_s = self.arguments.time_limit.unwrap_or(exercise.manifest.time_limit_s);
        let wall = Duration::try_from_secs_f64(limit_s)
            .map_err(|_| Usage(format!("`--time-limit {limit_s}` is no number of seconds")))?;
        let limits =
            Limits { wall, output_bytes: exercise.manifest.output_limit_kib as usize * 1024 };
        let folder = match source {
            Source::Apart(_) => own.to_owned(),
            Source::Cargo(_) | Source::Prebuilt(_) => exercise.place.folder.clone(),
        };
        Ok(Task { exercise, role, source, own: own.to_owned(), folder, limits, limit_s })
    }

    /// The device that the arguments ask for. Where an exercise takes two GPUs and there is one, it
    /// is the simulated one.
    fn device(&mut self, exercise: &Exercise) -> Result<Device> {
        let arguments = self.arguments;
        if arguments.device == DeviceChoice::Gpu {
            self.report.device = Some(Where::Gpu { name: None });
        }
        let choice = match (arguments.schedule, arguments.device) {
            // A named schedule means the device that has several.
            (Some(_), DeviceChoice::Auto) => DeviceChoice::Sim,
            (Some(_), DeviceChoice::Gpu) => {
                let message = "`--schedule` is for the simulated device, not for `--device gpu`";
                return Err(Usage(message.into()).into());
            }
            (_, choice) => choice,
        };
        let device = device::choose(choice, arguments.profile.as_deref())?;
        let Device::Gpu(gpu) = &device else { return Ok(device) };
        let Some(why) = gpu.cannot_run(exercise) else { return Ok(device) };
        if choice == DeviceChoice::Gpu {
            bail!("{why}\n\nhint: `--device sim` simulates two");
        }
        self.report.notes.push(format!("{why}: it runs on two simulated ones"));
        device::choose(DeviceChoice::Sim, arguments.profile.as_deref())
    }

    /// Runs the task on `device`, and says what comes of it.
    fn carry_out(&mut self, task: &Task, device: &Device) -> Result<()> {
        let arguments = self.arguments;
        self.report.device = Some(match device {
            Device::Simulated(simulated) => Where::Simulated {
                profile: simulated.profile.name.clone(),
                schedule: arguments.schedule,
            },
            Device::Gpu(gpu) => Where::Gpu { name: Some(gpu.name.clone()) },
        });
        match device {
            Device::Simulated(simulated) => self.simulated(task, simulated),
            Device::Gpu(_) => self.gpu(task),
        }?;
        let passes = self.report.verdict != Some(Verdict::Failed);
        let whole = passes || task.role != Role::Student;
        let step = if whole { cli::Feedback::Advice } else { cli::Feedback::Symptom };
        // While there is a race, a wait that costs time is one to be put right and not to be
        // dropped.
        self.presentation.feedback = arguments.feedback.or(self.race().is_none().then_some(step));
        if let (Some(_), Some(own)) =
            (self.presentation.feedback, self.presentation.charts.first_mut())
        {
            own.causes.clone_from(&self.report.advised.causes);
        }
        self.presentation.next = self.next(task);
        self.presentation.explains_score = arguments.explain_score;
        if let Some(window) = arguments.window {
            self.draw_within(window);
        }
        self.write_svg(task)
    }

    /// Draws a part of each timeline, and leaves out those of which nothing is in it. What has been
    /// found stays as it is.
    fn draw_within(&mut self, window: Window) {
        let part = |chart: &Chart| {
            let whole = chart.timeline.extent();
            window.from(whole.start_ns, whole.end_ns)
        };
        let Some(own) = self.presentation.charts.first() else { return };
        if part(own).ns() == 0 {
            let all = duration(own.timeline.extent().ns());
            let note =
                format!("nothing lies in that window: the run takes {all}, and all of it is drawn");
            self.report.notes.push(note);
            return;
        }
        self.presentation.charts.retain(|chart| part(chart).ns() > 0);
        for chart in &mut self.presentation.charts {
            let (part, begin_ns) = (part(chart), chart.timeline.extent().start_ns);
            let [from, to] = [part.start_ns, part.end_ns].map(|ns| duration(ns - begin_ns));
            chart.title = format!("{}, {from} to {to}", chart.title);
            chart.timeline.region = Some(part);
        }
    }

    /// The first hazard that makes data wrong.
    fn race(&self) -> Option<&Hazard> {
        self.report.hazards.iter().find(|hazard| hazard.severity == hazards::Severity::Error)
    }

    /// Builds `targets`. None where the student's code does not compile; then the report says so.
    fn build(
        &mut self,
        task: &Task,
        targets: &[Target],
        optimisation: Optimisation,
    ) -> Result<Option<Build>> {
        match task.source.build(targets, optimisation, &task.own, self.compiler, self.tell)? {
            Built::Ready(build) => {
                self.presentation.compiler.push_str(&build.warnings);
                (self.tell)(Status::Running);
                Ok(Some(build))
            }
            Built::Refused(Refusal { because, rendered, summary, complaints }) => {
                self.presentation.because = Some(because);
                self.first_error = complaints.into_iter().find_map(|complaint| complaint.place);
                let message = if self.arguments.look.json {
                    format!("{summary}\n\n{}", rendered.trim_end())
                } else {
                    summary
                };
                self.presentation.compiler.push_str(&rendered);
                self.settle(task, Finding::Failed { gate: Gate::Builds, message });
                Ok(None)
            }
        }
    }

    /// Keeps what a run showed, whether or not it was any good.
    fn observe(&mut self, task: &Task, attempt: &Attempt) -> Result<()> {
        self.presentation.output = attempt.output.text();
        self.presentation.ending = Some(attempt.ending);
        self.presentation.exceeded = attempt.exceeded;
        let Some(record) = attempt.record() else { return Ok(()) };
        self.output = record.trials.last().map(|trial| trial.output.clone());
        for note in &record.notes {
            if !self.report.notes.contains(note) {
                self.report.notes.push(note.clone());
            }
        }
        // Gates say it of graded work.
        if let (Role::Puzzle(_), Some(trial)) = (&task.role, record.trials.last()) {
            self.report.notes.extend(match trial.output {
                Output::Unchecked => None,
                Output::Correct | Output::Unfounded { .. } => Some(RIGHT_OUTPUT.to_owned()),
                Output::Wrong { .. } => gate::wrong_output(&record.program, trial),
            });
        }
        self.report.memory =
            record.trials.iter().filter_map(|it| it.memory).max_by_key(|it| it.peak.bytes);
        self.report.hidden_fraction = Metrics::of(&record.timeline).hidden_fraction;
        match hazards::find_within(&record.program, hazards::MOST_EFFORT) {
            Ok(mut found) => {
                if let Some(more) = found.len().checked_sub(MOST_HAZARDS).filter(|&more| more > 0) {
                    // What makes the result wrong is kept before what might.
                    found.sort_by_key(|hazard| hazard.severity != hazards::Severity::Error);
                    found.truncate(MOST_HAZARDS);
                    self.report.notes.push(format!("{more} more hazards are not listed"));
                }
                self.report.hazards = found;
            }
            Err(TooMuch { step }) => {
                // It is not known whether its times mean anything, and all other checks cost more
                // still.
                self.presentation.exceeded = self.presentation.exceeded.or(Some(Exceeded::Judging));
                self.report.notes.push(gate::too_much(&record.program, step));
                return Ok(());
            }
        }
        if self.arguments.prebuilt.is_none() {
            let program = match &task.role {
                Role::Student => String::new(),
                Role::Solution => " --solution".to_owned(),
                Role::Baseline => " --baseline".to_owned(),
                Role::Puzzle(name) => format!(" --program {name}"),
            };
            let id = &task.exercise.place.id;
            self.presentation.play = Some(format!("cargo run -- run {id}{program}"));
        }
        let profile = match &self.profile {
            Some(profile) => profile.clone(),
            None => {
                let own = match &record.timeline.origin {
                    Origin::Measured { device, .. } => BuiltIn::of_device(device),
                    _ => None,
                };
                device::built_in(own.unwrap_or(BuiltIn::H200))?
            }
        };
        let planned = |change: &Change| {
            let Change { sign, text, chapter } = change.clone();
            let is_left = sign.is_in(&record.program, &record.timeline);
            Planned { sign, text, chapter, is_left }
        };
        self.report.plan = task.exercise.manifest.plan.iter().map(planned).collect();
        let advised = softly("why lanes were empty", || {
            let found = causes::find(&record.program, &record.timeline);
            let calls = found.iter().flat_map(|it| [Some(&it.at), it.other.as_ref()]).flatten();
            let sources = sources::sources(calls, &task.own);
            let is_fixed = |call: &CallAt| {
                let line =
                    call.site.as_ref().and_then(|it| Some((sources.get(&it.file)?, it.line)));
                line.is_some_and(|(text, line)| regions::is_outside(text, line as usize))
            };
            advice::advise(&record.program, found, &profile, &|call| !is_fixed(call))
        });
        match advised {
            Ok(advised) => self.report.advised = advised,
            Err(note) => self.report.notes.push(note),
        }
        self.report.advised_on = Some(profile.name);
        let calls = hazard::calls(&self.report.hazards);
        let calls = calls.iter().chain(cause::calls(&self.report.advised));
        self.presentation.sources = sources::sources(calls, &task.own);
        self.presentation.names = names::streams(&record.program, &self.presentation.sources);
        // Nothing is drawn of a program that gave up before its region began.
        if record.timeline.extent().ns() > 0 {
            self.presentation.charts = vec![Chart {
                title: task.role.to_string(),
                lanes: Lanes::Streams,
                program: record.program.clone(),
                timeline: record.timeline.clone(),
                hazards: self.report.hazards.clone(),
                causes: Vec::new(),
            }];
        }
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
                if task.role.demand() != Demand::Region && self.arguments.schedule.is_none() {
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
        if self.presentation.charts.is_empty() {
            return Ok(()); // there is nothing to draw, and the verdict says why
        }
        let layout = terminal::layout(&self.presentation.charts);
        write(path, &draw::svg(&layout, &task.exercise.place.id))
    }
}

/// The words where the student's file is gone.
fn missing(place: &Location) -> String {
    let Location { id, folder, .. } = place;
    let folder = folder.file_name().unwrap_or_default().display();
    format!(
        "there is no `exercises/{folder}/src/lib.rs`\n\nhint: `checker reset {id}` brings it back; cargo needs it \
         too, so without `checker` in your path type `target/debug/checker reset {id}`"
    )
}

/// Where the student's file differs from the shipped one outside of its regions.
fn edited_outside(workspace: &Workspace, place: &Location) -> Option<String> {
    let own = std::fs::read_to_string(place.file()).ok()?;
    let regions::Edit { line, now, was } = regions::first_edit(&place.shipped().ok()?, &own)?;
    let what = match (now, was) {
        (Some(now), Some(was)) => format!("is `{now}`, and was shipped as `{was}`"),
        (Some(now), None) => format!("is `{now}`, which was not shipped"),
        (None, was) => format!("comes where `{}` was shipped", was.unwrap_or_default()),
    };
    Some(format!(
        "`{}:{line}`, outside of the `region` marks, {what}; `cargo run -- reset {} --outside` puts back what is \
         outside, and keeps what is inside",
        workspace.relative(&place.file()).display(),
        place.id
    ))
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write `{}`", path.display()))
}

impl Role {
    /// The demand on a run of it.
    fn demand(&self) -> Demand {
        match self {
            Self::Puzzle(_) => Demand::Region,
            _ => Demand::Task { trials: 1 },
        }
    }
}

/// The program that plays recorded programs.
pub fn player() -> Target {
    Target { package: "lab".to_owned(), kind: TargetKind::Bin, name: PLAYER.to_owned() }
}

/// The target of one of an exercise's programs.
pub fn target(exercise: &Exercise, role: &Role) -> Result<Target> {
    let id = &exercise.place.id;
    let (package, kind, name) = match role {
        Role::Student => (id.clone(), TargetKind::Bin, id.clone()),
        Role::Solution => (format!("{id}-solution"), TargetKind::Bin, format!("{id}-solution")),
        Role::Baseline => (id.clone(), TargetKind::Example, format!("{id}_baseline")),
        Role::Puzzle(name) => {
            let program = exercise.program(name)?;
            (id.clone(), TargetKind::Example, exercise.example(program))
        }
    };
    Ok(Target { package, kind, name })
}

/// Numbers that tell a role's program from others of the same target.
pub fn numbers<'a>(exercise: &'a Exercise, role: &Role) -> &'a Numbers {
    let program = match role {
        Role::Puzzle(name) => exercise.manifest.programs.iter().find(|it| it.name == *name),
        Role::Student | Role::Solution | Role::Baseline => None,
    };
    program.map_or(&NO_NUMBERS, |program| &program.numbers)
}

/// The recorded program of the baseline, in an exercise's folder.
pub const BASELINE: &str = "recorded/baseline.json";
/// Hazards that are listed: more have the same few causes, and a program may have one at each of a
/// million lines.
const MOST_HAZARDS: usize = 256;

/// The reference's timeline, below the student's.
fn reference_chart(task: &Task, program: Program, timeline: Timeline) -> Chart {
    Chart {
        title: "the reference".to_owned(),
        lanes: match task.exercise.manifest.hides_streams {
            true => Lanes::Engines,
            false => Lanes::Streams,
        },
        program,
        timeline,
        hazards: Vec::new(),
        causes: Vec::new(),
    }
}

/// That of the reference.
pub const REFERENCE: &str = "recorded/reference.json";

const NO_STANDARD: &str = "the reference is no better than the baseline";

const RIGHT_OUTPUT: &str = "the output is right";

const NOT_GRADED: &str = "a program of the puzzle: drawn, not graded";
