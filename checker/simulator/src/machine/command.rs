//! Commands to the machine and its replies: plain data, so that the machine may live in another
//! process.

use serde::{Deserialize, Serialize};
use smallvec::SmallVec;
use trace::lab_protocol;

use trace::program::{AccessKind, Mode, Site, StreamKind, Timing, WorkQueues};

use crate::profile::{Figure, Profile};

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

/// CUresult codes that the machine gives (`cuda.h`, `enum cudaError_enum`).
pub mod code {
    /// No error.
    pub const SUCCESS: u32 = 0;
    /// `CUDA_ERROR_INVALID_VALUE`
    pub const INVALID_VALUE: u32 = 1;
    /// `CUDA_ERROR_OUT_OF_MEMORY`
    pub const OUT_OF_MEMORY: u32 = 2;
    /// `CUDA_ERROR_NOT_INITIALIZED`
    pub const NOT_INITIALIZED: u32 = 3;
    /// `CUDA_ERROR_NO_DEVICE`
    pub const NO_DEVICE: u32 = 100;
    /// `CUDA_ERROR_INVALID_DEVICE`
    pub const INVALID_DEVICE: u32 = 101;
    /// `CUDA_ERROR_INVALID_IMAGE`
    pub const INVALID_IMAGE: u32 = 200;
    /// `CUDA_ERROR_INVALID_CONTEXT`
    pub const INVALID_CONTEXT: u32 = 201;
    /// `CUDA_ERROR_INVALID_HANDLE`
    pub const INVALID_HANDLE: u32 = 400;
    /// `CUDA_ERROR_ILLEGAL_STATE`
    pub const ILLEGAL_STATE: u32 = 401;
    /// `CUDA_ERROR_NOT_FOUND`
    pub const NOT_FOUND: u32 = 500;
    /// `CUDA_ERROR_NOT_READY`
    pub const NOT_READY: u32 = 600;
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`
    pub const ILLEGAL_ADDRESS: u32 = 700;
    /// `CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES`
    pub const LAUNCH_OUT_OF_RESOURCES: u32 = 701;
    /// `CUDA_ERROR_LAUNCH_TIMEOUT`
    pub const LAUNCH_TIMEOUT: u32 = 702;
    /// `CUDA_ERROR_NOT_PERMITTED`
    pub const NOT_PERMITTED: u32 = 800;
    /// `CUDA_ERROR_NOT_SUPPORTED`
    pub const NOT_SUPPORTED: u32 = 801;
    /// `CUDA_ERROR_PEER_ACCESS_UNSUPPORTED`
    pub const PEER_ACCESS_UNSUPPORTED: u32 = 217;
    /// `CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED`
    pub const PEER_ACCESS_ALREADY_ENABLED: u32 = 704;
    /// `CUDA_ERROR_PEER_ACCESS_NOT_ENABLED`
    pub const PEER_ACCESS_NOT_ENABLED: u32 = 705;
    /// `CUDA_ERROR_CONTEXT_IS_DESTROYED`
    pub const CONTEXT_IS_DESTROYED: u32 = 709;
    /// `CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED`
    pub const STREAM_CAPTURE_UNSUPPORTED: u32 = 900;
    /// `CUDA_ERROR_STREAM_CAPTURE_INVALIDATED`
    pub const STREAM_CAPTURE_INVALIDATED: u32 = 901;
    /// `CUDA_ERROR_STREAM_CAPTURE_MERGE`
    pub const STREAM_CAPTURE_MERGE: u32 = 902;
    /// `CUDA_ERROR_STREAM_CAPTURE_UNMATCHED`
    pub const STREAM_CAPTURE_UNMATCHED: u32 = 903;
    /// `CUDA_ERROR_STREAM_CAPTURE_UNJOINED`
    pub const STREAM_CAPTURE_UNJOINED: u32 = 904;
    /// `CUDA_ERROR_STREAM_CAPTURE_ISOLATION`
    pub const STREAM_CAPTURE_ISOLATION: u32 = 905;
    /// `CUDA_ERROR_STREAM_CAPTURE_IMPLICIT`
    pub const STREAM_CAPTURE_IMPLICIT: u32 = 906;
    /// `CUDA_ERROR_CAPTURED_EVENT`
    pub const CAPTURED_EVENT: u32 = 907;
    /// `CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD`
    pub const STREAM_CAPTURE_WRONG_THREAD: u32 = 908;
    /// `CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE`
    pub const GRAPH_EXEC_UPDATE_FAILURE: u32 = 910;
    /// `CUDA_ERROR_UNKNOWN`
    pub const UNKNOWN: u32 = 999;
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

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Address {
    /// A device address.
    Device(u64),
    /// Pinned memory, by its offset in the memory that both sides map.
    Pinned(u64),
    /// Pageable memory, by its address in the student's process.
    Pageable(u64),
}

/// The arguments of a launch, one after the other. Those of the lab's kernels need no memory of
/// their own: to ask for some would take a good part of the time that noting a launch on a GPU
/// takes.
pub type Arguments = SmallVec<[u8; 32]>;

/// A request to the machine. Handles and addresses are those that earlier replies gave; byte counts
/// are those of memory, not nominal ones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
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
        address: u64,
    },
    /// The host itself used pinned memory that is guarded.
    HostAccess {
        touches: Vec<Touch>,
    },
    /// The host itself used pinned memory that no copy uses, in a measured region.
    HostUse {
        touches: Vec<Touch>,
    },

    StreamCreate {
        kind: StreamKind,
        priority: i32,
    },
    StreamDestroy {
        stream: u64,
    },
    StreamSynchronize {
        stream: u64,
    },
    StreamQuery {
        stream: u64,
    },
    StreamWait {
        stream: u64,
        event: u64,
    },
    /// `cuStreamGetFlags`, `cuStreamGetPriority`.
    StreamFacts {
        stream: u64,
    },
    ContextSynchronize,

    EventCreate {
        timing: Timing,
    },
    EventDestroy {
        event: u64,
    },
    EventRecord {
        event: u64,
        stream: u64,
    },
    EventSynchronize {
        event: u64,
    },
    EventQuery {
        event: u64,
    },
    EventElapsed {
        start: u64,
        end: u64,
    },

    Alloc {
        bytes: u64,
    },
    AllocAsync {
        bytes: u64,
        stream: u64,
    },
    Free {
        address: u64,
    },
    FreeAsync {
        address: u64,
        stream: u64,
    },
    AllocHost {
        bytes: u64,
    },
    FreeHost {
        offset: u64,
    },
    MemoryInfo,
    /// `cuMemPoolGetAttribute` of the default pool: all its numbers.
    PoolFacts,
    /// `cuMemPoolSetAttribute` of the default pool: the most that there was is what there is now,
    /// of what the pool has or of what is in use of it.
    PoolReset {
        of_reserved: bool,
    },
    /// `cuMemPoolSetAttribute` of the default pool: its release threshold.
    PoolKeep {
        bytes: u64,
    },
    /// `cuMemPoolTrimTo` of the default pool.
    PoolTrim {
        bytes: u64,
    },

    Copy {
        stream: u64,
        mode: Mode,
        source: Address,
        target: Address,
        bytes: u64,
    },
    /// `count` times the lowest `width` bytes of `pattern`.
    Memset {
        stream: u64,
        mode: Mode,
        target: u64,
        pattern: u32,
        width: u8,
        count: u64,
    },

    /// A module, by the entries that its image holds.
    ModuleLoad {
        entries: Vec<String>,
    },
    ModuleUnload {
        module: u64,
    },
    FunctionGet {
        module: u64,
        name: String,
    },
    /// `cuFuncGetAttribute`, `cuOccupancy…`.
    FunctionFacts {
        function: u64,
        threads: u32,
        shared_bytes: u32,
    },
    /// `cuFuncSetAttribute`: blocks may have this much dynamic shared memory; none for attributes
    /// that change nothing.
    FunctionAllow {
        function: u64,
        shared_bytes: Option<u32>,
    },
    Launch {
        function: u64,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        stream: u64,
        /// The arguments, one after the other, in the sizes that [`Reply::Entry`] gave.
        arguments: Arguments,
    },
    /// A host function, by its address and that of its data in the student's process.
    HostFunction {
        stream: u64,
        function: u64,
        data: u64,
    },
    /// Capture and graphs.
    Graph(GraphCommand),
    /// `cuMemcpyPeer…`: it may use what a [`Command::Copy`] between two devices may not.
    PeerCopy {
        stream: u64,
        mode: Mode,
        source: Address,
        target: Address,
        bytes: u64,
    },
    /// `cuCtxEnablePeerAccess`, `cuCtxDisablePeerAccess`, or `cuMemPoolSetAccess` of a default
    /// pool: a device may use the other one's memory, or what its pool gave, from now on, or may
    /// not.
    PeerAccess {
        by: u32,
        pool: bool,
        enabled: bool,
    },
}

impl Command {
    /// The stream that it is about, by its handle; none for graphs, whose launches are no part of
    /// any capture.
    pub fn stream(&self) -> Option<u64> {
        match self {
            Self::StreamDestroy { stream }
            | Self::StreamSynchronize { stream }
            | Self::StreamQuery { stream }
            | Self::StreamWait { stream, .. }
            | Self::EventRecord { stream, .. }
            | Self::AllocAsync { stream, .. }
            | Self::FreeAsync { stream, .. }
            | Self::Copy { stream, .. }
            | Self::PeerCopy { stream, .. }
            | Self::Memset { stream, .. }
            | Self::Launch { stream, .. }
            | Self::HostFunction { stream, .. } => Some(*stream),
            _ => None,
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

/// Sizes of the default pool, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFacts {
    /// Bytes that it keeps at a synchronisation.
    pub threshold: u64,
    /// All of it.
    pub reserved: u64,
    /// The most of it there was.
    pub reserved_high: u64,
    /// Bytes in use.
    pub used: u64,
    /// The most that was.
    pub used_high: u64,
}

/// An answer of the machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Done, nothing to say.
    Done,
    /// The call has not returned; [`Command::Resume`] gets its reply when it has.
    Blocked,
    /// A handle, an address, an offset or a count.
    Number(u64),
    /// From the first event to the second.
    Elapsed {
        /// In ns.
        ns: i64,
    },
    /// To [`Command::DeviceFacts`].
    Device(DeviceFacts),
    /// To [`Command::StreamFacts`].
    Stream {
        /// Blocking or not.
        kind: StreamKind,
        /// Priority.
        priority: i32,
    },
    /// To [`Command::MemoryInfo`], in bytes.
    Memory {
        /// Free.
        free: u64,
        /// In all.
        total: u64,
    },
    /// To [`Command::PoolFacts`].
    Pool(PoolFacts),
    /// To [`Command::FunctionGet`].
    Entry {
        /// The handle.
        function: u64,
        /// Size of each parameter, in bytes, in order.
        parameters: Vec<u8>,
    },
    /// To [`Command::FunctionFacts`].
    Function {
        /// Registers of a thread.
        registers: u32,
        /// Static shared memory of a block, in bytes.
        shared_bytes: u32,
        /// Blocks resident on a multiprocessor, at the block size that was asked about.
        resident_blocks: u32,
    },
    /// To [`Command::Lab`].
    Lab(lab_protocol::Reply),
    /// It was refused or went wrong.
    Failed(Failure),
}

/// Facts about the device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// The highest stream priority; the lowest is 0.
    pub highest_priority: i32,
    /// Device memory, in bytes.
    pub memory_bytes: u64,
    /// Values of `CUdevice_attribute`, by number.
    pub attributes: Vec<(u32, i32)>,
}

impl DeviceFacts {
    /// Facts about the device of a profile.
    pub fn of(profile: &Profile) -> Self {
        let chip = &profile.chip;
        let attribute = |number: u32, figure: &Figure| (number, figure.value as i32);
        Self {
            name: format!("{} (simulated)", profile.device),
            highest_priority: -(chip.highest_priority.value as i32),
            memory_bytes: chip.memory_bytes.value,
            attributes: vec![
                (1, 1024),                                         // threads in a block
                (2, 1024),                                         // threads in a block, along x
                (3, 1024),                                         // along y
                (4, 64),                                           // along z
                (5, i32::MAX),                                     // blocks in a grid, along x
                (6, 65535),                                        // along y
                (7, 65535),                                        // along z
                (8, 48 << 10), // shared memory of a block without opting in
                (10, 32),      // warp size
                attribute(12, &chip.registers_per_multiprocessor), // registers of a block
                (15, 1),       // copies beside kernels
                attribute(16, &chip.multiprocessors),
                (31, 1), // concurrent kernels
                attribute(39, &chip.threads_per_multiprocessor),
                attribute(40, &chip.async_engines),
                (41, 1), // unified addressing
                attribute(75, &chip.compute_capability_major),
                attribute(76, &chip.compute_capability_minor),
                (78, 1), // stream priorities
                attribute(81, &chip.shared_bytes_per_multiprocessor),
                attribute(82, &chip.registers_per_multiprocessor),
                attribute(106, &chip.blocks_per_multiprocessor),
                (115, 1), // stream-ordered allocation
            ],
        }
    }
}

/// Why a command was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The CUresult.
    pub code: u32,
    /// The reason, where the code alone does not tell it.
    pub why: Option<String>,
}

impl Failure {
    /// A failure that its code describes well enough.
    pub fn bare(code: u32) -> Self {
        Self { code, why: None }
    }

    /// A failure that needs a word more.
    pub fn because(code: u32, why: String) -> Self {
        Self { code, why: Some(why) }
    }
}
