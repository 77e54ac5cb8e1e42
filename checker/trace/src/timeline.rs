//! Operations by where and when they ran: on the device, and on the host.

use std::collections::BinaryHeap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::program::StreamId;

/// Version of the JSON form of [`Timeline`]; a reader refuses any other.
pub const VERSION: u32 = 1;

/// A half-open interval of time, in ns since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Interval {
    /// First instant in it.
    pub start_ns: u64,
    /// First instant after it.
    pub end_ns: u64,
}

impl Interval {
    /// `[start_ns, end_ns)`.
    pub fn new(start_ns: u64, end_ns: u64) -> Self {
        Self { start_ns, end_ns }
    }

    /// Its length in ns.
    pub fn ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }
}

/// `items` in the order of their keys; those with equal keys keep theirs.
///
/// Everything here that is put in order by time goes through one sort of pairs of numbers, since
/// each sort of another type would cost the page's wasm several kB.
///
/// # Panics
/// If there are 2³² of them or more.
pub fn in_order<T>(mut items: Vec<T>, key: impl Fn(&T) -> (u64, u32)) -> Vec<T> {
    if items.iter().map(&key).is_sorted() {
        return items;
    }
    let index = |index: usize| u64::from(u32::try_from(index).expect("fewer than 2³² items"));
    let with_key = |(place, item)| {
        let (first, second) = key(item);
        (first, u64::from(second) << 32 | index(place))
    };
    let order = sorted(items.iter().enumerate().map(with_key).collect());
    for place in 0..items.len() {
        // What belongs here may have been swapped away, to where an earlier item came from.
        let mut from = order[place].1 as u32 as usize;
        while from < place {
            from = order[from].1 as u32 as usize;
        }
        items.swap(place, from);
    }
    items
}

/// `pairs` in order. The sort of slices is several times as fast as a heap, and 4 kB of wasm
/// longer.
pub(crate) fn sorted(mut pairs: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    if crate::IS_PLAYGROUND {
        return BinaryHeap::from(pairs).into_sorted_vec();
    }
    pairs.sort_unstable();
    pairs
}

/// The spans of one run. Spans are ordered by `(start_ns, step)`, host spans by step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timeline {
    /// [`VERSION`] of the form this was written in.
    pub version: u32,
    /// Where the times come from.
    pub origin: Origin,
    /// The measured region, where the program marked one: from the host's entry to its exit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Interval>,
    /// Work of the device.
    pub spans: Vec<Span>,
    /// Calls of the host.
    pub host: Vec<HostSpan>,
}

impl Timeline {
    /// A timeline on which nothing has happened yet.
    pub fn new(origin: Origin) -> Self {
        Self { version: VERSION, origin, region: None, spans: Vec::new(), host: Vec::new() }
    }

    /// The measured region, or from the first call or span to the end of the last.
    pub fn extent(&self) -> Interval {
        if let Some(region) = self.region {
            return region;
        }
        let starts =
            self.spans.iter().map(|s| s.start_ns).chain(self.host.iter().map(|h| h.start_ns));
        let ends = self.spans.iter().map(|s| s.end_ns).chain(self.host.iter().map(|h| h.end_ns));
        Interval::new(starts.min().unwrap_or(0), ends.max().unwrap_or(0))
    }
}

/// Where the times of a timeline come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// Simulated on a device profile.
    Simulated {
        /// The name of the profile.
        profile: String,
    },
    /// Measured on a real device.
    Measured {
        /// The device's own name.
        device: String,
        /// The driver's version, as `cuDriverGetVersion` counts it: 13000 is CUDA 13.0.
        driver: u32,
        /// How the spans were obtained.
        method: Method,
    },
}

/// How the spans of a measured timeline were obtained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// CUPTI activity records.
    Cupti,
    /// A pair of events around each operation, in its own stream. The events themselves take time,
    /// and a span ends no earlier than the next event could be recorded.
    EventPairs,
    /// No spans: only the host was timed.
    Untraced,
}

/// Kinds of device work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A kernel.
    Kernel,
    /// A copy from host memory to device memory.
    HostToDevice,
    /// A copy from device memory to host memory.
    DeviceToHost,
    /// A copy inside device memory.
    DeviceToDevice,
    /// A copy from the memory of one device to that of another.
    PeerToPeer,
    /// A copy inside host memory, in a stream.
    HostToHost,
    /// A memset.
    Memset,
    /// A host function, run in stream order.
    HostFunction,
}

impl SpanKind {
    /// Whether it moves data between host and device.
    pub fn is_transfer(self) -> bool {
        matches!(self, Self::HostToDevice | Self::DeviceToHost)
    }

    /// Whether a device does it, and not its host.
    pub fn is_on_device(self) -> bool {
        !matches!(self, Self::HostToHost | Self::HostFunction)
    }
}

/// Whether the host memory of a copy was pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HostMemory {
    /// Pinned.
    Pinned,
    /// Ordinary.
    Pageable,
}

/// One operation of the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Span {
    /// Index into the program's steps: the call that issued it.
    pub step: u32,
    /// Its kind.
    pub kind: SpanKind,
    // Shared, since a run may have a million launches of one kernel.
    /// The kernel's name, where it is known; absent for other kinds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub name: Option<Arc<str>>,
    /// The stream it was queued in.
    pub stream: StreamId,
    /// When it started, in ns.
    pub start_ns: u64,
    /// When it ended, in ns.
    pub end_ns: u64,
    /// Bytes moved; 0 for kernels and host functions.
    #[serde(default)]
    pub bytes: u64,
    /// For transfers: the kind of host memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_memory: Option<HostMemory>,
}

impl Span {
    /// The kernel's name; empty for other kinds, and where it is not known.
    pub fn name(&self) -> &str {
        self.name.as_deref().unwrap_or_default()
    }

    /// The time it took up.
    pub fn interval(&self) -> Interval {
        Interval::new(self.start_ns, self.end_ns)
    }
}

/// One call of the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct HostSpan {
    /// Index into the program's steps.
    pub step: u32,
    /// When the host made the call, in ns.
    pub start_ns: u64,
    /// When it returned, in ns.
    pub end_ns: u64,
    /// How long of that time the call blocked the host, in ns. 0 where it is not known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocked_ns: u64,
}

fn is_zero(value: &u64) -> bool {
    *value == 0
}
