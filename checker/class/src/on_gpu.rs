//! The times of a class's files on this machine's GPU, beside their grades.
//!
//! A grade comes from the simulated device alone. On a GPU a student's program runs outside of the
//! sandbox, which lets no device's files through, and times itself: nothing stands between it and
//! the number. So what is measured is marked as such, and changes no verdict and no points. Only
//! files that cleared every gate on the simulated device are run at all, one at a time, since a
//! GPU's times hold only where one process has it alone.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::compile::{Apart, Shared};
use crate::grader::Grader;
use crate::kit;
use crate::record::{OnGpu, Row, Trust};
use crate::store::Store;
use checker::cli::TIME_CAP_S;
use checker::commands::run::{Reference, target};
use checker::compile::{Apart as _, Build, Built, Optimisation, Source};
use checker::device::{Gpu, cuda};
use checker::exercise::Exercise;
use checker::grade::{Finding, gate};
use checker::measure::{self, Budget, Measurement, Outcome, Programs};
use checker::print::Style;
use checker::report::Role;
use checker::status::Tell;
use checker::workspace::Workspace;
use sandbox::process::Limits;
use sandbox::scratch::Scratch;

/// A GPU, and what files are measured with on it.
pub(crate) struct GpuSetup<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) gpu: &'a Gpu,
    /// Everything that files are compiled with, for speed.
    pub(crate) shared: &'a Shared,
    pub(crate) store: &'a Store,
    pub(crate) tell: Tell<'a>,
    /// Baseline and reference, by exercise.
    pub(crate) beside: BTreeMap<String, Beside>,
}

/// The programs that an exercise's files are measured beside.
pub(crate) struct Beside {
    build: Build,
    baseline: String,
    reference: Option<Reference>,
}

/// Whether a row is of a file that may run on a GPU.
pub(crate) fn wants(row: &Row) -> bool {
    row.gate.is_none() && row.reason.is_none() && row.score.is_some() && row.file.is_some()
}

impl GpuSetup<'_> {
    /// Measures a file, or finds what is kept of it. A failure is part of the answer, since no
    /// grade depends on it.
    pub(crate) fn measure(&mut self, grader: &Grader, file: &[u8]) -> Result<OnGpu> {
        let key = format!("{}-gpu-{}", grader.key(&kit::sha256(file))?, self.name());
        if let Some(kept) = self.store.on_gpu(&key) {
            return Ok(kept);
        }
        match self.run(grader, file) {
            Ok(Ok(measurement)) => {
                let found = self.measured(grader.exercise(), &measurement);
                self.store.keep_on_gpu(&key, &found)?;
                Ok(found)
            }
            Ok(Err(why)) => Ok(self.without_number(why)),
            Err(error) if error.is::<sandbox::interrupt::Interrupted>() => Err(error),
            Err(error) => Ok(self.without_number(format!("not measured: {error:#}"))),
        }
    }

    /// A name for everything of the GPU that changes what is measured.
    fn name(&self) -> String {
        let all = format!("{} {} {}", self.gpu.name, self.gpu.driver, self.shared.kit.sha256);
        kit::sha256(all.as_bytes())[..16].to_owned()
    }

    /// A file's measurement, or why its own program has none.
    fn run(&mut self, grader: &Grader, file: &[u8]) -> Result<Result<Measurement, String>> {
        let exercise = grader.exercise();
        let id = &exercise.place.id;
        let scratch = Scratch::passable()?;
        let apart = Apart::lay_out(self.shared, scratch.path(), id, file, grader.main())?;
        let build = match apart.build(self.tell)? {
            Built::Ready(build) => build,
            Built::Refused(refusal) => return Ok(Err(refusal.summary)),
        };
        if !self.beside.contains_key(id) {
            let beside = Beside::build(self.workspace, exercise, self.tell)?;
            self.beside.insert(id.clone(), beside);
        }
        let beside = &self.beside[id];
        let reference = beside.reference.as_ref();
        let programs = Programs {
            student: build.executable(id)?,
            baseline: beside.build.executable(&beside.baseline)?,
            reference: reference.map(|it| it.runnable(&beside.build)).transpose()?,
        };
        let budget = budget(exercise, &build, apart.folder())?;
        Ok(match measure::measure(programs, exercise.manifest.metric, &budget, self.tell)? {
            Outcome::Done(measurement) => Ok(measurement),
            Outcome::Stopped(Finding::Failed { message, .. } | Finding::Trouble { message }, _) => {
                Err(message)
            }
            Outcome::Stopped(Finding::Clear, _) => Err("it left no record".to_owned()),
        })
    }

    fn measured(&self, exercise: &Exercise, measurement: &Measurement) -> OnGpu {
        let Measurement { bounds, summary, rounds } = *measurement;
        let message = match summary.measured {
            Some(measured) if measured.is_conclusive() => {
                format!("the median of {rounds} untraced runs")
            }
            Some(_) => format!("{rounds} untraced runs, too far apart for a score"),
            None => format!(
                "the median of {rounds} untraced runs; no score, since there is no reference that is better \
                 than the baseline on this GPU"
            ),
        };
        let too_slow = gate::too_slow(summary.makespan_ns, bounds, summary.latency);
        let measured = summary.measured.filter(|_| too_slow.is_none());
        let message = too_slow.unwrap_or(message);
        let metric = exercise.manifest.metric;
        OnGpu {
            score: measured.filter(|it| it.is_conclusive()).map(|it| it.score),
            range: measured.map(|it| (it.low, it.high)),
            makespan_ns: Some(summary.makespan_ns),
            metric_value: metric.of(bounds, metric.ns(summary.makespan_ns, summary.latency)),
            baseline_value: summary.standard.map(|it| it.baseline()),
            reference_value: summary.standard.map(|it| it.reference()),
            rounds: Some(rounds as u64),
            ..self.without_number(message)
        }
    }

    fn without_number(&self, message: String) -> OnGpu {
        OnGpu {
            trust: Trust::InProcess,
            device: self.gpu.name.clone(),
            cuda: cuda(self.gpu.driver),
            score: None,
            range: None,
            makespan_ns: None,
            metric_value: None,
            baseline_value: None,
            reference_value: None,
            rounds: None,
            message,
        }
    }
}

