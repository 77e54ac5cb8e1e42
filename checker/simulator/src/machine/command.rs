//! Commands to the machine: plain data, so that the machine may live in another process.

use serde::{Deserialize, Serialize};
use trace::lab_protocol;
use trace::program::{AccessKind, Call, Site, WorkQueues};

use super::contexts::ContextCommand;
use super::events::EventCommand;
use super::family::Family;
use super::handles::Handles;
use super::library::Library;
use super::memory::MemoryCommand;
use super::modules::ModuleCommand;
use super::reply::{Failure, Reply};
use super::streams::StreamCommand;
use super::work::WorkCommand;

/// A use of pinned memory that the student's process noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Touch {
    /// First byte of the pages of which some byte was used, as [`Address::Pinned`] counts.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// How.
    pub kind: AccessKind,
}

impl Touch {
    /// The parts of it before `start` and from `end` on.
    pub fn outside(&self, start: u64, end: u64) -> impl Iterator<Item = Self> {
        let (from, to, kind) = (self.offset, self.offset + self.bytes, self.kind);
        let parts = [(from, to.min(start)), (from.max(end), to)];
        let is_there = |(from, to): &(u64, u64)| from < to;
        parts.into_iter().filter(is_there).map(move |(offset, to)| Self {
            offset,
            bytes: to - offset,
            kind,
        })
    }
}

/// One command and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// The command.
    pub command: Command,
    /// The place in the student's source, by the number that [`Command::Site`] gave it.
    pub site: Option<u32>,
    /// The host thread that asks, by the number that the lab gave it; 0 for the first.
    pub thread: u32,
    /// The device whose context is current there, from 0.
    pub device: u32,
}

/// Who is to make the next request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Turn {
    /// The host thread of this number.
    Thread(u32),
    /// No thread can: each waits for another. The text says which waits where.
    Nobody(String),
}

/// A request to the machine. Handles and addresses are those that earlier replies gave; byte counts
/// are those of memory, not nominal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Command {
    /// A place in the student's source that commands will come from.
    Site(Site),
    /// A request of the lab's.
    Lab(lab_protocol::Request),
    /// The turn has come to a thread whose last request got [`Reply::Blocked`]: what came of it?
    Resume,
    /// Facts about the device.
    DeviceFacts,
    /// The number of work queues that the environment of the student's process sets.
    Connections(WorkQueues),
    /// Where the student's process has mapped pinned memory.
    PinnedBase {
        /// Its first byte.
        address: u64,
    },
    /// The host itself used pinned memory that is guarded.
    HostAccess {
        /// Where.
        touches: Vec<Touch>,
    },
    /// The host itself used pinned memory that no copy uses, in a measured region.
    HostUse {
        /// Where.
        touches: Vec<Touch>,
    },
    /// A stream.
    Stream(StreamCommand),
    /// An event.
    Event(EventCommand),
    /// Memory.
    Memory(MemoryCommand),
    /// Work for a stream.
    Work(WorkCommand),
    /// A module or a function.
    Module(ModuleCommand),
    /// A context.
    Context(ContextCommand),
    /// Capture and graphs.
    Graph(GraphCommand),
}

impl Command {
    /// The driver call, in its family. None for what is no driver call, and for graphs: the machine
    /// makes their calls, since it knows what was captured.
    pub(super) fn family(&self) -> Option<&dyn Family> {
        Some(match self {
            Self::Stream(command) => command,
            Self::Event(command) => command,
            Self::Memory(command) => command,
            Self::Work(command) => command,
            Self::Module(command) => command,
            Self::Context(command) => command,
            _ => return None,
        })
    }

    /// The stream that it is about, by its handle; none for graphs, whose launches are no part of
    /// any capture.
    pub fn stream(&self) -> Option<u64> {
        self.family()?.stream()
    }

    /// The call that it makes, given the reply to it.
    ///
    /// # Errors
    ///
    /// If a handle or an address in it is none.
    pub fn call(
        &self,
        handles: &mut Handles,
        reply: &Reply,
        library: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        match (self, self.family()) {
            (Self::Connections(queues), _) => Ok(queues.call()),
            (_, Some(family)) => family.call(handles, reply, library),
            (_, None) => Ok(None),
        }
    }
}

/// Capture and graphs. Each stands for the driver call of the same name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the fields are those of the driver's calls")]
pub enum GraphCommand {
    /// `cuStreamBeginCapture_v2`; `mode` is a `CUstreamCaptureMode`.
    BeginCapture { stream: u64, mode: u32 },
    /// `cuStreamEndCapture`; the reply is the graph.
    EndCapture { stream: u64 },
    /// `cuStreamIsCapturing`; the reply is a `CUstreamCaptureStatus`.
    IsCapturing { stream: u64 },
    /// `cuThreadExchangeStreamCaptureMode`; the reply is the mode that the thread had.
    ExchangeMode { mode: u32 },
    /// `cuEventRecordWithFlags` or `cuStreamWaitEvent`, with the flag for a node of its own.
    External { event: u64, stream: u64 },
    /// `cuGraphInstantiateWithFlags`; the reply is the executable graph.
    Instantiate { graph: u64, flags: u64 },
    /// `cuGraphLaunch`.
    Launch { executable: u64, stream: u64 },
    /// `cuGraphUpload`.
    Upload { executable: u64, stream: u64 },
    /// `cuGraphExecDestroy`.
    ExecDestroy { executable: u64 },
    /// `cuGraphDestroy`.
    Destroy { graph: u64 },
    /// `cuGraphExecUpdate_v2`.
    Update { executable: u64, graph: u64 },
}
