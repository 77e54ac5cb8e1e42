//! Waits of calls: what for, when a call returns, and what it answers.

use trace::program::{Call, ChannelId, Direction, Launch, StreamId};

use super::{OperationId, Work, grids};

/// The result of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// For queries: whether everything in question had ended by then. For launches: whether a block
    /// fits on a multiprocessor. For messages: whether there was one, or someone to take it. True
    /// for all other calls.
    pub yes: bool,
    /// For [`Call::EventElapsed`]: from the first event to the second, in ns; none if one of them
    /// was never recorded or has not ended.
    pub elapsed_ns: Option<i64>,
}

impl Answer {
    /// The answer to most calls.
    pub(super) const YES: Self = Self { yes: true, elapsed_ns: None };
}

/// The thing that a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    None,
    /// One operation, and so everything that it comes after.
    Operation {
        /// Which.
        id: u32,
        /// How long the host stays blocked after the operation has ended, in ns.
        more_ns: u64,
    },
    /// All earlier work of a stream; for the legacy default stream, that of the blocking streams
    /// too.
    Stream(StreamId),
    /// Everything that was queued before on one device.
    Device(u32),
    /// Everything that was queued before.
    All,
    /// The end of a host thread.
    ThreadEnd(u32),
    /// A message in a channel, or the end of all that could send one.
    Message(ChannelId),
    /// Room for a message in a channel, or the end of the one that could make it.
    Capacity(ChannelId),
}

impl Wait {
    /// Until this operation ends.
    pub(super) fn end_of(id: OperationId) -> Self {
        Wait::Operation { id, more_ns: 0 }
    }
}

/// An operation to be queued, and how long it blocks the host.
pub(super) struct Queued {
    pub(super) work: Work,
    /// Before the operation is queued, in ns.
    pub(super) cost: u64,
    /// After its end, in ns; none if the host does not wait for it.
    pub(super) blocked: Option<u64>,
    /// After it is queued, in ns.
    pub(super) more: u64,
}

impl Queued {
    /// The host does not wait for the operation.
    pub(super) fn free(work: Work, cost: u64) -> Self {
        Self { work, cost, blocked: None, more: 0 }
    }
}

/// The time that `bytes` take at `bytes_per_us`, in ns.
pub(super) fn time_of(bytes: u64, bytes_per_us: u64) -> u64 {
    let ns = grids::quotient(u128::from(bytes) * 1000, u128::from(bytes_per_us.max(1)));
    ns.min(grids::LONGEST_NS.into()) as u64
}

/// The stream in which a call queues an operation that takes up room there. Records, waits and
/// stream-ordered allocation are taken to need none; copies between two places of the host are not
/// queued at all.
pub(super) fn queued_in(call: &Call) -> Option<StreamId> {
    match call {
        Call::Copy { .. } if call.direction() == Some(Direction::HostToHost) => None,
        Call::Launch(Launch { stream, .. })
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::HostFunction { stream, .. } => Some(*stream),
        _ => None,
    }
}

/// When a call returns.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Return {
    /// In the turn in which it was made.
    Now,
    /// When its thread has its next turn.
    Later,
}
