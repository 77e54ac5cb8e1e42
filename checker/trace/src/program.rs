//! The calls of a host program, in their order.
//!
//! A program has no addresses and no handles in it. Streams, events, blocks of memory and kernels
//! are numbered in the order in which they came to be, so the same source gives the same bytes on
//! every machine. It can be simulated again, changed or unchanged, on any device profile.

mod device;
mod kernel;
mod work_queues;

use serde::{Deserialize, Serialize};

pub use device::{DEVICES, SECOND};
pub use kernel::{Access, AccessKind, Items, Loop, Pipe};
pub use work_queues::WorkQueues;

/// Version of the JSON form of [`Program`]; a reader refuses any other.
pub const VERSION: u32 = 1;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        #[serde(transparent)]
        pub struct $name(pub u32);
    };
}

id! {
    /// A stream. [`StreamId::LEGACY`] and [`StreamId::PER_THREAD`] always exist; the streams that
    /// the program creates are numbered from 2. Those of the second device are [`SECOND`] and so
    /// on.
    StreamId
}
id! {
    /// An event, numbered from 0 in order of creation.
    EventId
}
id! {
    /// A block of device or pinned host memory, numbered from 0 in order of allocation. Those in
    /// the memory of the second device are numbered from [`SECOND`].
    BlockId
}
id! {
    /// A kernel function, numbered from 0 in order of first lookup.
    KernelId
}

id! {
    /// A graph, numbered from 0 in order of capture.
    GraphId
}
id! {
    /// A channel between host threads, numbered from 0 in order of creation.
    ChannelId
}

impl StreamId {
    /// The legacy default stream of the first device, also called the NULL stream.
    pub const LEGACY: StreamId = StreamId(0);
    /// The per-thread default stream of the first device.
    pub const PER_THREAD: StreamId = StreamId(1);
    /// The number of the first stream that a program creates.
    pub const FIRST_CREATED: u32 = 2;

    /// Whether it is the legacy default stream of its device.
    #[inline]
    pub fn is_legacy(self) -> bool {
        self.number() == Self::LEGACY.0
    }

    /// Whether it is the per-thread default stream of its device.
    #[inline]
    pub fn is_per_thread(self) -> bool {
        self.number() == Self::PER_THREAD.0
    }

    /// The legacy default stream of the device that it is on.
    #[inline]
    pub fn legacy(self) -> Self {
        Self::on(self.device(), Self::LEGACY.0)
    }
}

impl std::fmt::Display for StreamId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match Self(self.number()) {
            Self::LEGACY => f.write_str("default stream"),
            Self::PER_THREAD => f.write_str("per-thread stream"),
            Self(created) => write!(f, "stream {}", created - Self::FIRST_CREATED + 1),
        }?;
        if DEVICES > 1 && self.device() > 0 { f.write_str(" of device 1") } else { Ok(()) }
    }
}

/// All calls of the host in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Program {
    /// [`VERSION`] of the form this was written in.
    pub version: u32,
    /// How many nominal bytes one byte in memory stood for. A simulated run moves `1/scale` of the
    /// bytes at `1/scale` of the bandwidth, so its times are those of the whole; every byte count
    /// in this program is nominal, that is, already multiplied.
    pub scale: u32,
    /// Places in the student's source that [`Step::site`] points into, in order of first use.
    pub sites: Vec<Site>,
    /// The calls, in the order in which the host made them.
    pub steps: Vec<Step>,
}

impl Program {
    /// An empty program at `scale` nominal bytes to a byte.
    pub fn new(scale: u32) -> Self {
        Self { version: VERSION, scale, sites: Vec::new(), steps: Vec::new() }
    }

    /// The place in the student's source that `step` came from.
    pub fn site(&self, step: &Step) -> Option<&Site> {
        step.site.and_then(|site| self.sites.get(site as usize))
    }
}

