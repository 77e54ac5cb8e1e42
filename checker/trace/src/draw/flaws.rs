//! Flaws of a timeline, to be marked where they happened: the two uses of a hazard with the edge
//! that is missing between them, and the call of a cause.

use crate::causes::{Cause, Code};
use crate::hazards::{AccessAt, CallAt, Hazard};

/// Flaws of one kind that are marked: more would hide what they are about.
const MOST: usize = 3;

/// Findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Findings<'a> {
    /// Uses that nothing orders.
    pub hazards: &'a [Hazard],
    /// Why lanes were empty, the most costly cause first.
    pub causes: &'a [Cause],
}

/// One flaw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// Its code, such as `SWIM-H01`.
    pub code: &'static str,
    /// Its words in a legend.
    pub legend: &'static str,
    /// Its title, in one line.
    pub title: String,
    /// Where it shows: both uses of a hazard, in the order of the calls, or the call of a cause.
    pub spots: Vec<Spot>,
}

/// A place in a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spot {
    /// Index into the chart's lanes.
    pub lane: usize,
    /// Index into the lane's rows.
    pub row: usize,
    /// Where it starts on the axis, in ns.
    pub start_ns: u64,
    /// Where it ends, in ns.
    pub end_ns: u64,
    /// The event there, in a word; empty where the code says it.
    pub label: String,
}

/// A place without words.
pub(super) type Place = (usize, usize, u64, u64);

/// The flaws that show, where `place` says that a call is drawn.
pub(super) fn flaws(
    findings: &Findings<'_>,
    place: impl Fn(&CallAt) -> Option<Place>,
) -> Vec<Flaw> {
    let spot = |call: &CallAt, label: String| {
        let (lane, row, start_ns, end_ns) = place(call)?;
        Some(Spot { lane, row, start_ns, end_ns, label })
    };
    let of_access = |access: &AccessAt| spot(&access.call, access.verb().to_owned());
    let hazards = findings.hazards.iter().filter_map(|hazard| {
        let spots = vec![of_access(&hazard.first)?, of_access(&hazard.second)?];
        let legend = "nothing orders the two";
        Some(Flaw { code: hazard.code.as_str(), legend, title: hazard.headline(), spots })
    });
    let causes = findings.causes.iter().filter_map(|cause| {
        let spots = vec![spot(&cause.at, String::new())?];
        let legend = match cause.code {
            Code::FullDevice => "ready, and no room",
            _ => "where time is lost",
        };
        Some(Flaw {
            code: cause.code.as_str(),
            legend,
            title: cause.code.symptom().to_owned(),
            spots,
        })
    });
    hazards.take(MOST).chain(causes.take(MOST)).collect()
}

impl Flaw {
    /// The code without what all codes begin with.
    pub fn short(&self) -> &'static str {
        self.code.strip_prefix("SWIM-").unwrap_or(self.code)
    }
}
