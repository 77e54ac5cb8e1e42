//! The report as one JSON object.
//!
//! Every key is always there, null where nothing is known. Nothing in it depends on when or where
//! the run took place: the same run gives the same bytes.

use serde::Serialize;
use simulator::advice::Advice;
use trace::hazards::{CallAt, Code, Severity, StreamNames};
use trace::metrics::Latency;
use trace::{Cause, Hazard, causes};

use crate::cli::Feedback;
use crate::exercise::Metric;
use crate::grade::{Gate, Verdict, score};
use crate::prediction::Beside;
use crate::report::fix::{Edit, Fix, fix};
use crate::report::sources::Sources;
use crate::report::{Planned, Presentation, Report, Role, Where};
use crate::witness::{Wanted, Witness};

/// Version of the object.
const FORMAT: u32 = 1;

/// The report of a run as `--json` prints it.
#[derive(Debug, Serialize)]
pub struct Object<'a> {
    format: u32,
    exercise: Option<&'a str>,
    /// `student`, `solution`, `baseline`, or the name of one of the puzzle's programs.
    program: Option<&'a str>,
    /// `sim` or `gpu`.
    device: Option<&'static str>,
    /// The profile's name, or the GPU's.
    device_name: Option<&'a str>,
    /// A seed, or which witness.
    schedule: Option<Wanted>,
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
    /// Null where the task has no work for the host.
    host_freedom: Option<f64>,
    /// Null where the task has no requests.
    latency_ratio: Option<f64>,
    makespan_ns: Option<u64>,
    /// How long requests waited for their answers; null where there are none.
    latency: Option<Latency>,
    /// Time of a request on an idle device; null where there are none.
    request_ns: Option<u64>,
    floor_ns: Option<u64>,
    serial_ns: Option<u64>,
    /// The task's own work on the host, which is in the two before; null where there is none.
    host_work_ns: Option<u64>,
    hidden_fraction: Option<f64>,
    /// The most device memory at one time, and what the task allows; null where it has no budget.
    memory_peak_bytes: Option<u64>,
    memory_budget_bytes: Option<u64>,
    hazards: Vec<HazardObject>,
    /// The data of one of them, where its witness was played.
    witness: Option<&'a Witness>,
    /// How much is said about causes, where that is less than all: a program that reads this can
    /// leave out by itself what it does not want to show.
    feedback: Option<Feedback>,
    /// Why engines were empty: all causes, the one that gains most first.
    causes: Vec<CauseObject>,
    /// Steps against it, in this order.
    advice: Vec<AdviceObject>,
    /// The changes of the exercise's plan, and which of them are left; empty where it has none.
    plan: &'a [Planned],
    /// The prediction of the puzzle's program, beside what happens.
    prediction: Option<&'a Beside>,
    message: &'a str,
    notes: &'a [String],
    /// Output of the program, and of the driver: why a call was refused.
    printed: &'a str,
}

/// One hazard in it.
#[derive(Debug, Serialize)]
pub struct HazardObject {
    code: Code,
    name: &'static str,
    severity: Severity,
    /// Where the second use is.
    #[serde(flatten)]
    line: Line,
    /// Of no hazard is known what it costs; causes and advice have it.
    nanoseconds: Option<u64>,
    first: Line,
    second: Line,
    /// The near miss of the two: what is wrong with it, and where.
    near: Option<NearObject>,
    /// How many times there is this code at these two lines.
    count: u32,
    message: String,
    /// The rule that was broken, and what else is to be known.
    notes: Vec<String>,
    help: String,
    /// The help as edits of the source, where one is sure; in the order of the file.
    fix: Option<Vec<EditObject>>,
}

/// Bytes of a file, and what takes their place.
#[derive(Debug, Serialize)]
struct EditObject {
    file: String,
    from: usize,
    to: usize,
    text: String,
}

#[derive(Debug, Serialize)]
struct NearObject {
    slip: &'static str,
    #[serde(flatten)]
    line: Line,
}

