//! The report of a run: made once, printed for people and for programs.
//!
//! | module | for whom |
//! | --- | --- |
//! | `sources` | files that a report shows lines of |
//! | `snippet` | lines of the source, underlined |
//! | [`hazard`] | a hazard with its lines of the source, and the change that puts it right |
//! | `names` | what streams are called in the source |
//! | `fix` | that change as an edit of the source |
//! | [`cause`] | why engines were empty, in steps, and what to do |
//! | [`change`] | what changed against earlier runs |
//! | [`json`] | one object, the same bytes for the same run |
//! | [`terminal`] | a drawing, the numbers, the verdict, what to do next |

pub mod cause;
pub mod change;
pub mod fix;
pub mod hazard;
pub mod json;
pub mod names;
pub mod snippet;
pub mod sources;
pub mod terminal;

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use simulator::advice::Advised;
use trace::draw::Lanes;
use trace::hazards::StreamNames;
use trace::metrics::{Bounds, Latency};
use trace::record::Memory;
use trace::signs::Sign;
use trace::{Cause, Hazard, Program, Timeline};

use crate::cli::Feedback;
use crate::compile::RefusedBecause;
use crate::exercise::Metric;
use crate::exit::Exit;
use crate::grade::score::Measured;
use crate::grade::{Gate, Standard, Verdict};
use crate::prediction::Beside;
use crate::progress::{EarlierRuns, PastRun};
use crate::witness::{Wanted, Witness};
use sandbox::Exceeded;
use sandbox::process::Ending;

/// The report of a run. What is not known is none.
#[derive(Debug, Default)]
pub struct Report {
    /// The exercise's name.
    pub exercise: Option<String>,
    /// Which of its programs ran.
    pub role: Option<Role>,
    /// Where.
    pub device: Option<Where>,
    /// None for a program that is not graded.
    pub verdict: Option<Verdict>,
    /// The first gate that failed.
    pub gate: Option<Gate>,
    /// Points of 100.
    pub score: Option<f64>,
    /// Where repeated measurements put them.
    pub measured: Option<Measured>,
    /// Points that pass.
    pub pass_score: Option<f64>,
    /// The metric that is graded.
    pub metric: Option<Metric>,
    /// Its value.
    pub metric_value: Option<f64>,
    /// Its value for baseline and reference on the same device.
    pub standard: Option<Standard>,
    /// From the host's entry into the measured region to its exit, in ns.
    pub makespan_ns: Option<u64>,
    /// How long the task's requests waited for their answers, where it has any.
    pub latency: Option<Latency>,
    /// The task's two ends.
    pub bounds: Option<Bounds>,
    /// The most device memory at one time, where the task has a budget.
    pub memory: Option<Memory>,
    /// Share of the copying time that kernels hid.
    pub hidden_fraction: Option<f64>,
    /// Uses of the same memory that nothing orders.
    pub hazards: Vec<Hazard>,
    /// The data of one of them in another order, where that was wanted.
    pub witness: Option<Witness>,
    /// Why engines were empty, and what to do about it.
    pub advised: Advised,
    /// The profile that the advice was simulated on.
    pub advised_on: Option<String>,
    /// The exercise's plan, where it has one.
    pub plan: Vec<Planned>,
    /// Earlier runs of the student's file.
    pub before: EarlierRuns,
    /// The prediction of the puzzle, beside what happens.
    pub prediction: Option<Beside>,
    /// The verdict in a sentence.
    pub message: String,
    /// Further remarks for the student.
    pub notes: Vec<String>,
    /// The exit of an error; none where the verdict says it.
    pub exit: Option<Exit>,
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Planned {
    /// The sign that it is still to be made.
    pub sign: Sign,
    /// The words as long as it is.
    pub text: String,
    /// The exercise whose chapter is about it.
    pub chapter: String,
    /// Whether the program still shows the sign.
    pub is_left: bool,
}

/// Which of an exercise's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The student's.
    Student,
    /// The solution.
    Solution,
    /// The correct but slow one.
    Baseline,
    /// One of the puzzle's, by its name.
    Puzzle(String),
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Student => f.write_str("your file"),
            Self::Solution => f.write_str("the solution"),
            Self::Baseline => f.write_str("the baseline"),
            Self::Puzzle(name) => write!(f, "program `{name}`"),
        }
    }
}

