//! Hazards as plain data: what is found, where, and what would order it.

use serde::Serialize;

use crate::codes::codes;
use crate::program::{AccessKind, Range, Site, StreamId};

/// Two uses of the same memory that nothing orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hazard {
    /// Its kind, by its code.
    pub code: Code,
    /// The kind that it would have if no call waited beyond what is promised: the same, but for
    /// [`Code::UnspecifiedBlocking`].
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// The use that the host issued first.
    pub first: AccessAt,
    /// The other one.
    pub second: AccessAt,
    /// The bytes that both use, or some of them. Of size 0 where a block is freed that was never
    /// used.
    pub overlap: Range,
    /// The smallest change that orders the two.
    pub missing: Edge,
    /// The near miss, where there is one; found out for the first few hazards of a program.
    pub near: Option<NearMiss>,
    /// Whether the second use is of a later turn of a loop than the first.
    pub turn: Turn,
    /// How many turns later it is, where that is known to be more than one: so many pieces of
    /// memory are used by turns. Else 1, or 0 in the same turn.
    #[serde(skip_serializing_if = "is_few")]
    pub laps: u32,
    /// For [`Code::UnspecifiedBlocking`]: the call that was seen to wait.
    pub through: Option<CallAt>,
    /// Where a wrapper recorded again the event that stood for the first use, before the second
    /// waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<CallAt>,
    /// How many pairs of steps there are with this code at these two places in the source.
    pub count: u32,
}

codes! {
    /// Kinds of hazards. The codes never change their meaning.
    ReadAfterWrite: "SWIM-H01", "read-after-write";
    WriteAfterRead: "SWIM-H02", "write-after-read";
    WriteAfterWrite: "SWIM-H03", "write-after-write";
    UseAfterFree: "SWIM-H04", "use-after-free";
    UseBeforeAllocation: "SWIM-H05", "use-before-allocation";
    UnspecifiedBlocking: "SWIM-H06", "relies-on-unspecified-blocking";
}

impl Code {
    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Self::UnspecifiedBlocking => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

/// How two uses conflict. Where two operations conflict in several ways the first of this order is
/// named: a value that is not there yet says more than one that is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A write, then a read.
    ReadAfterWrite,
    /// Two writes.
    WriteAfterWrite,
    /// A read, then a write.
    WriteAfterRead,
    /// A use and the block's end, in either order.
    UseAfterFree,
    /// Memory comes to be in one stream's order and is used in another's.
    UseBeforeAllocation,
}

impl Kind {
    pub(super) fn of(earlier: AccessKind, later: AccessKind) -> Self {
        match (earlier, later) {
            (AccessKind::Write, AccessKind::Read) => Self::ReadAfterWrite,
            (AccessKind::Write, AccessKind::Write) => Self::WriteAfterWrite,
            (AccessKind::Read, _) => Self::WriteAfterRead,
        }
    }

    pub(super) fn code(self) -> Code {
        match self {
            Self::ReadAfterWrite => Code::ReadAfterWrite,
            Self::WriteAfterWrite => Code::WriteAfterWrite,
            Self::WriteAfterRead => Code::WriteAfterRead,
            Self::UseAfterFree => Code::UseAfterFree,
            Self::UseBeforeAllocation => Code::UseBeforeAllocation,
        }
    }
}

/// How bad a hazard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The data can be wrong.
    Error,
    /// The data is right as long as a call does more than it promises.
    Warning,
}

/// A call, and where it was made. An operation of a graph was issued by the launch; its line is the
/// one where it was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallAt {
    /// Index into the program's steps.
    pub step: u32,
    /// Which node of the graph that the step launches, from 1; 0 for the step itself.
    #[serde(skip_serializing_if = "is_zero")]
    pub node: u32,
    /// The line; none for calls that the lab or a library makes on its own.
    pub site: Option<Site>,
    /// For an operation of a graph, the line of the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launched: Option<Site>,
    /// Its name in words: "kernel `map_a`", "the copy to the device", "`cuMemFree`".
    pub what: String,
    /// Whose it is, for a call to do with a per-thread default stream in a program of several
    /// threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_few(laps: &u32) -> bool {
    *laps < 2
}

/// A use of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessAt {
    /// The call that issued it.
    #[serde(flatten)]
    pub call: CallAt,
    /// The stream it is queued in; none for what the host does itself. Of an operation of a graph,
    /// that of the launch, where the other use is not of the same launch.
    pub stream: Option<StreamId>,
    /// Its use of the memory.
    pub usage: Usage,
    /// The bytes that it uses, more than the other does perhaps.
    pub range: Range,
}

/// Kinds of uses of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Makes it.
    Allocate,
    /// Ends it.
    Free,
}

/// An order that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// Record an event after one step, and let another stream wait for it before another step.
    Wait {
        /// Record after this step,
        record_after: u32,
        /// in its stream;
        record_in: StreamId,
        /// wait before this step,
        wait_before: u32,
        /// in its stream.
        wait_in: StreamId,
    },
    /// Synchronise the host with a stream before a step.
    Synchronise {
        /// With this stream, at the latest after
        stream: StreamId,
        /// this step,
        after: u32,
        /// and before this one.
        before: u32,
    },
    /// Let one host thread hear of another before a step.
    Handover {
        /// Of the thread that makes this step,
        after: u32,
        /// before this one.
        before: u32,
    },
    /// Free later.
    FreeLater {
        /// This call has to come after
        free: u32,
        /// this step.
        after: u32,
    },
}

