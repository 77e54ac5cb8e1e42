//! Costs of calls in a measured region beside their own time.
//!
//! Between two calls a program does something: the wrapper checks, counts references and binds the
//! context, and the program goes round its loop. The first call of its kind takes longer than those
//! after it. Before a region begins, the host works on other memory, filling inputs or comparing
//! outputs, so the driver's code and data leave its caches. They leave them while a module is
//! loaded, too. In a loop that loads one in each turn, an H200's host took 21 µs for a memset, 12
//! for a launch and 8 for a copy (driver 580.159.04 with CUPTI, 2026-11-30). It took 6, 5 and 3 in
//! a loop that loads none.

use trace::program::Call;

use super::Device;

/// Kinds of calls that a region has seen.
#[derive(Clone, Copy)]
pub(super) struct Region {
    is_open: bool,
    /// Which kinds of call have been made since it began: bits by the place of a kind in the list
    /// below.
    seen: u32,
}

impl Region {
    /// Before the first region, where nothing is measured.
    pub(super) const NONE: Self = Self { is_open: false, seen: u32::MAX };

    pub(super) fn begin(&mut self) {
        *self = Self { is_open: true, seen: 0 };
    }

    pub(super) fn end(&mut self) {
        self.is_open = false;
    }

    /// The next call of most kinds is a first one again.
    fn forget(&mut self) {
        if self.is_open {
            self.seen &= KEPT;
        }
    }

    /// Whether this kind has not been seen; now it has.
    fn is_first(&mut self, kind: u32) -> bool {
        let before = self.seen;
        self.seen |= 1 << kind;
        self.seen != before
    }
}

/// The part that all kinds of work share: the way to the device.
const WORK: u32 = 0;
const ALLOC: u32 = 13;
const FREE: u32 = 14;
/// Kinds whose first call takes longer once, whatever else the host does. A program that calls
/// `cuMemAlloc` and `cuMemFree` and loads a module in each turn took 29 to 32 ms on an H200 (driver
/// 580.159.04, 2026-11-28 and 2026-11-30). With these two as first calls in each turn it takes 34
/// here, without them 28.
const KEPT: u32 = 1 << ALLOC | 1 << FREE;

impl Device {
    /// How long a call takes its program, in ns, before the driver's usual work on it begins.
    pub(super) fn before_ns(&mut self, call: &Call) -> u64 {
        let figures = &self.profile.first_calls;
        let nothing = (u32::MAX, 0);
        let (kind, first_ns) = match call {
            Call::Launch(_) => (1, figures.launch_ns.value),
            Call::Copy { .. } => (2, figures.copy_ns.value),
            Call::Memset { .. } => (3, figures.memset_ns.value),
            Call::HostFunction { .. } => (4, figures.host_function_ns.value),
            Call::GraphLaunch { .. } if cfg!(feature = "graphs") => {
                (5, figures.graph_launch_ns.value)
            }
            Call::GraphCreate { .. } if cfg!(feature = "graphs") => {
                (6, figures.graph_create_ns.value)
            }
            Call::EventRecord { .. } => (7, figures.event_record_ns.value),
            Call::StreamWait { .. } => (8, figures.stream_wait_ns.value),
            Call::StreamCreate { .. } => (9, figures.stream_create_ns.value),
            Call::StreamDestroy { .. } => (10, figures.stream_destroy_ns.value),
            Call::EventCreate { .. } => (11, figures.event_create_ns.value),
            Call::EventDestroy { .. } => (12, figures.event_destroy_ns.value),
            Call::Alloc { .. } => (ALLOC, figures.alloc_ns.value),
            Call::Free { .. } => (FREE, figures.free_ns.value),
            Call::AllocAsync { .. } => (15, figures.alloc_async_ns.value),
            Call::FreeAsync { .. } => (16, figures.free_async_ns.value),
            Call::ModuleLoad => {
                self.region.forget();
                nothing
            }
            // Those are no calls of the driver.
            Call::RegionBegin
            | Call::RegionEnd
            | Call::Connections { .. }
            | Call::HostAccess { .. }
            | Call::HostWork { .. }
            | Call::Answer { .. }
            | Call::Arrival { .. }
            | Call::ThreadSpawn { .. }
            | Call::ThreadEnd
            | Call::ThreadJoin { .. }
            | Call::ChannelCreate { .. }
            | Call::ChannelSend { .. }
            | Call::ChannelReceive { .. }
            | Call::ChannelClose { .. } => return 0,
            _ => nothing,
        };
        let mut ns = 0;
        if self.region.is_open {
            // What a graph captured was called one by one.
            let calls = match call {
                Call::GraphCreate { nodes, .. } if cfg!(feature = "graphs") => {
                    1 + nodes.len() as u64
                }
                _ => 1,
            };
            ns += calls * self.profile.host.between_ns.value;
        }
        if (1..=5).contains(&kind) && self.region.is_first(WORK) {
            ns += figures.work_ns.value;
        }
        if kind != nothing.0 && self.region.is_first(kind) {
            ns += first_ns;
        }
        ns
    }
}
