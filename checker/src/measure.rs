//! Many runs on a GPU, and what they say together.
//!
//! Programs run in turn, so that whatever slows the machine down slows them alike; each process
//! makes a few passes that count, since starting it takes longer than they do. Each round of passes
//! gives one score, and the spread of the scores says how sure the grade is. What the task's work
//! takes alone is measured by the baseline program in a mode of its own, and the timeline comes
//! from one more run, since tracing costs time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use trace::env;
use trace::metrics::{Bounds, Latency};
use trace::record::Trial;

use crate::attempt::{self, Attempt, Order, Runnable, Watched};
use crate::exercise::Metric;
use crate::grade::gate::Demand;
use crate::grade::score::Measured;
use crate::grade::{Finding, Standard, judge, spread};
use crate::status::{Status, Tell};
use sandbox::process::Limits;

/// The programs of one exercise, as executables.
#[derive(Clone, Copy, Debug)]
pub struct Programs<'a> {
    /// The one that is graded.
    pub student: &'a Path,
    /// The correct but slow one.
    pub baseline: &'a Path,
    /// The reference that the student is compared with, where there is one.
    pub reference: Option<Runnable<'a>>,
}

/// Limits of a measurement.
#[derive(Clone, Debug)]
pub struct Budget {
    /// The driver library.
    pub driver: Option<PathBuf>,
    /// The folder that programs are started in.
    pub folder: PathBuf,
    /// Of one run.
    pub limits: Limits,
    /// Its limit of time, as people say it.
    pub limit_s: f64,
    /// Of all rounds together.
    pub cap: Duration,
}

/// One pass through the region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// From the host's entry into the region to its exit, in ns.
    pub makespan_ns: u64,
    /// How long requests waited, where there were any.
    pub latency: Option<Latency>,
}

/// The passes of one round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    student: Pass,
    baseline: Pass,
    reference: Option<Pass>,
}

/// A summary of all rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The student's median.
    pub makespan_ns: u64,
    /// The medians of the student's, where there were requests.
    pub latency: Option<Latency>,
    /// Baseline and reference, from their medians; none without a reference, or where it is no
    /// better than the baseline.
    pub standard: Option<Standard>,
    /// The score and its interval.
    pub measured: Option<Measured>,
}

/// Outcomes of a program that had to run many times.
#[derive(Debug)]
pub enum Outcome<T> {
    /// One of the runs did not clear the gates.
    Stopped(Finding, Box<Attempt>),
    /// All did.
    Done(T),
}

/// All rounds, and what the task's work takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measurement {
    /// The time of the task's work alone.
    pub bounds: Bounds,
    /// A summary of the rounds.
    pub summary: Summary,
    /// How many there were.
    pub rounds: usize,
}

/// Passes before the first that counts: the first loads modules, the second fills caches, the third
/// finds the clocks up.
const WARMUPS: u32 = 3;
/// Passes of each process that count. Where memory lies is another matter in each process, so they
/// must not all be of one.
pub const PASSES: u32 = 3;
/// Rounds that are always made. From six on an interval can hold the median with 95 %.
const ROUNDS_AT_LEAST: usize = 7;
/// Passes of each kind of calibration.
const CALIBRATIONS: u32 = 7;

/// Measures `programs` until the score is known well enough, or the time is up.
pub fn measure(
    programs: Programs<'_>,
    metric: Metric,
    budget: &Budget,
    tell: Tell<'_>,
) -> Result<Outcome<Measurement>> {
    let start = Instant::now();
    let bounds = calibrate(programs.baseline, budget)?;
    let mut rounds = Vec::new();
    loop {
        tell(Status::Measuring(rounds.len()));
        let demand = Demand::Task { trials: PASSES as usize };
        let student = match timed(Runnable::program(programs.student), demand, budget)? {
            Outcome::Stopped(finding, attempt) => return Ok(Outcome::Stopped(finding, attempt)),
            Outcome::Done(passes) => passes,
        };
        let baseline = trusted(Runnable::program(programs.baseline), "baseline", budget)?;
        let reference = programs
            .reference
            .map(|reference| trusted(reference, "reference", budget))
            .transpose()?;
        for (index, (&student, &baseline)) in student.iter().zip(&baseline).enumerate() {
            let reference = reference.as_ref().and_then(|passes| passes.get(index)).copied();
            rounds.push(Round { student, baseline, reference });
        }
        if rounds.len() < ROUNDS_AT_LEAST {
            continue;
        }
        let summary = summarise(&rounds, bounds, metric)?;
        let known = summary.measured.is_none_or(Measured::is_conclusive);
        if known || start.elapsed() >= budget.cap {
            let rounds = rounds.len();
            return Ok(Outcome::Done(Measurement { bounds, summary, rounds }));
        }
    }
}

