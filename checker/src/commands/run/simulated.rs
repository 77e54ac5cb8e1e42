//! A run on the simulated device: one, which is exact, beside what the recorded programs come to
//! there.

use anyhow::{Context, Result};
use simulator::machine::{Connections, Demand as Demanded};
use simulator::{Profile, Schedule};
use trace::metrics::Bounds;
use trace::metrics::latency;
use trace::program::{Call, WorkQueues};
use trace::{Program, Timeline};

use super::{BASELINE, NO_STANDARD, REFERENCE, Run, Task, numbers, reference_chart, target};
use crate::attempt::{self, Attempt, Order, Runnable, Watched};
use crate::compile::{Optimisation, Source};
use crate::device::Simulated;
use crate::exercise::Location;
use crate::exit::Usage;
use crate::grade::gate::{Demand, too_slow};
use crate::grade::{Finding, Gate, Standard, judge};
use crate::report::Role;
use crate::status::Status;
use crate::witness::{self, Wanted};
use sandbox::{Required, Sandbox};

impl Run<'_> {
    /// One run on the simulated device, which is exact.
    pub(super) fn simulated(&mut self, task: &Task, device: &Simulated) -> Result<()> {
        self.profile = Some(device.profile.clone());
        let Some(attempt) = self.attempt(task, device)? else { return Ok(()) };
        (self.tell)(Status::Judging);
        let finding = self.finding(task, &attempt);
        self.observe(task, &attempt)?;
        if let Some(trial) = attempt.record().and_then(|record| record.trials.last()) {
            self.report.makespan_ns = Some(trial.makespan_ns);
            self.report.latency = trial.latency;
            self.report.bounds = trial.bounds;
        }
        if task.role.demand() == Demand::Region {
            self.settle(task, finding);
            return Ok(());
        }
        let ends = Ends { task, device, schedule: self.schedule() };
        let reference = ends.replayed(REFERENCE);
        if let Ok((program, timeline)) = &reference
            && !self.presentation.charts.is_empty()
            && task.role != Role::Solution
        {
            self.presentation.charts.push(reference_chart(task, program.clone(), timeline.clone()));
        }
        let metric = task.exercise.manifest.metric;
        let (bounds, ns) = (self.report.bounds, self.report.graded_ns());
        self.report.metric_value = bounds.zip(ns).and_then(|(it, ns)| metric.of(it, ns));
        if !self.settle(task, finding) {
            return Ok(());
        }
        // Baseline and reference on that schedule are no measure: chance may have made either of
        // them slow.
        if self.arguments.schedule.is_some() {
            self.report.message = CHECKED_ALONE.to_owned();
            return Ok(());
        }
        let bounds = self.report.bounds.context(NO_BOUNDS)?;
        let baseline = ends.replayed(BASELINE)?;
        let standard = ends.standard(bounds, [&baseline, &reference?])?;
        self.report.standard = Some(standard);
        self.report.score = self.report.metric_value.map(|value| standard.score(value));
        self.decide(task);
        Ok(())
    }

    /// Builds the program and runs it; none where it does not compile, which is reported.
    fn attempt(&mut self, task: &Task, device: &Simulated) -> Result<Option<Attempt>> {
        let target = target(&task.exercise, &task.role)?;
        let name = target.name.clone();
        let Some(build) = self.build(task, &[target], Optimisation::Dev)? else { return Ok(None) };
        let numbers = numbers(&task.exercise, &task.role);
        let program = Runnable { numbers, ..Runnable::program(build.executable(&name)?) };
        let tried = match self.arguments.confined {
            true => Some(Sandbox::probe(Required::Floor)?),
            false => None,
        };
        if let (false, Ok(reference)) =
            (matches!(task.role, Role::Puzzle(_)), recorded(&task.exercise.place, REFERENCE))
        {
            has_rates(&device.profile, &reference)?;
        }
        let demanded = demanded(task, self.arguments.seed);
        let sandbox = match &task.source {
            Source::Apart(apart) => apart.sandbox(),
            Source::Cargo(_) | Source::Prebuilt(_) => tried.as_ref(),
        };
        let run = |schedule, watch| {
            attempt::run(&Order {
                program,
                folder: &task.folder,
                driver: build.driver.as_deref(),
                device: Watched::Simulated {
                    profile: device.file.as_deref(),
                    schedule,
                    watch,
                    machine: self.arguments.machine,
                    demand: demanded.as_ref(),
                },
                mode: trace::env::MODE_SOLVE,
                limits: task.limits,
                sandbox,
            })
        };
        let plain = run(self.schedule(), None)?;
        let Some(Wanted::Witness(number)) = self.arguments.schedule else { return Ok(Some(plain)) };
        let (attempt, found) = witness::play(number, plain, run)?;
        match found {
            Some(witness) => self.report.witness = Some(witness),
            None => self.report.notes.push(NOTHING_TO_SEE.to_owned()),
        }
        Ok(Some(attempt))
    }

    /// The schedule that the command line names. The orders of a witness follow an exact run.
    fn schedule(&self) -> Schedule {
        match self.arguments.schedule {
            Some(Wanted::Seed(seed)) => Schedule::Perturbed(seed),
            Some(Wanted::Witness(_)) | None => Schedule::Exact,
        }
    }

    /// Looks at the run itself, before what it did: its outputs and its time.
    fn finding(&self, task: &Task, attempt: &Attempt) -> Finding {
        let finding = judge(attempt, task.limit_s, task.role.demand());
        let trial = attempt.record().and_then(|record| record.trials.last());
        match (finding, trial) {
            (Finding::Failed { gate: Gate::Time, message }, None) => {
                Finding::Failed { gate: Gate::Time, message: message + TIME_PASSES_IN_CALLS }
            }
            (Finding::Clear, Some(trial)) if self.arguments.schedule.is_none() => {
                let bounds = trial.bounds;
                match bounds.and_then(|it| too_slow(trial.makespan_ns, it, trial.latency)) {
                    Some(message) => Finding::Failed { gate: Gate::Pace, message },
                    None => Finding::Clear,
                }
            }
            (finding, _) => finding,
        }
    }
}