impl Beside {
    fn build(workspace: &Workspace, exercise: &Exercise, tell: Tell<'_>) -> Result<Self> {
        let source = Source::Cargo(workspace.clone());
        let baseline = target(exercise, &Role::Baseline)?;
        let reference = Reference::of(exercise, &source)?;
        let name = baseline.name.clone();
        let mut targets = vec![baseline];
        targets.extend(reference.as_ref().map(|it| it.target.clone()));
        let own = &exercise.place.folder;
        match source.build(&targets, Optimisation::Release, own, Style::Plain, tell)? {
            Built::Ready(build) => Ok(Self { build, baseline: name, reference }),
            Built::Refused(refusal) => {
                anyhow::bail!("baseline and reference do not compile: {}", refusal.summary)
            }
        }
    }
}

fn budget(exercise: &Exercise, build: &Build, folder: &Path) -> Result<Budget> {
    let limit_s = exercise.manifest.time_limit_s;
    let wall = Duration::try_from_secs_f64(limit_s).context("a limit that is no time")?;
    let output_bytes = exercise.manifest.output_limit_kib as usize * 1024;
    Ok(Budget {
        driver: build.driver.clone(),
        folder: folder.to_owned(),
        limits: Limits { wall, output_bytes },
        limit_s,
        cap: Duration::from_secs_f64(TIME_CAP_S),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Reason;
    use checker::grade::Gate;

    #[test]
    fn only_a_file_that_cleared_every_gate_runs_on_a_gpu() {
        let text = include_str!("schema/README.md");
        let example = text.split_once("```json\n").and_then(|(_, rest)| rest.split_once("```"));
        let row: Row = serde_json::from_str(example.expect("an example").0).expect("it is a row");
        let clear = Row { gate: None, reason: None, score: Some(0.0), ..row };
        assert!(wants(&clear), "{clear:?}");
        for held in [
            Row { gate: Some(Gate::Hazard), ..clear.clone() },
            Row { reason: Some(Reason::Untouched), ..clear.clone() },
            Row { score: None, ..clear.clone() },
            Row { file: None, ..clear.clone() },
        ] {
            assert!(!wants(&held), "{held:?}");
        }
    }
}