#[derive(Debug, Serialize)]
struct CauseObject {
    code: causes::Code,
    name: &'static str,
    severity: causes::Severity,
    #[serde(flatten)]
    line: Line,
    /// Its cost.
    nanoseconds: Option<u64>,
    /// `replayed` where the program was simulated without it, `attributed` where engines were
    /// empty.
    basis: Option<causes::Basis>,
    /// How long its calls blocked the host.
    held_ns: Option<u64>,
    count: Option<u32>,
    message: String,
    help: Option<String>,
}

#[derive(Debug, Serialize)]
struct AdviceObject {
    code: causes::Code,
    name: &'static str,
    severity: causes::Severity,
    #[serde(flatten)]
    line: Line,
    /// Its gain, on top of the advice before it.
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

fn cause(cause: &Cause, feedback: Feedback) -> CauseObject {
    let whole = feedback != Feedback::Symptom;
    CauseObject {
        code: cause.code,
        name: cause.code.name(),
        severity: cause.severity,
        line: if whole { line(&cause.at) } else { Line::default() },
        nanoseconds: whole.then_some(cause.cost_ns),
        basis: whole.then_some(cause.basis),
        held_ns: whole.then_some(cause.blocked_ns),
        count: whole.then_some(cause.count),
        message: if whole { cause.message() } else { cause.code.symptom().to_owned() },
        help: whole.then(|| cause.help()),
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
#[derive(Debug, Default, Serialize)]
struct Line {
    file: Option<String>,
    line: Option<u32>,
}

/// The object that stands for a hazard in a program whose source is at hand.
pub fn hazard(hazard: &Hazard, names: &StreamNames, sources: &Sources) -> HazardObject {
    let edits = |Fix { file, edits }: Fix| {
        let edit = |edit: Edit| EditObject {
            file: file.clone(),
            from: edit.bytes.start,
            to: edit.bytes.end,
            text: edit.text,
        };
        edits.into_iter().map(edit).collect()
    };
    HazardObject {
        code: hazard.code,
        name: hazard.code.name(),
        severity: hazard.severity,
        line: line(&hazard.second.call),
        nanoseconds: None,
        first: line(&hazard.first.call),
        second: line(&hazard.second.call),
        near: hazard.near.as_ref().map(|near| NearObject {
            slip: near.slip.name(),
            line: near.slip.calls().first().map(|call| line(call)).unwrap_or_default(),
        }),
        count: hazard.count,
        message: hazard.message(),
        notes: hazard.notes(),
        help: hazard.help(),
        fix: fix(hazard, names, sources).map(edits),
    }
}

/// The object that stands for `report`, with no more about causes than `feedback` allows; none for
/// all.
pub fn object<'a>(
    report: &'a Report,
    presentation: &'a Presentation,
    feedback: Option<Feedback>,
) -> Object<'a> {
    let Presentation { names, sources, .. } = presentation;
    let allowed = feedback.unwrap_or(Feedback::Advice);
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
        host_freedom: report.host_freedom(),
        latency_ratio: report.latency_ratio(),
        makespan_ns: report.makespan_ns,
        latency: report.latency,
        request_ns: report.bounds.map(|bounds| bounds.request_ns).filter(|&ns| ns > 0),
        floor_ns: report.bounds.map(|bounds| bounds.floor_ns),
        serial_ns: report.bounds.map(|bounds| bounds.serial_ns),
        host_work_ns: report.bounds.map(|bounds| bounds.host_ns).filter(|&ns| ns > 0),
        hidden_fraction: report.hidden_fraction,
        memory_peak_bytes: report.memory.map(|memory| memory.peak.bytes),
        memory_budget_bytes: report.memory.map(|memory| memory.budget_bytes),
        hazards: report.hazards.iter().map(|it| hazard(it, names, sources)).collect(),
        witness: report.witness.as_ref(),
        feedback,
        causes: report.advised.causes.iter().map(|it| cause(it, allowed)).collect(),
        advice: match allowed {
            Feedback::Symptom | Feedback::Cause => Vec::new(),
            Feedback::Advice => report.advised.advice.iter().map(|it| advice(report, it)).collect(),
        },
        plan: &report.plan,
        prediction: report.prediction.as_ref(),
        message: &report.message,
        notes: &report.notes,
        printed: &presentation.output,
    }
}
