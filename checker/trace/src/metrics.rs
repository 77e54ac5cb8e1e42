//! Metrics of a timeline: how much of the time each engine was busy, and how much of the copying
//! was hidden beside kernels.
//!
//! Every figure is the length of a set of instants ([`Coverage`]), so work that runs twice at the
//! same time counts once. These figures explain a run; none of them grades it, since a kernel that
//! does nothing useful hides copies as well as one that does. What grades is [`Bounds`], whose two
//! ends come from the task and not from the program.
//!
//! | module | its question |
//! | --- | --- |
//! | [`intervals`] | which instants does a set of intervals cover? |
//! | [`blocking_calls`] | which calls blocked the host, and for how long? |
//! | [`idle`] | why did the device have nothing to do? |
//! | [`critical_path`] | which chain of work and calls made the run as long as it was? |
//! | [`copies`](mod@copies) | how much was copied, from what memory, and how fast? |
//! | [`latency`](mod@latency) | how long did requests wait for their answers? |
//! | [`memory`] | how much device memory was allocated at one time? |
//! | [`ranking`](mod@places) | which of several runs came first? |
//! | [`bounds`] | between the serial time and the floor, where does a makespan lie, how free was the host, and how near is a latency to that on an idle device? |

pub mod blocking_calls;
pub mod bounds;
pub mod copies;
pub mod critical_path;
pub mod idle;
pub mod intervals;
pub mod latency;
pub mod memory;
pub mod ranking;

use serde::Serialize;

pub use blocking_calls::{Blocked, blocked};
pub use bounds::Bounds;
pub use copies::{Copies, copies};
pub use critical_path::{Path, path};
pub use idle::{Idle, idle};
pub use intervals::{Coverage, union};
pub use latency::{Latency, latency};
pub use ranking::places;

use crate::Timeline;
use crate::timeline::{HostSpan, Interval, Span, SpanKind};

/// How one kind of work used the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Time in which at least one operation of the kind ran, in ns.
    pub busy_ns: u64,
    /// Sum of the durations of its operations, in ns; more than `busy_ns` where they ran at the
    /// same time.
    pub work_ns: u64,
}

/// The metrics of one timeline, over its [`extent`](Timeline::extent). Spans that stick out of it
/// count as far as they lie inside.
///
/// `copies` are transfers between host and device; copies inside the device and memsets are
/// neither copies nor kernels here. Host functions run on the host and leave the device idle.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Length of the extent, in ns.
    pub makespan_ns: u64,
    /// Kernels that compute.
    pub kernel: Usage,
    /// Kernels that exchange data with other devices ([`Span::is_communication`]).
    pub communication: Usage,
    /// How many of them there are.
    pub communications: u64,
    /// Time in which such a kernel and one that computes ran at once, in ns.
    pub hidden_communication_ns: u64,
    /// Copies from host to device.
    pub host_to_device: Usage,
    /// Copies from device to host.
    pub device_to_host: Usage,
    /// Copies inside the device.
    pub device_to_device: Usage,
    /// Copies from one device to another, on each of the two.
    pub peer_to_peer: Usage,
    /// Memsets.
    pub memset: Usage,
    /// Time in which anything ran on the device, in ns.
    pub busy_ns: u64,
    /// Time in which nothing did, in ns: `makespan_ns - busy_ns`.
    pub idle_ns: u64,
    /// Time in which a copy ran, in either direction, in ns.
    pub copies_ns: u64,
    /// Time in which a copy and a kernel ran at once, in ns.
    pub hidden_copy_ns: u64,
    /// Time in which a copy ran and no kernel did, in ns: `copies_ns - hidden_copy_ns`.
    pub exposed_copy_ns: u64,
    /// `hidden_copy_ns / copies_ns`; none without copies.
    pub hidden_fraction: Option<f64>,
    /// Time in which a kernel and a memory operation of any kind (transfer, copy inside the
    /// device, memset) ran at once, in ns.
    pub overlap_ns: u64,
    /// `overlap_ns / busy_ns`, the share of busy time that trace analysers quote; none where
    /// nothing ran.
    pub overlap_share: Option<f64>,
    /// Time in which a kernel and a copy from host to device ran at once, in ns.
    pub kernel_host_to_device_ns: u64,
    /// Time in which a kernel and a copy from device to host ran at once, in ns.
    pub kernel_device_to_host_ns: u64,
    /// Time in which copies in both directions ran at once, in ns.
    pub both_directions_ns: u64,
    /// Time in which a kernel and copies in both directions ran at once, in ns.
    pub all_lanes_ns: u64,
    /// Share of the makespan in which a kernel or a copy ran: what is missing from 1 was lost to
    /// orchestration. None where the makespan is 0.
    pub orchestration_efficiency: Option<f64>,
    /// Share of that time in which a kernel ran: what is missing from 1 are exposed copies. None
    /// where neither ran.
    pub communication_efficiency: Option<f64>,
    /// How long calls blocked host threads, in ns, summed over calls.
    pub host_blocked_ns: u64,
}

