//! Predicted against measured: how well the simulated device tells what a GPU does.
//!
//! [`Fidelity`] is the kept file of one GPU. It holds what the simulated device predicts for each
//! program of the exercises, and what the GPU did, visit by visit, with device, driver, date and
//! command. Everything else, verdicts included, is computed from these ([`Fidelity::rows`]).
//!
//! # The goals
//! For every program:
//! - the predicted makespan is off by at most the larger of [`MAKESPAN_GOAL`] of the measured one
//!   and the GPU's own spread;
//! - the predicted overlap efficiency is off by at most the larger of [`EFFICIENCY_GOAL`] and the
//!   GPU's own spread, expressed in it.
//!
//! And for [`CLOSE_SHARE`] of the programs, the makespan is off by at most [`CLOSE_GOAL`]. A
//! program that is known to miss carries the reason in the file, and counts as missed all the same.
//!
//! The measured value is the median of all runs of all visits, and the GPU's own spread the largest
//! distance of a run from it. Of each visit a tenth of its runs at either end is left out. Visits
//! are of different machines, and the time that a host takes for its own part differs between them.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`order`] | the order of operations, and how far two of them agree |
//! | [`row`] | a program's row in the report |
//! | [`report`] | the report as Markdown |

pub mod order;
pub mod report;
pub mod row;

use serde::{Deserialize, Serialize};

pub use order::{Operations, Order};
pub use row::{Row, Sum, Verdict};

use crate::metrics::Bounds;
use crate::timeline::Method;

/// Version of the JSON form of [`Fidelity`]; a reader refuses any other.
pub const VERSION: u32 = 2;

/// A predicted makespan may be off by this share of the measured one.
pub const MAKESPAN_GOAL: f64 = 0.10;
/// A predicted overlap efficiency may be off by this.
pub const EFFICIENCY_GOAL: f64 = 0.05;
/// A predicted makespan is close when it is off by this share of the measured one.
pub const CLOSE_GOAL: f64 = 0.05;
/// The share of the programs whose predicted makespan has to be close.
pub const CLOSE_SHARE: f64 = 2.0 / 3.0;
/// Tracing may add this share to the makespan of a program whose operations are long.
pub const TRACING_GOAL: f64 = 0.02;
/// Operations that last this long, in ns, are long.
pub const LONG_NS: u64 = 50_000;

/// The kept figures of one GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// [`VERSION`] of the form this was written in.
    pub version: u32,
    /// The GPU's own name.
    pub device: String,
    /// The profile of the simulated device.
    pub profile: String,
    /// The programs, and what is predicted for each.
    pub programs: Vec<Predicted>,
    /// Measurements, oldest first.
    pub visits: Vec<Visit>,
    /// Figures of this GPU that pages print and no program of the exercises gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noted: Vec<Noted>,
}

/// The simulated device's prediction for a program.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Predicted {
    /// The exercise.
    pub exercise: String,
    /// Which of its programs: `shipped`, `baseline`, `solution`, or the name of a puzzle program.
    pub program: String,
    /// From the region's begin to its end, in ns.
    pub makespan_ns: u64,
    /// The two ends of its scale.
    pub bounds: Bounds,
    /// Whose work the ends are of.
    pub ends: Ends,
    /// Why the prediction is known to miss a goal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misses: Option<String>,
}

/// Whose work the two ends of a scale are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Ends {
    /// The task's. On a GPU they are measured.
    Task,
    /// The work that the program itself issues, since it has no task: the time of each engine's
    /// share of it alone. On a GPU that is measured too; where it was not, the predicted ends stand
    /// for both.
    Program,
}

/// Measurements of one time on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Visit {
    /// The day, as `2026-11-21`.
    pub date: String,
    /// The release of the driver, as `580.159.04`; empty where it is not to be found.
    pub driver: String,
    /// The driver's version, as `cuDriverGetVersion` counts it: 13000 is CUDA 13.0.
    pub cuda: u32,
    /// The host's processor.
    pub host: String,
    /// Threads that the host can run at once.
    pub cores: u32,
    /// The command line.
    pub command: String,
    /// The measurements of each program.
    pub programs: Vec<Measured>,
    /// The cost of the library between program and driver; none where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Overhead>,
}

/// Measurements of a program on a GPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Measured {
    /// The exercise.
    pub exercise: String,
    /// Which of its programs.
    pub program: String,
    /// Makespans without tracing, in ns, in the order of the runs.
    #[serde(default)]
    pub makespans_ns: Vec<u64>,
    /// Makespans with tracing, in ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traced_ns: Vec<u64>,
    /// The time of the task's work alone; none where the program has no task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<Bounds>,
    /// How the operations were seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Method>,
    /// How far the order of the operations agrees with the predicted one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// Why there is not what there should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// When each operation ran, in a traced run; kept of a program's last visit alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Operations>,
}

/// The cost of the library between program and driver.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Overhead {
    /// Calls, one by one, without tracing; none where they were those of a library that was another
    /// since.
    pub calls: Vec<CallCost>,
    /// Makespans of a pipeline of long operations without tracing, in ns; none where tracing was
    /// another.
    pub untraced_ns: Vec<u64>,
    /// The same with CUPTI; none likewise.
    pub traced_ns: Vec<u64>,
    /// The shortest operation of that pipeline, in ns.
    pub shortest_ns: u64,
}

/// The cost of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CallCost {
    /// The call.
    pub call: String,
    /// Of the driver's own function, in ns, the median.
    pub direct_ns: f64,
    /// Through the library, in ns, the median.
    pub through_ns: f64,
    /// The time that the library adds on average, in ns: with what it does from time to time.
    pub mean_added_ns: f64,
    /// Blocks of calls of either kind.
    pub blocks: u32,
}

/// A figure of a GPU that no program of the exercises gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Noted {
    /// Its name on pages.
    pub name: String,
    /// A time, in ns.
    pub ns: u64,
    /// The way it was measured, with driver and date.
    pub source: String,
}

impl Fidelity {
    /// The file of a GPU before its first visit.
    pub fn new(device: String, profile: String) -> Self {
        let (programs, visits, noted) = (Vec::new(), Vec::new(), Vec::new());
        Self { version: VERSION, device, profile, programs, visits, noted }
    }

    /// The measurements of a program, visit by visit.
    pub fn measured(
        &self,
        exercise: &str,
        program: &str,
    ) -> impl Iterator<Item = (&Visit, &Measured)> {
        self.visits.iter().flat_map(move |visit| {
            let of = visit.programs.iter();
            of.filter(move |m| m.exercise == exercise && m.program == program)
                .map(move |measured| (visit, measured))
        })
    }

    /// A row for each program.
    pub fn rows(&self) -> Vec<Row<'_>> {
        self.programs.iter().map(|predicted| Row::new(self, predicted)).collect()
    }
}

/// The middle of some values; of an even number of them the lower middle one.
pub fn median<T: Copy + PartialOrd>(values: &[T]) -> Option<T> {
    let sorted = sorted(values);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied()
}

pub(crate) fn sorted<T: Copy + PartialOrd>(values: &[T]) -> Vec<T> {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    sorted
}
