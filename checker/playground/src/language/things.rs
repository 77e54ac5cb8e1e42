//! The things that names of a program stand for.

use trace::program::{BlockId, EventId, Place, Range, StreamId};

use super::syntax::Memory;

/// A thing that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thing {
    Stream(StreamId),
    Event(EventId),
    Buffer(Buffer),
    /// It was freed in this line.
    Freed(u32),
}

/// Memory. Pageable memory has no block: a copy has finished with it when the call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Buffer {
    pub(super) kind: Memory,
    pub(super) block: BlockId,
    /// Of pinned memory: the event by which cudarc knows its last use.
    pub(super) event: EventId,
    pub(super) bytes: u64,
}

impl Buffer {
    pub(super) fn range(&self, bytes: u64) -> Range {
        Range { block: self.block, offset: 0, bytes }
    }

    pub(super) fn place(&self, bytes: u64) -> Place {
        match self.kind {
            Memory::Device => Place::Device(self.range(bytes)),
            Memory::Pinned => Place::Pinned(self.range(bytes)),
            Memory::Pageable => Place::Pageable,
        }
    }
}

impl Thing {
    pub(super) fn said(&self) -> String {
        match self {
            Self::Stream(_) => "a stream".to_owned(),
            Self::Event(_) => "an event".to_owned(),
            Self::Buffer(Buffer { kind: Memory::Device, .. }) => "device memory".to_owned(),
            Self::Buffer(Buffer { kind: Memory::Pinned, .. }) => "pinned host memory".to_owned(),
            Self::Buffer(Buffer { kind: Memory::Pageable, .. }) => {
                "pageable host memory".to_owned()
            }
            Self::Freed(line) => format!("freed in line {line}"),
        }
    }
}
