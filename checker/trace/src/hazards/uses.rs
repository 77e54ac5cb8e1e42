//! Uses of memory by each call, its stream, and calls that wait although no documentation promises
//! it.

use crate::program::{AccessKind, BlockId, Call, Launch, NodeAccesses, Place, Range, StreamId};

/// Whether a call was seen to wait for the device although no documentation promises that it does.
/// `stream_ordered` says so of blocks, for which it is documented that nothing waits.
pub(super) fn blocks_unasked(call: &Call, stream_ordered: impl Fn(BlockId) -> bool) -> bool {
    match call {
        Call::Free { block } => !stream_ordered(*block),
        Call::FreeHost { .. } | Call::ModuleLoad | Call::ModuleUnload => true,
        _ => false,
    }
}

/// Calls `tell` with each use of memory that an operation makes.
pub fn accesses(call: &Call, mut tell: impl FnMut(AccessKind, Range)) {
    let range = |place: &Place| match place {
        Place::Device(range) | Place::Pinned(range) => Some(*range),
        Place::Pageable => None,
    };
    match call {
        Call::Copy { source, target, .. } => {
            if let Some(source) = range(source) {
                tell(AccessKind::Read, source);
            }
            if let Some(target) = range(target) {
                tell(AccessKind::Write, target);
            }
        }
        Call::Memset { target, .. } => tell(AccessKind::Write, *target),
        Call::Launch(Launch { accesses, .. })
        | Call::HostFunction { accesses, .. }
        | Call::HostAccess { accesses, .. } => {
            accesses.iter().for_each(|access| tell(access.kind, access.range));
        }
        _ => {}
    }
}

/// The same for an operation of a graph, counted from 1: where it is among the `moved`, it uses
/// other memory at this launch than when it was captured.
pub(crate) fn accesses_of_node(
    call: &Call,
    node: u32,
    moved: &[NodeAccesses],
    mut tell: impl FnMut(AccessKind, Range),
) {
    match moved.binary_search_by_key(&node, |it| it.node) {
        Ok(at) => moved[at].accesses.iter().for_each(|access| tell(access.kind, access.range)),
        Err(_) => accesses(call, tell),
    }
}

/// The stream that an operation is queued in.
pub fn stream(call: &Call) -> Option<StreamId> {
    match call {
        Call::AllocAsync { stream, .. }
        | Call::FreeAsync { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::HostFunction { stream, .. } => Some(*stream),
        Call::Launch(launch) => Some(launch.stream),
        _ => None,
    }
}

/// The stream that a call has to do with.
pub(crate) fn stream_named(call: &Call) -> Option<StreamId> {
    match call {
        Call::StreamSynchronize { stream }
        | Call::StreamQuery { stream }
        | Call::StreamWait { stream, .. }
        | Call::EventRecord { stream, .. }
        | Call::GraphLaunch { stream, .. } => Some(*stream),
        call => stream(call),
    }
}