/// The recorded programs that a task's points are measured between.
struct Ends<'a> {
    task: &'a Task,
    device: &'a Simulated,
    schedule: Schedule,
}

impl Ends<'_> {
    /// One of them, with its times on this device.
    fn replayed(&self, file: &str) -> Result<(Program, Timeline)> {
        let program = recorded(&self.task.exercise.place, file)?;
        let timeline = simulator::replay(&program, &self.device.profile, self.schedule);
        Ok((program, timeline))
    }

    /// The scale that they are the ends of.
    fn standard(&self, bounds: Bounds, ends: [&(Program, Timeline); 2]) -> Result<Standard> {
        let metric = self.task.exercise.manifest.metric;
        let value = |(program, timeline): &(Program, Timeline)| {
            let ns = metric.ns(timeline.extent().ns(), latency(program, timeline));
            metric.of(bounds, ns).with_context(|| metric.lacks())
        };
        let [baseline, reference] = ends;
        let standard = Standard::new(value(baseline)?, value(reference)?);
        let profile = &self.device.profile.name;
        standard.with_context(|| format!("{NO_STANDARD} on profile `{profile}`"))
    }
}

/// The demand on the region of a program on the simulated device; none where it may be anything.
fn demanded(task: &Task, seed: Option<u64>) -> Option<Demanded> {
    let file = match task.role {
        Role::Puzzle(_) => return None,
        Role::Student | Role::Solution => REFERENCE,
        // It may show what a single work queue costs, or what many are good for.
        Role::Baseline => BASELINE,
    };
    // As the instructor's program has it. Where there is no record of one, there is no score
    // either.
    let recorded = recorded(&task.exercise.place, file).ok();
    let manifest = &task.exercise.manifest;
    Some(Demanded {
        task: manifest.task.clone().unwrap_or_else(|| task.exercise.place.id.clone()),
        seed: seed.unwrap_or(trace::env::PUBLIC_SEED),
        scale: trace::lab_protocol::SCALE,
        connections: recorded
            .map_or(Connections::Any, |program| Connections::Exactly(WorkQueues::of(&program))),
    })
}

/// That a profile has the rates of all kernels of a program. One that was measured before there
/// were such kernels has not, which is nothing that a student could change.
fn has_rates(profile: &Profile, program: &Program) -> Result<()> {
    for step in &program.steps {
        if let Call::FunctionGet { rate, .. } = &step.call {
            profile.rate(rate).map_err(|it| Usage(it.to_string()))?;
        }
    }
    Ok(())
}

fn recorded(place: &Location, file: &str) -> Result<Program> {
    attempt::read_program(&place.folder.join(file)).with_context(|| {
        let Location { id, .. } = place;
        format!("cannot read `{file}` of `{id}`\n\nhint: `checker dev record {id}` makes it again")
    })
}

const NO_BOUNDS: &str = "the record does not say what the task's work takes alone";

const NOTHING_TO_SEE: &str = "there is no hazard, and so no order in which the data goes wrong";

const CHECKED_ALONE: &str = "correct on this schedule: all gates are clear; a run with `--schedule` checks that alone, \
                             and gets no score";

const TIME_PASSES_IN_CALLS: &str = "; on the simulated device time passes in calls alone, so a loop that only looks at \
                                    memory never ends";