/// A place in the student's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Site {
    /// The file, relative to the exercise's folder, with forward slashes.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, where the debug information has one.
    #[serde(default)]
    pub column: Option<u32>,
}

impl std::fmt::Display for Site {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// One call and what returned from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Step {
    /// The call.
    pub call: Call,
    /// Index into [`Program::sites`]; none for calls that the lab or a library makes on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
    /// Host thread, numbered from 0 in order of first call or of [`Call::ThreadSpawn`].
    #[serde(default, skip_serializing_if = "is_zero")]
    pub thread: u32,
    /// Host time between the return of this thread's previous call and this one, in ns. Always 0 in
    /// a simulated run, where work between calls is free unless it is declared
    /// ([`Call::HostWork`]).
    #[serde(default, skip_serializing_if = "is_zero_long")]
    pub gap_ns: u64,
    /// The CUresult: 0 for success, 600 for a query that found work still running.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub result: u32,
    /// The device whose context was current, from 0, of calls that name neither a stream nor
    /// memory: [`Call::ContextSynchronize`], [`Call::ModuleLoad`], [`Call::AllocHost`] and those of
    /// pools; of [`Call::FreeHost`] that of the allocation. 0 for all others.
    #[cfg_attr(
        any(not(target_family = "wasm"), feature = "whole"),
        serde(default, skip_serializing_if = "is_zero")
    )]
    #[cfg_attr(not(any(not(target_family = "wasm"), feature = "whole")), serde(skip))]
    // the playground has one device
    pub device: u32,
}

fn is_not(value: &bool) -> bool {
    !value
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_zero_long(value: &u64) -> bool {
    *value == 0
}

/// A run of bytes in one block of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Range {
    /// The block.
    pub block: BlockId,
    /// First byte, counted from the start of the block.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// Device memory.
    Device(Range),
    /// Pinned host memory, which a copy engine reads and writes by itself.
    Pinned(Range),
    /// Ordinary host memory, which the driver stages through a pinned buffer of its own. It has no
    /// block: a copy has finished with it when the call returns.
    Pageable,
}

/// Which way a copy goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From host memory to device memory.
    HostToDevice,
    /// From device memory to host memory.
    DeviceToHost,
    /// Inside device memory.
    DeviceToDevice,
    /// From the memory of one device to that of another.
    PeerToPeer,
    /// Between two places in host memory; the device has no part in it.
    HostToHost,
}

/// Whether a call came with a stream to be queued in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// An `Async` call: queued, and the host goes on where the memory allows it.
    Asynchronous,
    /// The call without `Async`: runs in the default stream, and may hold the host.
    Synchronous,
}

/// Whether a stream waits for the default stream and is waited for by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StreamKind {
    /// Takes part in the barrier of the legacy default stream.
    Blocking,
    /// Does not.
    NonBlocking,
}

/// Whether an event keeps a time stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Timing {
    /// Keeps one.
    Enabled,
    /// `CU_EVENT_DISABLE_TIMING`.
    Disabled,
}

/// One end of a channel between host threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChannelEnd {
    /// Where messages are put in. There may be several; a receiver waits for the last one.
    Sender,
    /// Where they are taken out.
    Receiver,
}

/// How much is known of where the host used memory. (No byte of pinned memory can be watched
/// on the simulated device but by the page.)
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Extent {
    /// All of each range is used.
    Whole,
    /// Some of each range is used, at least a byte; which is not known.
    Part,
}

/// One launch of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Launch {
    /// The kernel, as [`Call::FunctionGet`] introduced it.
    pub kernel: KernelId,
    /// The stream it is queued in.
    pub stream: StreamId,
    /// Blocks in the grid, along x, y, z.
    pub grid: [u32; 3],
    /// Threads in a block, along x, y, z.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block, in bytes.
    pub shared_bytes: u32,
    /// Work of the whole grid, in units of the kernel's rate.
    pub units: u64,
    /// Device memory traffic of the whole grid, in bytes.
    pub bytes: u64,
    /// Its reads, then its writes.
    pub accesses: Vec<Access>,
}

