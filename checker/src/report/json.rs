//! The report as one JSON object.
//!
//! Every key is always there, null where nothing is known. Nothing in it depends on when or where the
//! run took place: the same run gives the same bytes.

use serde::Serialize;
use simulator::advice::Advice;
use trace::hazards::{CallAt, Code, Severity};
use trace::{Cause, Hazard, causes};

use crate::exercise::Metric;
use crate::grade::{Gate, Verdict, score};
use crate::report::{Report, Role, Where};

/// Version of the object.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
pub(crate) struct Object<'a> {
    format: u32,
    exercise: Option<&'a str>,
    /// `student`, `solution`, `baseline`, or the name of one of the puzzle's programs.
    program: Option<&'a str>,
    /// `sim` or `gpu`.
    device: Option<&'static str>,
    /// The profile's name, or the GPU's.
    device_name: Option<&'a str>,
    schedule: Option<u64>,
    /// `in-process` for numbers that the student's own process took part in making, which a GPU's
    /// are: they are shown beside a grade and never replace it.
    trust: Option<&'static str>,
    verdict: Option<Verdict>,
    gate: Option<Gate>,
    score: Option<f64>,
    /// The interval of the score where it was measured more than once.
    score_low: Option<f64>,
    score_high: Option<f64>,
    pass_score: Option<f64>,
    /// Which rule turned the metric into the score.
    score_rule: Option<u32>,
    metric: Option<Metric>,
    metric_value: Option<f64>,
    baseline_value: Option<f64>,
    reference_value: Option<f64>,
    overlap_efficiency: Option<f64>,
    makespan_ns: Option<u64>,
    floor_ns: Option<u64>,
    serial_ns: Option<u64>,
    hidden_fraction: Option<f64>,
    hazards: Vec<HazardObject>,
    /// Why lanes were empty: all causes, what gains most first.
    causes: Vec<CauseObject>,
    /// What to do about it, in this order.
    advice: Vec<AdviceObject>,
    message: &'a str,
    notes: &'a [String],
}

#[derive(Debug, Serialize)]
pub(crate) struct HazardObject {
    code: Code,
    name: &'static str,
    severity: Severity,
    first: Line,
    second: Line,
    /// How many times there is this code at these two lines.
    count: u32,
    message: String,
}

#[derive(Debug, Serialize)]
struct CauseObject {
    code: causes::Code,
    name: &'static str,
    severity: causes::Severity,
    #[serde(flatten)]
    line: Line,
    /// What it cost.
    nanoseconds: u64,
    /// `replayed` where the program was simulated without it, `attributed` where lanes were empty.
    basis: causes::Basis,
    /// How long its calls held the host.
    held_ns: u64,
    count: u32,
    message: String,
    help: String,
}

#[derive(Debug, Serialize)]
struct AdviceObject {
    code: causes::Code,
    name: &'static str,
    severity: causes::Severity,
    #[serde(flatten)]
    line: Line,
    /// What it gains, on top of the advice before it.
    nanoseconds: u64,
    makespan_before_ns: u64,
    makespan_after_ns: u64,
    /// The device profile that it was simulated on.
    profile: Option<String>,
    message: String,
    help: Option<String>,
}

fn line(call: &CallAt) -> Line {
    Line {
        file: call.site.as_ref().map(|site| site.file.clone()),
        line: call.site.as_ref().map(|site| site.line),
    }
}

fn cause(cause: &Cause) -> CauseObject {
    CauseObject {
        code: cause.code,
        name: cause.code.name(),
        severity: cause.severity,
        line: line(&cause.at),
        nanoseconds: cause.cost_ns,
        basis: cause.basis,
        held_ns: cause.held_ns,
        count: cause.count,
        message: cause.message(),
        help: cause.help(),
    }
}

fn advice(report: &Report, advice: &Advice) -> AdviceObject {
    AdviceObject {
        code: advice.code,
        name: advice.code.name(),
        severity: advice.code.severity(),
        line: line(&advice.at),
        nanoseconds: advice.gain_ns(),
        makespan_before_ns: advice.before_ns,
        makespan_after_ns: advice.after_ns,
        profile: report.advised_on.clone(),
        message: advice.message(),
        help: super::cause::help(&report.advised, advice),
    }
}

/// A line of the student's source; null where a call comes from none.
#[derive(Debug, Serialize)]
struct Line {
    file: Option<String>,
    line: Option<u32>,
}

/// The object that stands for a hazard.
pub(crate) fn hazard(hazard: &Hazard) -> HazardObject {
    HazardObject {
        code: hazard.code,
        name: hazard.code.name(),
        severity: hazard.severity,
        first: line(&hazard.first.call),
        second: line(&hazard.second.call),
        count: hazard.count,
        message: hazard.message(),
    }
}

/// The object that stands for `report`.
pub(crate) fn object(report: &Report) -> Object<'_> {
    let device = report.device.as_ref();
    Object {
        format: FORMAT,
        exercise: report.exercise.as_deref(),
        program: report.role.as_ref().map(|role| match role {
            Role::Student => "student",
            Role::Solution => "solution",
            Role::Baseline => "baseline",
            Role::Puzzle(name) => name,
        }),
        device: device.map(|device| match device {
            Where::Simulated { .. } => "sim",
            Where::Gpu { .. } => "gpu",
        }),
        device_name: device.and_then(|device| match device {
            Where::Simulated { profile, .. } => Some(profile.as_str()),
            Where::Gpu { name } => name.as_deref(),
        }),
        schedule: device.and_then(|device| match device {
            Where::Simulated { schedule, .. } => *schedule,
            Where::Gpu { .. } => None,
        }),
        trust: device.and_then(|device| match device {
            Where::Simulated { .. } => None,
            Where::Gpu { .. } => Some("in-process"),
        }),
        verdict: report.verdict,
        gate: report.gate,
        score: report.score,
        score_low: report.measured.map(|measured| measured.low),
        score_high: report.measured.map(|measured| measured.high),
        pass_score: report.pass_score,
        score_rule: report.score.map(|_| score::RULE),
        metric: report.metric,
        metric_value: report.metric_value,
        baseline_value: report.standard.map(|standard| standard.baseline()),
        reference_value: report.standard.map(|standard| standard.reference()),
        overlap_efficiency: report.overlap_efficiency(),
        makespan_ns: report.makespan_ns,
        floor_ns: report.bounds.map(|bounds| bounds.floor_ns),
        serial_ns: report.bounds.map(|bounds| bounds.serial_ns),
        hidden_fraction: report.hidden_fraction,
        hazards: report.hazards.iter().map(hazard).collect(),
        causes: report.advised.causes.iter().map(cause).collect(),
        advice: report.advised.advice.iter().map(|it| advice(report, it)).collect(),
        message: &report.message,
        notes: &report.notes,
    }
}
