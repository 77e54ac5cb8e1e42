//! The record of one student's exercise: the one source of every report.
//!
//! `grades.jsonl` has one of these a line, ordered by student and exercise. Nothing in it depends
//! on when, where or beside what an exercise was graded: the same files give the same bytes.
//! Whatever a student wrote or printed is in here as it came, but for control characters; each
//! exporter makes it harmless for its own format.

use serde::{Deserialize, Serialize};

use checker::exercise::Metric;
use checker::grade::{Gate, Verdict};
use sandbox::Layers;

/// Version of the line; any other is refused.
pub(crate) const FORMAT: u32 = 1;

/// One student's exercise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    pub(crate) format: u32,
    /// As the roster or the folder says it.
    pub(crate) student: String,
    /// The exercise's name.
    pub(crate) exercise: String,
    pub(crate) verdict: Verdict,
    /// The first gate that failed.
    pub(crate) gate: Option<Gate>,
    /// The outcome in one word, where verdict and gate do not say it all.
    pub(crate) reason: Option<Reason>,
    /// Points of 100, for the work alone; none where nothing could be graded, which is no zero.
    pub(crate) score: Option<f64>,
    /// Points of 100 that count: the score after the late policy, or what a person put in its
    /// place.
    pub(crate) points: Option<f64>,
    /// How late it came, where that cost points.
    pub(crate) late: Option<Late>,
    /// Who put which points in place of the score, and why.
    pub(crate) replaced: Option<Replaced>,
    /// Points that pass.
    pub(crate) pass_score: f64,
    /// Which rule turned the metric into the score.
    pub(crate) score_rule: u32,
    pub(crate) metric: Metric,
    pub(crate) metric_value: Option<f64>,
    pub(crate) baseline_value: Option<f64>,
    pub(crate) reference_value: Option<f64>,
    pub(crate) makespan_ns: Option<u64>,
    pub(crate) floor_ns: Option<u64>,
    pub(crate) serial_ns: Option<u64>,
    /// The task's own work on the host, which is in the two before.
    pub(crate) host_work_ns: Option<u64>,
    pub(crate) hidden_fraction: Option<f64>,
    pub(crate) hazards: Vec<Finding>,
    pub(crate) causes: Vec<Finding>,
    pub(crate) advice: Vec<Finding>,
    /// The verdict in a sentence.
    pub(crate) message: String,
    /// Notes for a person.
    pub(crate) notes: Vec<String>,
    /// Matters that a person should look at before the grade counts.
    pub(crate) flags: Vec<String>,
    /// The words of the compiler, no more than [`TEXT_BYTES`].
    pub(crate) compiler: String,
    /// The output of the program, no more than [`TEXT_BYTES`].
    pub(crate) output: String,
    /// The file that was graded; none where there was nothing that could be.
    pub(crate) file: Option<Submitted>,
    /// The time of a GPU for it, where that was measured. It differs from one run to the next, and
    /// nothing else here depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gpu: Option<OnGpu>,
    /// The versions that it was graded with.
    pub(crate) with: With,
}

impl Row {
    /// The file of its drawing, in the folder of drawings.
    pub(crate) fn drawing(&self) -> Option<String> {
        let sha256 = &self.file.as_ref()?.sha256;
        Some(format!("{}-{}.svg", self.exercise, &sha256[..16]))
    }
}

/// Most of a text that a student's program or the compiler wrote, in bytes: a report of a hundred
/// of them still opens.
pub(crate) const TEXT_BYTES: usize = 64 * 1024;

/// Why there is no ordinary verdict, or which kind of failure it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Reason {
    /// The file does not compile.
    CompileError,
    /// Compiling it took more time or memory than there was, or brought the compiler down.
    CompileLimit,
    /// The compiled code has parts that no exercise needs.
    ForbiddenCode,
    /// The program panicked or was ended by a signal.
    RuntimeError,
    /// It ran for too long.
    Timeout,
    /// It used too much memory, output, files or processes.
    Limit,
    /// It ended before the measured region did.
    NoResult,
    /// There is no file for this exercise.
    Missing,
    /// It is the file as it was handed out.
    Untouched,
    /// The submission is not a file that can be graded.
    InvalidSubmission,
    /// The student's budget was used up by exercises before this one.
    OverBudget,
    /// The machine's or the checker's trouble.
    Infrastructure,
}

/// A hazard, a cause or a piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Finding {
    /// `SWIM-H01`.
    pub(crate) code: String,
    pub(crate) name: String,
    /// `error`, `warning` or `note`.
    pub(crate) severity: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u32>,
    /// The line of the other use, where it is a hazard.
    pub(crate) other_line: Option<u32>,
    /// The time that it cost or would gain.
    pub(crate) nanoseconds: Option<u64>,
    /// How many times, at these lines.
    pub(crate) count: Option<u32>,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
}

/// A submission that came late.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Late {
    /// Whole hours after the deadline, rounded up.
    pub(crate) hours: u32,
    /// Points of 100 that it cost.
    pub(crate) points: f64,
}

/// A person's decision in place of the score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Replaced {
    pub(crate) points: f64,
    pub(crate) by: String,
    pub(crate) reason: String,
}

/// The file that was graded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Submitted {
    /// Where it lay in the student's folder.
    pub(crate) path: String,
    pub(crate) bytes: u64,
    /// In hexadecimal.
    pub(crate) sha256: String,
    /// Other files beside it, which were not looked at; the first few.
    pub(crate) ignored: Vec<String>,
}

/// The time of a GPU for a file, beside its grade.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct OnGpu {
    /// How far the number can be believed.
    pub(crate) trust: Trust,
    /// The device's own name.
    pub(crate) device: String,
    /// The newest CUDA that its driver supports, such as `13.0`.
    pub(crate) cuda: String,
    /// Points of 100 that the medians come to; none where there is no number.
    pub(crate) score: Option<f64>,
    /// Least and most points that the runs leave room for, with 95 %.
    pub(crate) range: Option<(f64, f64)>,
    /// Median of the untraced runs.
    pub(crate) makespan_ns: Option<u64>,
    pub(crate) metric_value: Option<f64>,
    pub(crate) baseline_value: Option<f64>,
    pub(crate) reference_value: Option<f64>,
    /// How many runs there were of each program.
    pub(crate) rounds: Option<u64>,
    /// The outcome in a sentence.
    pub(crate) message: String,
}

/// Who stands between a student's program and the number that it is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Trust {
    /// No one: clock and record are in the student's own process, which could have changed them.
    InProcess,
}

/// The versions that a row was graded with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct With {
    /// The checker's version.
    pub(crate) checker: String,
    /// `rustc -V`.
    pub(crate) rustc: String,
    /// The device profile's name.
    pub(crate) profile: String,
    /// SHA-256 of everything of the instructor's that went into the grade.
    pub(crate) exercise_sha256: String,
    /// Which layers stood between the student's code and the machine.
    pub(crate) sandbox: Layers,
}
