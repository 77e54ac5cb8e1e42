//! Rows of a trace.

use std::collections::BTreeMap;

use crate::timeline::SpanKind;

use super::json::Mended;
use super::names::{Name, Names};

/// Rows, in the order of the file. Times are in ns of the trace's own clock.
#[derive(Debug, Default)]
pub(super) struct Rows {
    pub(super) names: Names,
    pub(super) header: Header,
    pub(super) work: Vec<Work>,
    pub(super) calls: Vec<Call>,
    pub(super) waits: Vec<Wait>,
    pub(super) lines: Vec<Line>,
    pub(super) odd: Odd,
}

/// Facts that stand beside the rows.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) kineto: bool,
    pub(super) driver: Option<u32>,
    pub(super) rank: Option<i64>,
    /// Names of devices by their number.
    pub(super) devices: BTreeMap<i64, String>,
    /// Processes that are devices, and their numbers, where rows have no categories: so JAX writes
    /// them.
    pub(super) gpus: BTreeMap<i64, i64>,
    /// Threads of those that are streams, and their numbers.
    pub(super) streams: BTreeMap<Thread, i64>,
    /// Rows come from Nsight Systems by a converter, which leaves copies and memsets out.
    pub(super) is_converted: bool,
}

/// Rows that say less than they should.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Odd {
    /// Rows of all kinds.
    pub(super) rows: u64,
    /// Of the device or the host, without a time.
    pub(super) timeless: u64,
    /// That end before they start.
    pub(super) backwards: u64,
    /// Beginnings without an end, and ends without a beginning.
    pub(super) unpaired: u64,
    /// Operations that end when they start.
    pub(super) instants: u64,
    /// Rows of the profiler itself: how many, and for how long together, in ns.
    pub(super) overheads: u64,
    pub(super) overhead_ns: i64,
    /// The same row again.
    pub(super) repeated: u64,
    /// Faults against JSON.
    pub(super) mended: Mended,
}

/// One operation of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Work {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) place: Device,
    pub(super) stream: i64,
    pub(super) correlation: Option<i64>,
    pub(super) kind: SpanKind,
    pub(super) pageable: Option<bool>,
    pub(super) bytes: u64,
    pub(super) name: Name,
}

/// A device: the process that the trace files it under, and its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Device {
    pub(super) process: i64,
    pub(super) index: i64,
}

/// A thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Thread {
    pub(super) process: i64,
    pub(super) thread: i64,
}

/// One call of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Call {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) thread: Thread,
    pub(super) correlation: Option<i64>,
    pub(super) name: Name,
}

/// A stream waited for what an event of another stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    pub(super) place: Device,
    pub(super) stream: i64,
    pub(super) source: i64,
    /// Of the call that issued it, and of the one that recorded the event.
    pub(super) correlation: i64,
    pub(super) recorded: i64,
}

/// A line of the source that a thread was in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) thread: Thread,
    pub(super) name: Name,
}

/// A row, as far as it has been read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    pub(super) phase: u8,
    pub(super) category: Category,
    pub(super) process: Option<i64>,
    pub(super) thread: Option<i64>,
    pub(super) ts: Option<i64>,
    pub(super) duration: Option<i64>,
    pub(super) device: Option<i64>,
    pub(super) stream: Option<i64>,
    pub(super) correlation: Option<i64>,
    pub(super) bytes: Option<i64>,
    pub(super) source: Option<i64>,
    pub(super) recorded: Option<i64>,
    pub(super) stack: Option<Name>,
    /// Name of a process or a thread.
    pub(super) label: Option<Name>,
    pub(super) pageable: Option<bool>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Category {
    Kernel,
    Copy,
    Memset,
    Call,
    Wait,
    Python,
    Operator,
    /// Of a device, where its thread is a stream: so a converter of Nsight Systems writes kernels.
    Cuda,
    /// The profiler's own work.
    Overhead,
    Other,
    /// The row has none.
    #[default]
    Unsaid,
}

impl Category {
    pub(super) fn is_work(self) -> bool {
        matches!(self, Self::Kernel | Self::Copy | Self::Memset)
    }

    /// Kineto wrote capitalised words before 2022.
    pub(super) fn of(text: &[u8]) -> Self {
        match text {
            b"kernel" | b"Kernel" => Self::Kernel,
            b"gpu_memcpy" | b"Memcpy" => Self::Copy,
            b"gpu_memset" | b"Memset" => Self::Memset,
            b"cuda_runtime" | b"cuda_driver" | b"hip_runtime" | b"Runtime" | b"Driver"
            | b"cuda_api" => Self::Call,
            b"cuda" => Self::Cuda,
            b"cuda_sync" => Self::Wait,
            b"python_function" => Self::Python,
            b"overhead" => Self::Overhead,
            b"cpu_op" | b"Operator" => Self::Operator,
            _ => Self::Other,
        }
    }
}