/// The median makespan of a program that is not graded.
pub fn time(program: Runnable<'_>, budget: &Budget) -> Result<Outcome<u64>> {
    let mut makespans = Vec::new();
    while makespans.len() < ROUNDS_AT_LEAST {
        match timed(program, Demand::Region, budget)? {
            Outcome::Stopped(finding, attempt) => return Ok(Outcome::Stopped(finding, attempt)),
            Outcome::Done(more) => makespans.extend(more.iter().map(|pass| pass.makespan_ns)),
        }
    }
    let median = spread::median(&makespans).context("there are no runs")?;
    Ok(Outcome::Done(median))
}

/// One more run, for the timeline, with so many passes; the timeline is that of the last.
pub fn trace(program: Runnable<'_>, passes: u32, budget: &Budget) -> Result<Attempt> {
    run_once(program, env::TRACE_CUPTI, passes, budget)
}

/// The passes of one process.
pub fn timed(program: Runnable<'_>, demand: Demand, budget: &Budget) -> Result<Outcome<Vec<Pass>>> {
    let attempt = run_once(program, env::TRACE_OFF, PASSES, budget)?;
    match (judge(&attempt, budget.limit_s, demand), attempt.record()) {
        (Finding::Clear, Some(record)) => {
            let pass =
                |trial: &Trial| Pass { makespan_ns: trial.makespan_ns, latency: trial.latency };
            Ok(Outcome::Done(record.trials.iter().map(pass).collect()))
        }
        (finding, _) => Ok(Outcome::Stopped(finding, Box::new(attempt))),
    }
}

fn run_once(
    program: Runnable<'_>,
    trace: &'static str,
    trials: u32,
    budget: &Budget,
) -> Result<Attempt> {
    attempt::run(&Order {
        program,
        folder: &budget.folder,
        driver: budget.driver.as_deref(),
        device: Watched::Gpu { trace, warmups: WARMUPS, trials },
        mode: env::MODE_SOLVE,
        limits: budget.limits,
        sandbox: None,
    })
}

/// The same for a program that is ours: whatever goes wrong is not the student's.
fn trusted(program: Runnable<'_>, whose: &str, budget: &Budget) -> Result<Vec<Pass>> {
    let demand = match program.recorded {
        None => Demand::Task { trials: PASSES as usize },
        Some(_) => Demand::Region, // a player moves no data that anyone could check
    };
    match timed(program, demand, budget)? {
        Outcome::Done(passes) => Ok(passes),
        Outcome::Stopped(Finding::Clear, _) => bail!("the {whose} left no record"),
        Outcome::Stopped(Finding::Failed { message, .. } | Finding::Trouble { message }, _) => {
            bail!("the {whose} fails on this GPU: {message}")
        }
    }
}

/// Measures the time of each engine's share of the task alone.
pub fn calibrate(baseline: &Path, budget: &Budget) -> Result<Bounds> {
    let attempt = attempt::run(&Order {
        program: Runnable::program(baseline),
        folder: &budget.folder,
        driver: budget.driver.as_deref(),
        device: Watched::Gpu { trace: env::TRACE_OFF, warmups: WARMUPS, trials: CALIBRATIONS },
        mode: env::MODE_CALIBRATE,
        limits: budget.limits,
        sandbox: None,
    })?;
    match (judge(&attempt, budget.limit_s, Demand::Region), attempt.record()) {
        (Finding::Clear, Some(record)) => {
            let trials: Vec<_> =
                record.trials.iter().map(|t| (t.name.as_str(), t.makespan_ns)).collect();
            bounds(&trials)
        }
        (Finding::Clear, None) => bail!("the calibration left no record"),
        (Finding::Failed { message, .. } | Finding::Trouble { message }, _) => {
            bail!("the calibration fails on this GPU: {message}")
        }
    }
}

/// The name of the pass in which the host does its own work alone.
const HOST: &str = "host";
/// The name of the pass in which the host answers one request on an idle device: no engine's share
/// of the work, which the other passes have all of.
const REQUEST: &str = "request";
/// The passes of kernels in a calibration …
const KERNELS: &str = "kernels";
/// … and of the same work in grids that leave no multiprocessor empty, where the task's own do: the
/// floor has these in their place.
const KERNELS_PACKED: &str = "kernels_packed";

