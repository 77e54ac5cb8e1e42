//! The facts about a run.

use trace::draw::{Lanes, Row, table};
use trace::metrics::{self, Blocked, Copies, Idle, Path};
use trace::observed::Observed;
use trace::timeline::{HostMemory, Interval, Span, SpanKind};
use trace::{Hazard, Metrics, hazards};

use crate::source::Device;

/// One device's run and what follows from it.
#[derive(Debug)]
pub struct Run<'a> {
    /// Where.
    pub device: &'a Device<'a>,
    /// Its part of the trace.
    pub extent: Interval,
    /// How busy each engine was.
    pub metrics: Metrics,
    /// Operations that ran in it, by kind.
    pub operations: Vec<(SpanKind, u64)>,
    /// How busy each stream was.
    pub streams: Vec<Row>,
    /// How much was copied, and how fast.
    pub copies: Vec<Copies>,
    /// Why nothing ran, where nothing did.
    pub idle: Idle<'a>,
    /// The chain of work and calls that made the run as long as it was.
    pub path: Path,
    /// Calls that blocked the host.
    pub blocked: Vec<Blocked<'a>>,
    /// None where the program is not known.
    pub hazards: Option<Vec<Hazard>>,
}

impl<'a> Run<'a> {
    /// Measures the run of a device.
    pub fn of(device: &'a Device<'a>) -> Self {
        let observed: &Observed<'a> = &device.observed;
        let timeline = &observed.timeline;
        let extent = timeline.extent();
        let mut streams = table(timeline, Lanes::Streams);
        streams.retain(|row| row.lane != "host blocked" && row.busy_ns > 0);
        Self {
            device,
            extent,
            metrics: Metrics::of(timeline),
            operations: operations(&timeline.spans, extent),
            streams,
            copies: metrics::copies(timeline),
            idle: metrics::idle(observed),
            path: metrics::path(observed),
            blocked: metrics::blocked(observed, extent),
            hazards: device.program.map(hazards::find),
        }
    }

    /// Copies of pageable memory, in both directions.
    pub fn pageable(&self) -> impl Iterator<Item = &Copies> {
        let pageable = |copies: &&Copies| copies.host_memory == Some(HostMemory::Pageable);
        self.copies.iter().filter(pageable)
    }
}

fn operations(spans: &[Span], extent: Interval) -> Vec<(SpanKind, u64)> {
    let mut counts = [
        (SpanKind::Kernel, 0),
        (SpanKind::HostToDevice, 0),
        (SpanKind::DeviceToHost, 0),
        (SpanKind::DeviceToDevice, 0),
        (SpanKind::PeerToPeer, 0),
        (SpanKind::HostToHost, 0),
        (SpanKind::Memset, 0),
        (SpanKind::HostFunction, 0),
    ];
    for span in spans {
        let inside = span.start_ns < extent.end_ns && span.end_ns >= extent.start_ns;
        if let Some((_, count)) = counts.iter_mut().find(|(kind, _)| inside && *kind == span.kind) {
            *count += 1;
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}