/// A synchronisation that comes close to ordering the two uses of a hazard.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NearMiss {
    /// Who would have to wait.
    pub waiter: Waiter,
    /// Its flaw, and the calls concerned.
    #[serde(flatten)]
    pub slip: Slip,
}

/// Who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Waiter {
    /// The host, before its own use of the memory.
    Host,
    /// The stream of the second use.
    Stream(StreamId),
}

/// Why a synchronisation does not order two uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "slip", rename_all = "kebab-case")]
pub enum Slip {
    /// The event was recorded before the first use was queued.
    RecordedTooEarly {
        /// The record,
        record: CallAt,
        /// and the wait for it.
        wait: CallAt,
    },
    /// The event was recorded after an earlier run of the first line, and not again after this one.
    NotRecordedAgain {
        /// The last record,
        record: CallAt,
        /// and the wait for it.
        wait: CallAt,
        /// How many times the record's line was run,
        records: u32,
        /// and how many times the line of the first use.
        uses: u32,
    },
    /// An event stands for the first use, and the wait is for another that does not.
    WaitsForAnotherEvent {
        /// The wait,
        wait: CallAt,
        /// the record of the event that it is for: before the first use, or after the wait; none if
        /// there is none,
        stale: Option<CallAt>,
        /// and the one of the event that it should be for.
        record: CallAt,
    },
    /// The event was recorded in a stream that has no part in this.
    RecordedElsewhere {
        /// The record,
        record: CallAt,
        /// the stream that it was made in,
        stream: StreamId,
        /// and the wait for it.
        wait: CallAt,
    },
    /// The event had not been recorded when the wait was made.
    NotRecorded {
        /// The wait,
        wait: CallAt,
        /// and the record that came too late, if there is one.
        record: Option<CallAt>,
    },
    /// The wait was made after the second use.
    WaitsTooLate {
        /// The record, where it was made before the second use,
        record: Option<CallAt>,
        /// and the wait.
        wait: CallAt,
    },
    /// An event stands for the first use, and another stream waits for it, with no use for it.
    AnotherWaits {
        /// The wait,
        wait: CallAt,
        /// of this stream,
        stream: StreamId,
        /// for the event that was recorded here.
        record: CallAt,
    },
    /// An event stands for the first use, and who would have to wait for it does not.
    NobodyWaits {
        /// The record,
        record: CallAt,
        /// and a wait of another stream, which is right as it is.
        wait: Option<CallAt>,
    },
    /// The host waits between the two, for a stream that has no part in this.
    HostWaitsForAnother {
        /// The call that waits
        wait: CallAt,
        /// for this stream.
        stream: StreamId,
    },
    /// The host waits, but before the first use was queued.
    HostWaitsTooEarly {
        /// The call that waits.
        wait: CallAt,
    },
    /// The two lines are run in several streams each, and not in the same one for the same memory.
    ByTurns {
        /// How many streams the first line is run in,
        first: u32,
        /// and the second.
        second: u32,
    },
}

impl Slip {
    /// Its name, as in its JSON form.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RecordedTooEarly { .. } => "recorded-too-early",
            Self::NotRecordedAgain { .. } => "not-recorded-again",
            Self::WaitsForAnotherEvent { .. } => "waits-for-another-event",
            Self::RecordedElsewhere { .. } => "recorded-elsewhere",
            Self::NotRecorded { .. } => "not-recorded",
            Self::WaitsTooLate { .. } => "waits-too-late",
            Self::AnotherWaits { .. } => "another-waits",
            Self::NobodyWaits { .. } => "nobody-waits",
            Self::HostWaitsForAnother { .. } => "host-waits-for-another",
            Self::HostWaitsTooEarly { .. } => "host-waits-too-early",
            Self::ByTurns { .. } => "by-turns",
        }
    }

    /// The calls that it is about: what to look at first.
    pub fn calls(&self) -> Vec<&CallAt> {
        match self {
            Self::RecordedTooEarly { record, wait }
            | Self::NotRecordedAgain { record, wait, .. }
            | Self::RecordedElsewhere { record, wait, .. } => vec![record, wait],
            Self::WaitsForAnotherEvent { wait, record, .. } => vec![wait, record],
            Self::AnotherWaits { wait, record, .. } => vec![wait, record],
            Self::NotRecorded { wait, record } | Self::WaitsTooLate { wait, record } => {
                std::iter::once(wait).chain(record).collect()
            }
            Self::NobodyWaits { record, wait } => std::iter::once(record).chain(wait).collect(),
            Self::HostWaitsForAnother { wait, .. } | Self::HostWaitsTooEarly { wait } => vec![wait],
            Self::ByTurns { .. } => Vec::new(),
        }
    }
}

/// When the line of the second use was run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// In the same turn of a loop as the first, or there is none.
    Same,
    /// In a later turn.
    Later,
}
