//! Signs that a program could do something otherwise, whatever that costs it now.
//!
//! A [cause](crate::causes) is charged with time, and in a slow program one cause hides another:
//! while the host waits for each batch, nothing is lost by sharing a stream. A plan of several
//! changes needs to know which of them are still to be made. So a sign looks at what was called in
//! the measured region, and for one of them at when the device had nothing to do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::program::{BlockId, Call, Direction, Place, Program, StreamId};
use crate::timeline::Timeline;

/// A sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sign {
    /// Copies between device and pageable memory.
    PageableCopies,
    /// Memory is allocated or freed by a call that is in no stream's order.
    Allocations,
    /// Work in the legacy default stream.
    DefaultStream,
    /// The host waits for the whole device before the last wait.
    DeviceWideWaits,
    /// All uploads go to one block of device memory.
    OneBuffer,
    /// Each time that the host waits, the device runs out of work.
    EmptyDevice,
    /// Uploads share a stream with kernels.
    UploadsWithKernels,
    /// All kernels are in one stream.
    OneStreamOfKernels,
}

/// Operations of a measured region, with those of graphs in the place of their launches.
struct Operations<'a> {
    calls: Vec<&'a Call>,
}

impl Sign {
    /// Whether the last measured region shows it. A region of a program that was cut off shows what
    /// there is of it.
    pub fn is_in(self, program: &Program, timeline: &Timeline) -> bool {
        let operations = Operations::of(program);
        let mut calls = operations.calls.iter().copied();
        match self {
            Self::PageableCopies => calls.any(|call| {
                let Call::Copy { source, target, .. } = call else { return false };
                let crosses =
                    matches!((source, target), (Place::Device(_), _) | (_, Place::Device(_)));
                crosses && [source, target].contains(&&Place::Pageable)
            }),
            Self::Allocations => calls.any(|call| {
                matches!(
                    call,
                    Call::Alloc { .. }
                        | Call::Free { .. }
                        | Call::AllocHost { .. }
                        | Call::FreeHost { .. }
                )
            }),
            Self::DefaultStream => {
                calls.any(|call| stream_of(call).is_some_and(StreamId::is_legacy))
            }
            Self::DeviceWideWaits => {
                let last_work = operations.calls.iter().rposition(|call| stream_of(call).is_some());
                let before = &operations.calls[..last_work.unwrap_or(0)];
                before.iter().any(|call| matches!(call, Call::ContextSynchronize))
            }
            Self::OneBuffer => {
                let targets: Vec<_> = calls.filter_map(uploaded_to).collect();
                targets.len() > 1 && targets.iter().collect::<BTreeSet<_>>().len() == 1
            }
            Self::EmptyDevice => {
                let uploads = calls.filter(|call| uploaded_to(call).is_some()).count();
                emptying_waits(program, timeline) * LEAST_SHARE > uploads
            }
            Self::UploadsWithKernels => {
                let with_kernels = operations.streams_of_kernels();
                calls.any(|call| {
                    uploaded_to(call).is_some()
                        && stream_of(call).is_some_and(|stream| with_kernels.contains(&stream))
                })
            }
            Self::OneStreamOfKernels => operations.streams_of_kernels().len() == 1,
        }
    }
}

/// The device runs out of work each time if it does so for more than one in so many uploads: a wait
/// now and then, for something rare, is no habit.
const LEAST_SHARE: usize = 2;

impl<'a> Operations<'a> {
    fn of(program: &'a Program) -> Self {
        let mut calls = Vec::new();
        for step in &program.steps[region(program)] {
            match &step.call {
                Call::GraphLaunch { graph, .. } => {
                    let made = program.steps.iter().find_map(|step| match &step.call {
                        Call::GraphCreate { graph: made, nodes } if made == graph => Some(nodes),
                        _ => None,
                    });
                    calls.extend(made.into_iter().flatten().map(|node| &node.call));
                }
                call => calls.push(call),
            }
        }
        Self { calls }
    }

    fn streams_of_kernels(&self) -> BTreeSet<StreamId> {
        let launches = self.calls.iter().filter(|call| matches!(call, Call::Launch(_)));
        launches.filter_map(|call| stream_of(call)).collect()
    }
}

/// The steps of the last region.
fn region(program: &Program) -> std::ops::Range<usize> {
    let place = |call: &Call| program.steps.iter().rposition(|step| step.call == *call);
    let begin = place(&Call::RegionBegin).map_or(0, |at| at + 1);
    let end = place(&Call::RegionEnd).filter(|end| *end >= begin);
    begin..end.unwrap_or(program.steps.len())
}

/// The stream of a call that queues work.
fn stream_of(call: &Call) -> Option<StreamId> {
    match call {
        Call::Copy { stream, .. } | Call::Memset { stream, .. } => Some(*stream),
        Call::HostFunction { stream, .. } => Some(*stream),
        Call::Launch(launch) => Some(launch.stream),
        _ => None,
    }
}

/// The block of device memory that an upload writes.
fn uploaded_to(call: &Call) -> Option<BlockId> {
    let Call::Copy { target: Place::Device(range), .. } = call else { return None };
    (call.direction() == Some(Direction::HostToDevice)).then_some(range.block)
}

/// After how many waits of the host, all but the last, the device has nothing left to do.
fn emptying_waits(program: &Program, timeline: &Timeline) -> usize {
    let region = region(program);
    let steps = |step: u32| region.contains(&(step as usize));
    let last_work = timeline.spans.iter().map(|span| span.step).filter(|it| steps(*it)).max();
    // A copy to pageable memory, and `cuMemFree`, wait too.
    let waits = timeline
        .host
        .iter()
        .filter(|it| it.blocked_ns > 0 && steps(it.step) && Some(it.step) < last_work);
    let is_empty = |step: u32, at_ns: u64| {
        let asked = timeline.spans.iter().filter(|span| steps(span.step) && span.step < step);
        asked.map(|span| span.end_ns).max().is_none_or(|end| end <= at_ns)
    };
    waits.filter(|it| is_empty(it.step, it.end_ns)).count()
}
