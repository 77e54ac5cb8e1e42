//! How long requests wait for their answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::program::{Call, Program};
use crate::timeline::Timeline;

/// The latency of a region's requests: of each the time from its arrival to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Latency {
    /// Requests that were answered.
    pub answers: u32,
    /// The mean, in ns.
    pub mean_ns: u64,
    /// The longest, in ns.
    pub longest_ns: u64,
}

impl Latency {
    /// That of requests which took so long each, in ns; none of none.
    pub fn of(each_ns: &[u64]) -> Option<Self> {
        let longest_ns = *each_ns.iter().max()?;
        let sum: u128 = each_ns.iter().map(|&ns| u128::from(ns)).sum();
        let mean_ns = u64::try_from(sum / each_ns.len() as u128).unwrap_or(u64::MAX);
        Some(Self { answers: each_ns.len() as u32, mean_ns, longest_ns })
    }
}

/// That of the last region of a program; none where no request was answered.
pub fn latency(program: &Program, timeline: &Timeline) -> Option<Latency> {
    let begin_ns = timeline.extent().start_ns;
    let mut arrivals = BTreeMap::new();
    let mut each_ns = Vec::new();
    for call in &timeline.host {
        match program.steps.get(call.step as usize).map(|step| &step.call) {
            Some(Call::RegionBegin) => {
                arrivals.clear();
                each_ns.clear();
            }
            Some(Call::Arrival { request, at_ns }) => {
                arrivals.insert(*request, begin_ns.saturating_add(*at_ns));
            }
            Some(Call::Answer { request }) => {
                let arrived_ns = arrivals.remove(request);
                each_ns.extend(arrived_ns.map(|at_ns| call.start_ns.saturating_sub(at_ns)));
            }
            _ => {}
        }
    }
    Latency::of(&each_ns)
}
