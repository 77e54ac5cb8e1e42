//! What a run comes to, once, for people and for programs.
//!
//! | module | for whom |
//! | --- | --- |
//! | `snippet` | lines of the source, underlined |
//! | [`hazard`] | a hazard with its lines of the source, and the change that puts it right |
//! | `names` | what streams are called in the source |
//! | `fix` | that change as an edit of the source |
//! | [`cause`] | why lanes were empty, in steps, and what to do |
//! | [`json`] | one object, the same bytes for the same run |
//! | [`terminal`] | a drawing, the numbers, the verdict, what to do next |

pub(crate) mod cause;
pub(crate) mod fix;
pub(crate) mod hazard;
pub(crate) mod json;
pub(crate) mod names;
pub(crate) mod snippet;
pub(crate) mod terminal;

use std::fmt;

use simulator::advice::Advised;
use trace::hazards::Names;
use trace::metrics::Bounds;
use trace::{Cause, Hazard, Program, Timeline};

use crate::cli::Feedback;
use crate::compile::Ground;
use crate::exercise::Metric;
use crate::exit::Exit;
use crate::grade::score::Measured;
use crate::grade::{Gate, Standard, Verdict};
use crate::prediction::Beside;
use crate::process::Ending;
use crate::sandbox::Exceeded;
use crate::witness::{Wanted, Witness};

/// What a run comes to. Whatever is not known is none.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// The exercise's name.
    pub(crate) exercise: Option<String>,
    /// Which of its programs ran.
    pub(crate) role: Option<Role>,
    /// Where.
    pub(crate) device: Option<Where>,
    /// None for a program that is not graded.
    pub(crate) verdict: Option<Verdict>,
    /// The first gate that failed.
    pub(crate) gate: Option<Gate>,
    /// Points of 100.
    pub(crate) score: Option<f64>,
    /// Where repeated measurements put them.
    pub(crate) measured: Option<Measured>,
    /// Points that pass.
    pub(crate) pass_score: Option<f64>,
    /// What is graded.
    pub(crate) metric: Option<Metric>,
    /// Its value.
    pub(crate) metric_value: Option<f64>,
    /// Its value for baseline and reference on the same device.
    pub(crate) standard: Option<Standard>,
    /// From the host's entry into the measured region to its exit, in ns.
    pub(crate) makespan_ns: Option<u64>,
    /// The task's two ends.
    pub(crate) bounds: Option<Bounds>,
    /// Share of the copying that was hidden behind kernels.
    pub(crate) hidden_fraction: Option<f64>,
    /// Uses of the same memory that nothing orders.
    pub(crate) hazards: Vec<Hazard>,
    /// What became of the data of one of them in another order, where somebody asked.
    pub(crate) witness: Option<Witness>,
    /// Why lanes were empty, and what to do about it.
    pub(crate) advised: Advised,
    /// The profile that the advice was simulated on.
    pub(crate) advised_on: Option<String>,
    /// What somebody expected of the puzzle, and what happens.
    pub(crate) prediction: Option<Beside>,
    /// The verdict in a sentence.
    pub(crate) message: String,
    /// What else somebody should know.
    pub(crate) notes: Vec<String>,
    /// The exit of an error; none where the verdict says it.
    pub(crate) exit: Option<Exit>,
}

/// Which of an exercise's programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
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

/// What explains a run; none of it is what is graded. Where it goes wrong, which is the checker's fault, the report does
/// without, and says so.
pub(crate) fn softly<T>(what: &str, make: impl FnOnce() -> T) -> Result<T, String> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).map_err(|_| {
        format!("{what}: the checker could not find out. That is its fault, and changes nothing in the score")
    })
}

/// The device of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Where {
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

/// What a terminal shows beside the report.
#[derive(Debug, Default)]
pub(crate) struct Exhibit {
    /// What the compiler said about the student's file.
    pub(crate) compiler: String,
    /// Why there is no program, if so.
    pub(crate) ground: Option<Ground>,
    /// How the program ended.
    pub(crate) ending: Option<Ending>,
    /// The limit that ended it, where there was one.
    pub(crate) exceeded: Option<Exceeded>,
    /// What the program printed.
    pub(crate) output: String,
    /// The student's timeline first, then the reference's.
    pub(crate) charts: Vec<Chart>,
    /// The source that hazards and causes point into, as far as it is there.
    pub(crate) sources: snippet::Sources,
    /// What streams are called there.
    pub(crate) names: Names,
    /// The command that shows what a hazard does, but for its number; none where there is none.
    pub(crate) play: Option<String>,
    /// How much is said about causes; none for nothing.
    pub(crate) feedback: Option<Feedback>,
    /// What to do next.
    pub(crate) next: Option<String>,
}

/// A timeline to draw.
#[derive(Debug)]
pub(crate) struct Chart {
    /// Whose it is.
    pub(crate) title: String,
    /// What happened.
    pub(crate) timeline: Timeline,
    /// What was asked for.
    pub(crate) program: Program,
    /// What nothing orders, to be marked.
    pub(crate) hazards: Vec<Hazard>,
    /// Why lanes were empty, as far as that is to be marked.
    pub(crate) causes: Vec<Cause>,
}

impl Report {
    /// The makespan's place between the task's two ends, unclamped.
    pub(crate) fn overlap_efficiency(&self) -> Option<f64> {
        self.bounds?.overlap_efficiency(self.makespan_ns?)
    }

    /// The share of the makespan that the host had for its own work.
    pub(crate) fn host_freedom(&self) -> Option<f64> {
        self.bounds?.host_freedom(self.makespan_ns?)
    }

    /// The code that a run is about: its first hazard, else its first cause.
    pub(crate) fn found_first(&self) -> Option<&'static str> {
        let hazard = self.hazards.first().map(|hazard| hazard.code.as_str());
        hazard.or_else(|| self.advised.causes.first().map(|cause| cause.code.as_str()))
    }
}
