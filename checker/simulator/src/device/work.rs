//! The work of an operation, and the part of a device that does it.

use trace::program::{BlockId, DEVICES, KernelId, Range};
use trace::timeline::{HostMemory, SpanKind};

use super::grids;

/// The engine that runs an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RunsOn {
    Nowhere,
    Multiprocessors,
    Engine(Direction),
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    HostToDevice,
    DeviceToHost,
    /// From the memory of one device to that of another, by an engine of this one.
    #[cfg(not(target_arch = "wasm32"))] // a page has one device
    ToPeer {
        by: u8,
        /// Over the link, and not through the host.
        linked: bool,
    },
    /// The second half of the same, where it goes through the host: into the memory of this device.
    #[cfg(not(target_arch = "wasm32"))]
    FromPeer {
        to: u8,
    },
}

/// One for each direction between host and device, and one that sends to other devices.
pub(super) const ENGINES: usize = if DEVICES > 1 { 3 } else { 2 };

/// Of work that uses no device memory.
pub(super) const NOWHERE: Range = Range { block: BlockId(0), offset: 0, bytes: 0 };

#[derive(Clone, Copy)]
pub(super) enum Work {
    /// Takes no time: record, wait, stream-ordered allocation.
    Marker,
    /// Memory goes back to its pool in the stream's order.
    Release,
    Transfer {
        direction: Direction,
        ns: u64,
        bytes: u64,
        memory: HostMemory,
        /// Where it writes.
        target: Range,
    },
    /// A copy or memset inside device memory, which is a kernel of the driver's.
    Memory {
        kind: SpanKind,
        grid: grids::Grid,
        bytes: u64,
        /// Where it writes.
        target: Range,
    },
    Kernel {
        kernel: KernelId,
        grid: grids::Grid,
        /// The first range that it reads.
        source: Range,
        /// The last one that it writes.
        target: Range,
    },
    HostFunction,
}

impl Work {
    /// Whether an engine is to do something for it.
    pub(super) fn is_work(&self) -> bool {
        !matches!(self, Work::Marker | Work::Release)
    }

    /// Its time where nothing else runs, in ns; not exactly, for a kernel.
    pub(super) fn alone_ns(&self) -> u64 {
        match self {
            Work::Marker | Work::Release | Work::HostFunction => 0,
            Work::Transfer { ns, .. } => *ns,
            Work::Memory { grid, .. } | Work::Kernel { grid, .. } => grid.alone_ns(),
        }
    }

    pub(super) fn runs_on(&self) -> RunsOn {
        match self {
            Work::Marker | Work::Release => RunsOn::Nowhere,
            Work::Transfer { direction, .. } => RunsOn::Engine(*direction),
            Work::Memory { .. } | Work::Kernel { .. } => RunsOn::Multiprocessors,
            Work::HostFunction => RunsOn::Host,
        }
    }
}