impl Metrics {
    /// The metrics of `timeline`.
    pub fn of(timeline: &Timeline) -> Self {
        let extent = timeline.extent();
        let of = |kinds: &'static [SpanKind], communicates: bool| {
            let spans = timeline.spans.iter();
            let spans = spans.filter(move |span| {
                kinds.contains(&span.kind) && span.is_communication() == communicates
            });
            spans.map(|span| span.interval().clip(extent))
        };
        let cover = |kinds| Coverage::of(of(kinds, false));
        let used = |kinds, communicates| Usage {
            busy_ns: Coverage::of(of(kinds, communicates)).ns(),
            // Times of a damaged trace may be of any size.
            work_ns: of(kinds, communicates).map(|it| it.ns()).fold(0, u64::saturating_add),
        };
        let usage = |kinds| used(kinds, false);

        let kernels = cover(&[SpanKind::Kernel]);
        let communication = Coverage::of(of(&[SpanKind::Kernel], true));
        let up = cover(&[SpanKind::HostToDevice]);
        let down = cover(&[SpanKind::DeviceToHost]);
        let copies = up.union(&down);
        let memory = copies.union(&cover(&[
            SpanKind::DeviceToDevice,
            SpanKind::PeerToPeer,
            SpanKind::Memset,
        ]));

        let makespan_ns = extent.ns();
        let busy_ns = kernels.union(&memory).union(&communication).ns();
        let hidden_copy_ns = copies.intersection(&kernels).ns();
        let exposed_copy_ns = copies.ns() - hidden_copy_ns;
        let overlap_ns = memory.intersection(&kernels).ns();
        let useful_ns = kernels.ns() + exposed_copy_ns;

        Self {
            makespan_ns,
            kernel: usage(&[SpanKind::Kernel]),
            communication: used(&[SpanKind::Kernel], true),
            communications: of(&[SpanKind::Kernel], true).count() as u64,
            hidden_communication_ns: communication.intersection(&kernels).ns(),
            host_to_device: usage(&[SpanKind::HostToDevice]),
            device_to_host: usage(&[SpanKind::DeviceToHost]),
            device_to_device: usage(&[SpanKind::DeviceToDevice]),
            peer_to_peer: usage(&[SpanKind::PeerToPeer]),
            memset: usage(&[SpanKind::Memset]),
            busy_ns,
            idle_ns: makespan_ns - busy_ns,
            copies_ns: copies.ns(),
            hidden_copy_ns,
            exposed_copy_ns,
            hidden_fraction: share(hidden_copy_ns, copies.ns()),
            overlap_ns,
            overlap_share: share(overlap_ns, busy_ns),
            kernel_host_to_device_ns: kernels.intersection(&up).ns(),
            kernel_device_to_host_ns: kernels.intersection(&down).ns(),
            both_directions_ns: up.intersection(&down).ns(),
            all_lanes_ns: kernels.intersection(&up).intersection(&down).ns(),
            orchestration_efficiency: share(useful_ns, makespan_ns),
            communication_efficiency: share(kernels.ns(), useful_ns),
            host_blocked_ns: timeline
                .host
                .iter()
                .map(|call| call.blocked().clip(extent).ns())
                .fold(0, u64::saturating_add),
        }
    }
}

impl Span {
    /// Whether it is a kernel by which devices exchange data, as NCCL and RCCL name theirs.
    pub fn is_communication(&self) -> bool {
        self.kind == SpanKind::Kernel && is_communication(self.name())
    }
}

/// Whether a kernel of that name is one by which devices exchange data.
pub fn is_communication(kernel: &str) -> bool {
    ["nccl", "rccl"].iter().any(|library| kernel.starts_with(library))
}

impl HostSpan {
    /// The part of the call in which the host was blocked: its last `blocked_ns`, since a call
    /// first queues its work and then waits.
    pub fn blocked(&self) -> Interval {
        Interval::new(self.end_ns.saturating_sub(self.blocked_ns).max(self.start_ns), self.end_ns)
    }
}

/// `part / whole`; none of nothing.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