/// One operation of a graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct GraphNode {
    /// A copy, a memset, a launch or a host function, with the stream that it was captured in.
    pub call: Call,
    /// The nodes that it comes after, by their index in the graph: each is smaller than its own.
    pub after: Vec<u32>,
    /// Index into [`Program::sites`], of the call that was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<u32>,
}

/// The memory that an operation of a graph uses in one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NodeAccesses {
    /// Which node it is, counted from 1.
    pub node: u32,
    /// Its reads, then its writes.
    pub accesses: Vec<Access>,
}

/// A call that the host made: to the driver, or to the lab.
///
/// Calls that neither take host time nor order anything (current context, attributes) are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// The measured region starts; the device is idle.
    RegionBegin,
    /// The measured region ends.
    RegionEnd,
    /// The number of work queues that the environment sets, where that is not what a device has by
    /// itself: see [`WorkQueues`]. It comes before all other calls.
    Connections {
        /// For kernels, from 1 to 32.
        count: u32,
        /// For copies in each direction, from 1 to 32; without it as many as for kernels.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        copies: Option<u32>,
    },
    /// Work of the host that the program declares, in ns.
    HostWork {
        /// How long it takes.
        ns: u64,
        /// Where it has written to pinned memory, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Range>,
    },
    /// `lab::priorities::Requests::next`: the host waits for a request from elsewhere, and goes on
    /// at once if it has arrived already.
    Arrival {
        /// Its number, from 0.
        request: u32,
        /// When it arrives, in ns from the beginning of the region.
        at_ns: u64,
    },
    /// The host sends the answer to a request.
    Answer {
        /// Its number.
        request: u32,
    },

    /// `lab::thread::spawn`: another host thread starts, after everything that this one did so far.
    ThreadSpawn {
        /// The new thread.
        thread: u32,
    },
    /// The last thing that a host thread does that was spawned.
    ThreadEnd,
    /// A host thread waits for the end of another.
    ThreadJoin {
        /// The other one.
        thread: u32,
    },
    /// `lab::thread::channel`, `lab::thread::sync_channel`.
    ChannelCreate {
        /// The new channel.
        channel: ChannelId,
        /// How many messages can be in it before a send waits; none if there is no limit.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        capacity: Option<u32>,
    },
    /// A message is put into a channel. Where that is full, message `n` waits until message
    /// `n - capacity` has been taken out.
    ChannelSend {
        /// The channel.
        channel: ChannelId,
        /// Its number, from 0 in each channel; none if the receiver went before there was room.
        message: Option<u32>,
    },
    /// A message is waited for and taken out of a channel, in the order of the numbers.
    ChannelReceive {
        /// The channel.
        channel: ChannelId,
        /// Its number; none if the last sender went before there was one.
        message: Option<u32>,
    },
    /// A sender of a channel is gone, or its receiver.
    ChannelClose {
        /// The channel.
        channel: ChannelId,
        /// Which of the two.
        end: ChannelEnd,
        /// How many senders are left, for a sender.
        #[serde(default, skip_serializing_if = "is_zero")]
        left: u32,
    },

    /// `cuStreamCreate`, `cuStreamCreateWithPriority`.
    StreamCreate {
        /// The new stream.
        stream: StreamId,
        /// Its part in the barrier of the default stream.
        kind: StreamKind,
        /// Its priority; lower numbers go first.
        priority: i32,
    },
    /// `cuStreamDestroy_v2`.
    StreamDestroy {
        /// The stream; what is queued in it still runs.
        stream: StreamId,
    },
    /// `cuStreamSynchronize`.
    StreamSynchronize {
        /// The stream that the host waits for.
        stream: StreamId,
    },
    /// `cuStreamQuery`.
    StreamQuery {
        /// The stream that the host asks about.
        stream: StreamId,
    },
    /// `cuStreamWaitEvent`.
    StreamWait {
        /// The stream that waits.
        stream: StreamId,
        /// For this event, as last recorded before this call.
        event: EventId,
    },
    /// `cuCtxSynchronize`.
    ContextSynchronize,

    /// `cuEventCreate`.
    EventCreate {
        /// The new event.
        event: EventId,
        /// Whether it keeps a time stamp.
        timing: Timing,
    },
    /// `cuEventDestroy_v2`.
    EventDestroy {
        /// The event.
        event: EventId,
    },
    /// `cuEventRecord`.
    EventRecord {
        /// The event.
        event: EventId,
        /// The stream whose queued work it stands for.
        stream: StreamId,
    },
    /// `cuEventSynchronize`.
    EventSynchronize {
        /// The event that the host waits for.
        event: EventId,
    },
    /// `cuEventQuery`.
    EventQuery {
        /// The event that the host asks about.
        event: EventId,
    },
    /// `cuEventElapsedTime`.
    EventElapsed {
        /// The first event.
        start: EventId,
        /// The second event.
        end: EventId,
    },

    /// `cuMemAlloc_v2`.
    Alloc {
        /// The new block of device memory.
        block: BlockId,
        /// Its size.
        bytes: u64,
    },
    /// `cuMemFree_v2`.
    Free {
        /// The block of device memory.
        block: BlockId,
    },
    /// `cuMemAllocAsync`.
    AllocAsync {
        /// The new block of device memory.
        block: BlockId,
        /// Its size.
        bytes: u64,
        /// The stream in whose order it comes to be.
        stream: StreamId,
    },
    /// `cuMemFreeAsync`.
    FreeAsync {
        /// The block of device memory.
        block: BlockId,
        /// The stream in whose order it goes.
        stream: StreamId,
    },
    /// `cuMemPoolSetAttribute` of the default pool: what it keeps of memory at a synchronisation.
    PoolKeep {
        /// The release threshold, in bytes.
        bytes: u64,
    },
    /// `cuMemPoolTrimTo` of the default pool.
    PoolTrim {
        /// Bytes that it keeps.
        bytes: u64,
    },
    /// `cuMemHostAlloc`, `cuMemAllocHost_v2`.
    AllocHost {
        /// The new block of pinned host memory.
        block: BlockId,
        /// Its size.
        bytes: u64,
    },
    /// `cuMemFreeHost`.
    FreeHost {
        /// The block of pinned host memory.
        block: BlockId,
    },

    /// `cuMemcpy…`.
    Copy {
        /// The stream it is queued in; the default stream for a synchronous copy.
        stream: StreamId,
        /// The call with or without `Async`.
        mode: Mode,
        /// From where.
        source: Place,
        /// To where.
        target: Place,
        /// How much.
        bytes: u64,
    },
    /// `cuMemsetD8…`, `cuMemsetD16…`, `cuMemsetD32…`.
    Memset {
        /// The stream it is queued in; the default stream for a synchronous one.
        stream: StreamId,
        /// The call with or without `Async`.
        mode: Mode,
        /// The range that is set.
        target: Range,
    },

    /// `cuCtxEnablePeerAccess`, `cuCtxDisablePeerAccess`, or `cuMemPoolSetAccess` of the default
    /// pool: whether a device may use the memory of the other one.
    #[cfg_attr(target_arch = "wasm32", serde(skip))] // the playground has one device
    PeerAccess {
        /// The device that may.
        by: u32,
        /// Whether it is about memory of the other one's default pool, and not about what
        /// `cuMemAlloc` gave.
        #[serde(default, skip_serializing_if = "is_not")]
        pool: bool,
        /// It may from now on, or may no more.
        enabled: bool,
    },

    /// `cuModuleLoadData`, `cuModuleLoad`, `cuModuleLoadDataEx`.
    ModuleLoad,
    /// `cuModuleUnload`.
    ModuleUnload,
    /// `cuModuleGetFunction`: what the later launches of this kernel need to know about it.
    FunctionGet {
        /// The kernel.
        kernel: KernelId,
        /// Its entry in the module.
        name: String,
        /// The rate in the device's profile that its work is counted in.
        rate: String,
        /// Registers of a thread.
        registers: u32,
        /// Static shared memory of a block, in bytes.
        shared_bytes: u32,
        /// Items that its threads share out among them; none where the work is the same for all of
        /// them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        items: Option<Items>,
        /// Instructions that its warps issue over and over; none where that is not known, and then
        /// it shares a multiprocessor with others as if each unit of work took some of the same
        /// store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        inner_loop: Option<Loop>,
    },
    /// `cuLaunchKernel`.
    Launch(Launch),
    /// `cuLaunchHostFunc`.
    HostFunction {
        /// The stream it is queued in.
        stream: StreamId,
        /// Pinned memory that it used when it ran: some of each range.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accesses: Vec<Access>,
    },
    /// The host itself used pinned memory, between its call before this one and the one after. No
    /// call was made: it takes no time and issues nothing. On the simulated device it was noticed
    /// since a copy had been issued that uses the same pages, so by no means every use is here.
    /// Uses that are known to come after all such copies are left out.
    HostAccess {
        /// Memory that was used, by block and offset.
        accesses: Vec<Access>,
        /// How much of each range.
        extent: Extent,
    },

    /// `cuStreamEndCapture`: the calls of the capturing streams since the beginning are a graph.
    /// The captured calls themselves are no steps, since they issued no work.
    GraphCreate {
        /// The new graph.
        graph: GraphId,
        /// Its operations, in the order in which they were captured.
        nodes: Vec<GraphNode>,
    },
    /// `cuGraphInstantiateWithFlags`; or `cuGraphExecUpdate`, which makes an executable copy of
    /// another graph one of this graph.
    GraphInstantiate {
        /// The graph.
        graph: GraphId,
        /// Of an update, the graph and the number of the copy that is updated. No step names it so
        /// any more.
        #[cfg_attr(
            any(not(target_family = "wasm"), feature = "whole"),
            serde(default, skip_serializing_if = "Option::is_none")
        )]
        #[cfg_attr(not(any(not(target_family = "wasm"), feature = "whole")), serde(skip))]
        // the playground has no graphs
        updates: Option<(GraphId, u32)>,
    },
    /// `cuGraphLaunch`: the whole graph comes after what its stream holds, and before what it is
    /// given from then on. Spans of its operations carry the step of this call.
    GraphLaunch {
        /// The graph, of which an executable copy was made by [`Call::GraphInstantiate`].
        graph: GraphId,
        /// Which of its executable copies, counted from 0 in the order in which they were made.
        /// Launches of one copy take turns, those of two do not.
        #[serde(default, skip_serializing_if = "is_first")]
        copy: u32,
        /// The stream it is queued in.
        stream: StreamId,
        /// The operations that use other memory than when they were captured: what is at their
        /// addresses when the graph is launched. In the order of the nodes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        accesses: Vec<NodeAccesses>,
    },
}

/// Whether this is the first of several, which a program does not say.
fn is_first(number: &u32) -> bool {
    *number == 0
}

impl Call {
    /// The way a copy goes; none for other calls.
    pub fn direction(&self) -> Option<Direction> {
        let Call::Copy { source, target, .. } = self else { return None };
        let on_device = |place: &Place| matches!(place, Place::Device(_));
        Some(match (on_device(source), on_device(target)) {
            (false, true) => Direction::HostToDevice,
            (true, false) => Direction::DeviceToHost,
            (true, true) if device::differ(source, target) => Direction::PeerToPeer,
            (true, true) => Direction::DeviceToDevice,
            (false, false) => Direction::HostToHost,
        })
    }
}
