//! Runs on a GPU: many in rounds, for the score, and one more for the timeline.

use std::time::Duration;

use anyhow::Result;

use super::{NO_STANDARD, Reference, Run, Task, numbers, reference_chart, target};
use crate::attempt::Runnable;
use crate::compile::{Build, Optimisation};
use crate::grade::gate::{Demand, too_slow};
use crate::grade::{Finding, Gate, Verdict, judge, score};
use crate::measure::{self, Budget, Measurement, Outcome, Programs};
use crate::report::Role;

impl Run<'_> {
    /// Many runs on a GPU, and one more for the timeline.
    pub(super) fn gpu(&mut self, task: &Task) -> Result<()> {
        let exercise = &task.exercise;
        let own = target(exercise, &task.role)?;
        let demand = task.role.demand();
        let baseline = target(exercise, &Role::Baseline)?;
        let reference = match demand {
            Demand::Region => None,
            Demand::Task { .. } => Reference::of(exercise, &task.source)?,
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
            folder: task.folder.clone(),
            limits: task.limits,
            limit_s: task.limit_s,
            cap: Duration::try_from_secs_f64(self.arguments.time_cap).unwrap_or(Duration::MAX),
        };
        let timing = budget(&build);
        let student = build.executable(&own.name)?;
        let numbers = numbers(exercise, &task.role);
        if demand == Demand::Region {
            match measure::time(Runnable { numbers, ..Runnable::program(student) }, &timing)? {
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
            match measure::measure(programs, exercise.manifest.metric, &timing, self.tell)? {
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
        let own = Runnable { numbers, ..Runnable::program(build.executable(&own.name)?) };
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
            && !self.presentation.charts.is_empty()
            && task.role != Role::Solution
        {
            let attempt = measure::trace(reference.runnable(&build)?, 1, &tracing)?;
            if let Ok(Some(record)) = attempt.record {
                self.presentation.charts.push(reference_chart(
                    task,
                    record.program,
                    record.timeline,
                ));
            }
        }
        Ok(())
    }

    /// Takes over what the rounds on a GPU say.
    fn measured(&mut self, task: &Task, measurement: &Measurement, has_reference: bool) {
        let Measurement { bounds, summary, rounds } = *measurement;
        self.report.bounds = Some(bounds);
        self.report.makespan_ns = Some(summary.makespan_ns);
        self.report.latency = summary.latency;
        let ns = self.report.graded_ns();
        self.report.metric_value = ns.and_then(|ns| task.exercise.manifest.metric.of(bounds, ns));
        self.report.standard = summary.standard;
        self.report.measured = summary.measured;
        self.report.notes.push(format!(
            "the makespan is the median of {rounds} untraced runs; the timeline is of one more"
        ));
        if (summary.makespan_ns as f64) < SUSPICIOUS * bounds.floor_ns as f64 {
            self.report.notes.push(BELOW_THE_FLOOR.to_owned());
        }
        if let Some(message) = too_slow(summary.makespan_ns, bounds, summary.latency) {
            self.settle(task, Finding::Failed { gate: Gate::Pace, message });
            return;
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
}

/// The share of the floor under which a run on a GPU is for a person to look at.
const SUSPICIOUS: f64 = 0.97;

const BELOW_THE_FLOOR: &str = "the makespan is below the floor, which no schedule can be; somebody \
                               should look at how this run was measured";

const NO_REFERENCE: &str = "there is neither a solution here to measure beside your file nor a record \
                            of one, so there is no score\n\nhint: `--device sim` grades without one";

const PLAYED: &str = "there is no solution here, so the reference was played from its record";
