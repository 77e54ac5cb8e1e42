//! The grade: functions of what was seen, without input or output.
//!
//! | module | its question |
//! | --- | --- |
//! | [`gate`] | did the run do the task at all? |
//! | [`score`] | where does it lie between baseline and reference? |
//! | [`spread`] | how sure is that, after several runs? |

pub mod gate;
pub mod score;
pub mod spread;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use gate::{Finding, judge};
pub use score::Standard;

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[must_use]
pub enum Verdict {
    /// All gates clear and the score high enough.
    Passed,
    /// A gate failed or the score is too low.
    Failed,
    /// The measurements spread too far.
    Inconclusive,
    /// Trouble that is not the student's.
    Error,
    /// A submission lacks files or holds forbidden ones.
    Rejected,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Inconclusive => "inconclusive",
            Self::Error => "error",
            Self::Rejected => "rejected",
        })
    }
}

/// Gates that have to be passed before any points are given, in the order in which they are looked
/// at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// The file compiles.
    Builds,
    /// The program ends in time.
    Time,
    /// The region comes to its end and its outputs are as expected.
    Output,
    /// No two accesses to the same memory lack an order.
    Hazard,
    /// The work that the task needs is done, on the device.
    Work,
    /// The device has finished when the region ends.
    Idle,
    /// No more device memory is allocated at one time than the task allows.
    Memory,
    /// Beside the requests that the host answers, the device does its other work in time.
    Pace,
}

impl Gate {
    /// In the order in which they are looked at.
    pub const ALL: [Self; 8] = [
        Self::Builds,
        Self::Time,
        Self::Output,
        Self::Hazard,
        Self::Work,
        Self::Idle,
        Self::Memory,
        Self::Pace,
    ];

    /// The gate of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|gate| gate.to_string().eq_ignore_ascii_case(name))
    }

    /// Its demand.
    pub fn asks(self) -> &'static str {
        match self {
            Self::Builds => "the file has to compile",
            Self::Time => "the program has to end within its time",
            Self::Output => "the output has to be right",
            Self::Hazard => "whatever uses the same memory has to be in an order",
            Self::Work => "all of the task has to be done, and on the device",
            Self::Idle => {
                "all that was asked for has to be done when the region ends, so wait for every stream \
                 before that"
            }
            Self::Memory => {
                "where the task has a budget, no more device memory may be allocated at one time"
            }
            Self::Pace => {
                "where there are requests to answer, all other work may take a tenth longer than alone"
            }
        }
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Builds => "builds",
            Self::Time => "time",
            Self::Output => "output",
            Self::Hazard => "hazard",
            Self::Work => "work",
            Self::Idle => "idle",
            Self::Memory => "memory",
            Self::Pace => "pace",
        })
    }
}