/// Makes an explanation of a run; none of it is graded. Where it goes wrong, which is the checker's
/// fault, the report does without, and says so.
pub fn softly<T>(what: &str, make: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).map_err(|_| {
        format!("{what}: the checker could not find out. That is its fault, and changes nothing in the score")
    })
}

/// The device of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Where {
    /// Simulated.
    Simulated {
        /// The profile's name.
        profile: String,
        /// Another schedule than the exact one.
        schedule: Option<Wanted>,
    },
    /// Real.
    Gpu {
        /// The device's own name, once it has answered.
        name: Option<String>,
    },
}

/// Things that a terminal shows beside the report.
#[derive(Debug, Default)]
pub struct Presentation {
    /// Messages of the compiler about the student's file.
    pub compiler: String,
    /// Why there is no program, if so.
    pub because: Option<RefusedBecause>,
    /// How the program ended.
    pub ending: Option<Ending>,
    /// The limit that ended it, where there was one.
    pub exceeded: Option<Exceeded>,
    /// Output of the program.
    pub output: String,
    /// The student's timeline first, then the reference's.
    pub charts: Vec<Chart>,
    /// The source that hazards and causes point into, as far as it is there.
    pub sources: sources::Sources,
    /// Names of streams there.
    pub names: StreamNames,
    /// The command that shows what a hazard does, but for its number; none where there is none.
    pub play: Option<String>,
    /// Whether it is said how the score comes about.
    pub explains_score: bool,
    /// How much is said about causes; none for nothing.
    pub feedback: Option<Feedback>,
    /// The next step.
    pub next: Option<String>,
}

/// A timeline to draw.
#[derive(Debug)]
pub struct Chart {
    /// Whose it is.
    pub title: String,
    /// How it is drawn, where there is room for either.
    pub lanes: Lanes,
    /// The timeline.
    pub timeline: Timeline,
    /// The program.
    pub program: Program,
    /// Hazards, to be marked.
    pub hazards: Vec<Hazard>,
    /// Causes, as far as they are to be marked.
    pub causes: Vec<Cause>,
}

impl Report {
    /// The makespan's place between the task's two ends, unclamped.
    pub fn overlap_efficiency(&self) -> Option<f64> {
        self.bounds?.overlap_efficiency(self.makespan_ns?)
    }

    /// The share of the makespan that the host had for its own work.
    pub fn host_freedom(&self) -> Option<f64> {
        self.bounds?.host_freedom(self.makespan_ns?)
    }

    /// The latency of a request on an idle device, of that of the requests here.
    pub fn latency_ratio(&self) -> Option<f64> {
        self.bounds?.latency_ratio(self.latency?.mean_ns)
    }

    /// The time that the metric is about.
    pub fn graded_ns(&self) -> Option<u64> {
        let ns = self.makespan_ns?;
        Some(self.metric.map_or(ns, |metric| metric.ns(ns, self.latency)))
    }

    /// The facts that are kept of a run of the student's file; none of one that a gate failed.
    pub fn past(&self) -> Option<PastRun> {
        let is_sound = self.role == Some(Role::Student) && self.gate.is_none();
        let ns = self.graded_ns().filter(|_| is_sound && self.score.is_some())?;
        let codes = self.advised.causes.iter().map(|cause| cause.code.as_str().to_owned());
        let codes: BTreeSet<String> = codes.collect();
        Some(PastRun { ns, codes: codes.into_iter().collect() })
    }

    /// The code that a run is about: its first hazard, else its first cause.
    pub fn found_first(&self) -> Option<&'static str> {
        let hazard = self.hazards.first().map(|hazard| hazard.code.as_str());
        hazard.or_else(|| self.advised.causes.first().map(|cause| cause.code.as_str()))
    }
}