/// The bounds of a task from passes through each engine's share of it; the host is one of them.
fn bounds(trials: &[(&str, u64)]) -> Result<Bounds> {
    let mut engines: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (name, ns) in trials {
        engines.entry(name).or_default().push(*ns);
    }
    if engines.contains_key("") {
        bail!("the calibration has a pass that does not say which engine it is for");
    }
    let mut medians: BTreeMap<&str, u64> =
        engines.into_iter().filter_map(|(name, ns)| Some((name, spread::median(&ns)?))).collect();
    let packed = medians.remove(KERNELS_PACKED);
    let request_ns = medians.remove(REQUEST).unwrap_or(0);
    let serial_ns = medians.values().sum();
    let host_ns = medians.get(HOST).copied().unwrap_or(0);
    if let (Some(kernels), Some(packed)) = (medians.get_mut(KERNELS), packed) {
        *kernels = packed;
    }
    let floor_ns = medians.into_values().max().context("the calibration has no passes")?;
    Ok(Bounds { serial_ns, floor_ns, host_ns, request_ns })
}

fn summarise(rounds: &[Round], bounds: Bounds, metric: Metric) -> Result<Summary> {
    let value = |ns: u64| metric.of(bounds, ns).with_context(|| metric.lacks());
    let ns = |pass: Pass| metric.ns(pass.makespan_ns, pass.latency);
    let standard = |baseline_ns, reference_ns| -> Result<Option<Standard>> {
        Ok(Standard::new(value(baseline_ns)?, value(reference_ns)?))
    };
    let median = |of: &dyn Fn(&Round) -> Option<u64>| {
        spread::median(&rounds.iter().filter_map(of).collect::<Vec<_>>())
    };
    let own = |of: fn(Latency) -> u64| median(&|round| round.student.latency.map(of));
    let makespan_ns =
        median(&|round| Some(round.student.makespan_ns)).context("there are no rounds")?;
    let latency = own(|it| it.mean_ns).zip(own(|it| it.longest_ns)).map(|(mean_ns, longest_ns)| {
        let answers = own(|it| it.answers.into()).unwrap_or(0) as u32;
        Latency { answers, mean_ns, longest_ns }
    });
    let baseline_ns = median(&|round| Some(ns(round.baseline))).context("there are no rounds")?;
    let Some(reference_ns) = median(&|round| round.reference.map(ns)) else {
        return Ok(Summary { makespan_ns, latency, standard: None, measured: None });
    };
    let central = standard(baseline_ns, reference_ns)?;
    let mut scores = Vec::new();
    for round in rounds {
        let Some(reference) = round.reference else { continue };
        let own = value(ns(round.student))?;
        // A round in which the reference was no better says nothing, so it may say anything.
        let standard = standard(ns(round.baseline), ns(reference))?;
        scores.push(standard.map_or(f64::NAN, |s| s.score(own)));
    }
    let own = value(metric.ns(makespan_ns, latency))?;
    let measured = central.map(|central| {
        let score = central.score(own);
        Measured::new(score, &scores).unwrap_or(Measured { score, low: 0.0, high: 100.0 })
    });
    Ok(Summary { makespan_ns, latency, standard: central, measured })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { serial_ns: 3_000, floor_ns: 1_000, host_ns: 0, request_ns: 0 };

    fn round(student_ns: u64, baseline_ns: u64, reference_ns: u64) -> Round {
        let pass = |makespan_ns| Pass { makespan_ns, latency: None };
        Round {
            student: pass(student_ns),
            baseline: pass(baseline_ns),
            reference: Some(pass(reference_ns)),
        }
    }

    #[test]
    fn serial_is_the_sum_of_the_engines_medians_and_the_floor_the_longest() {
        let trials = [
            ("host_to_device", 300),
            ("host_to_device", 310),
            ("host_to_device", 9_000),
            ("kernels", 500),
            ("device_to_host", 200),
        ];
        let found = bounds(&trials).expect("three engines");
        assert_eq!(found, Bounds { serial_ns: 1_010, floor_ns: 500, host_ns: 0, request_ns: 0 });
    }

    #[test]
    fn the_hosts_own_work_counts_as_an_engines_and_is_known_by_itself() {
        let trials = [("kernels", 500), ("host", 590), ("host", 600), ("host", 9_000)];
        let found = bounds(&trials).expect("two engines");
        assert_eq!(found, Bounds { serial_ns: 1_100, floor_ns: 600, host_ns: 600, request_ns: 0 });
    }

    #[test]
    fn host_freedom_is_scored_from_makespans_like_any_other_metric() {
        let bounds = Bounds { serial_ns: 2_000, floor_ns: 1_000, host_ns: 1_000, request_ns: 0 };
        let rounds: Vec<_> = (0..8).map(|_| round(1_333, 2_000, 1_000)).collect();
        let summary = summarise(&rounds, bounds, Metric::HostFreedom).expect("a summary");
        let standard = summary.standard.expect("the reference is better");
        assert_eq!((standard.baseline(), standard.reference()), (0.5, 1.0));
        let measured = summary.measured.expect("a score");
        assert!((measured.score - 50.0).abs() < 0.1, "{measured:?}");
        let without = Bounds { host_ns: 0, ..bounds };
        let error = summarise(&rounds, without, Metric::HostFreedom).expect_err("no work");
        assert!(error.to_string().contains("no work for the host"), "{error}");
    }

    #[test]
    fn small_kernels_are_alone_in_serial_and_packed_in_the_floor() {
        let trials = [("kernels", 500), ("kernels_packed", 250), ("device_to_host", 200)];
        let found = bounds(&trials).expect("two engines");
        assert_eq!(found, Bounds { serial_ns: 700, floor_ns: 250, host_ns: 0, request_ns: 0 });
    }

    #[test]
    fn a_slow_machine_slows_both_and_the_score_stays() {
        // Every program takes a tenth longer in every second round.
        let rounds: Vec<_> =
            (0..8)
                .map(|n| {
                    if n % 2 == 0 { round(2_000, 3_000, 1_000) } else { round(2_200, 3_300, 1_100) }
                })
                .collect();
        let measured = summarise(&rounds, BOUNDS, Metric::OverlapEfficiency)
            .expect("a summary")
            .measured
            .expect("a score");
        assert!((measured.score - 50.0).abs() < 1e-9, "{measured:?}");
        assert!(measured.is_conclusive(), "{measured:?}");
    }

    #[test]
    fn a_student_who_jumps_about_is_inconclusive() {
        let rounds: Vec<_> = (0..9).map(|n| round(1_500 + 100 * (n % 5), 3_000, 1_000)).collect();
        let measured = summarise(&rounds, BOUNDS, Metric::OverlapEfficiency)
            .expect("a summary")
            .measured
            .expect("a score");
        assert!(!measured.is_conclusive(), "{measured:?}");
    }

    #[test]
    fn without_a_reference_there_is_a_makespan_and_no_score() {
        let rounds = [Round { reference: None, ..round(2_000, 3_000, 0) }; 7];
        let summary = summarise(&rounds, BOUNDS, Metric::OverlapEfficiency).expect("a summary");
        assert_eq!(
            summary,
            Summary { makespan_ns: 2_000, latency: None, standard: None, measured: None }
        );
    }

    #[test]
    fn a_round_that_says_nothing_leaves_the_score_open() {
        let mut rounds = vec![round(2_000, 3_000, 1_000); 7];
        rounds[3] = round(2_000, 1_000, 1_000);
        let measured = summarise(&rounds, BOUNDS, Metric::OverlapEfficiency)
            .expect("a summary")
            .measured
            .expect("a score");
        assert!(!measured.is_conclusive(), "{measured:?}");
    }

    #[test]
    fn where_requests_count_it_is_their_latency_that_is_scored_and_no_makespan() {
        let bounds = Bounds { request_ns: 30, ..BOUNDS };
        let pass = |makespan_ns, ns: u64| Pass { makespan_ns, latency: Latency::of(&[ns]) };
        // A makespan as long as it likes: it is for the gate.
        let rounds = [Round {
            student: pass(9_000, 60),
            baseline: pass(2_000, 3_000),
            reference: Some(pass(2_500, 40)),
        }; 7];
        let summary = summarise(&rounds, bounds, Metric::LatencyRatio).expect("a summary");
        assert_eq!((summary.makespan_ns, summary.latency), (9_000, Latency::of(&[60])));
        let standard = summary.standard.expect("the reference is better");
        assert_eq!((standard.baseline(), standard.reference()), (0.01, 0.75));
        let score = summary.measured.expect("seven rounds").score;
        assert!((score - standard.score(0.5)).abs() < 1e-9, "{score}");
        let error = summarise(&rounds, BOUNDS, Metric::LatencyRatio).expect_err("no requests");
        assert_eq!(error.to_string(), "the task has no requests");
    }

    #[test]
    fn what_a_request_takes_alone_is_no_engine_s_share_of_the_work() {
        let trials = [("kernels", 500), ("host_to_device", 300), ("request", 40)];
        let bounds = bounds(&trials).expect("all are named");
        assert_eq!((bounds.serial_ns, bounds.floor_ns, bounds.request_ns), (800, 500, 40));
    }
}
