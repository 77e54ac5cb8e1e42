//! Requests of the lab to the driver beside the driver API: regions, declared host work, the clock.
//!
//! The lab sends one [`Request`] through the driver library's extension symbol and gets one
//! [`Reply`]; both travel as postcard.

use serde::{Deserialize, Serialize};

use crate::failed_call::FailedCall;
use crate::program::{AccessKind, ChannelEnd};

/// Simulated runs move one byte for this many, at this fraction of the bandwidth: the times are
/// those of the whole, and a run costs milliseconds.
pub const SCALE: u32 = 32;

/// The array of a task that is written by the host: what a meter says of the traces that are kept.
pub const READINGS: u32 = 2;

/// A request of the lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Request {
    /// Calls are attributed to source files under this folder, given as an absolute path.
    Source {
        /// The exercise's folder.
        directory: String,
    },
    /// One byte in memory stands for this many nominal bytes from now on. Refused on a GPU, where
    /// it is always 1, and once memory has been allocated.
    Scale {
        /// Nominal bytes to a byte.
        scale: u32,
    },
    /// The device is there and the student's code comes next: from here on trouble is the
    /// student's. The record is written for the first time.
    Ready,
    /// The speeds of the device's profile, for sizing a task.
    Speeds,
    /// The host enters the measured region.
    RegionBegin(Region),
    /// The host leaves it.
    RegionEnd,
    /// The host declares work of its own.
    HostWork {
        /// How long it takes, in ns.
        ns: u64,
        /// The time of the request and its answer, in ns, which on a GPU is part of that time.
        asking_ns: u64,
    },
    /// The host reads and decodes a part of its input, which is work of its own: it is in memory
    /// when that is done, and takes as long as the task says.
    Load {
        /// The data that is loaded, and where to.
        place: Buffer,
        /// How many of its first bytes the host has really written there. The other ones stand for
        /// data that is never looked at.
        written: u64,
        /// How long it takes where no task says so, in ns.
        ns: u64,
        /// When the host began with it, as [`Request::Clock`] tells: on a GPU what it has really
        /// moved since is part of that time. The simulated device knows what it is.
        began_ns: u64,
    },
    /// The host has copied some of its memory to another place, by itself. On a GPU that has taken
    /// its time already.
    HostCopy {
        /// Where it was.
        source: u64,
        /// Where it is now.
        target: u64,
        /// How much.
        bytes: u64,
    },
    /// The host takes pinned memory at hand, by an accessor of the lab's. On the simulated
    /// device it is noticed anyway when the memory is used.
    HostAccess {
        /// Where it starts.
        address: u64,
        /// The bytes of the block; which of them are used is not known.
        bytes: u64,
        /// For reading, or for writing.
        kind: AccessKind,
    },
    /// The time of the device's clock.
    Clock,
    /// About host threads.
    Thread(ThreadRequest),
    /// Which call was the first to fail so?
    FailedCall {
        /// Its result, as `cuda.h` numbers them.
        code: u32,
    },
    /// The timeline of the last region. Where the run is not traced, nothing is known but how long
    /// it took.
    Traced {
        /// The name that the trace is to have.
        name: String,
    },
    /// The traces that a meter is tried with. In a graded run the device has a seed of its own.
    KeptTraces {
        /// The seed by which they are moved.
        seed: u64,
    },
    /// The host waits for the next request that the open region's task has for it. The reply is its
    /// number, or [`Reply::Gone`] if there are no more.
    Arrival {
        /// When it arrives where the region has no task: a recorded program is played. In ns from
        /// the beginning of the region.
        played_ns: Option<u64>,
    },
    /// The host sends the answer to a request. Refused if it has not arrived, or was answered.
    Answer {
        /// Its number.
        request: u32,
    },
}

/// Requests of [`Request::Thread`]. Threads and channels go by the numbers that the replies gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreadRequest {
    /// A thread is about to be started. The reply is its number.
    Spawn,
    /// The calling thread is that new one. The reply comes when it is its turn.
    Start {
        /// Its number.
        thread: u32,
    },
    /// The thread that spawned another has started it, or could not: others may have their turn.
    Started {
        /// The new thread; none if it could not be started.
        thread: Result<u32, u32>,
    },
    /// The calling thread does nothing more.
    End,
    /// The calling thread waits for the end of another.
    Join {
        /// The other.
        thread: u32,
    },
    /// A new channel. The reply is its number.
    Channel {
        /// How many messages can be in it before a send waits; none if there is no limit.
        capacity: Option<u32>,
    },
    /// Puts a message into a channel. The reply is [`Reply::Gone`] if no thread will take it out.
    Send {
        /// The channel.
        channel: u32,
        /// The number by which the sender knows the message.
        token: u64,
    },
    /// Waits for a message. The reply is its token, or [`Reply::Gone`] if no thread will send one.
    Receive {
        /// The channel.
        channel: u32,
    },
    /// A channel has one sender more.
    Clone {
        /// The channel.
        channel: u32,
    },
    /// A sender of a channel is gone, or its receiver.
    Close {
        /// The channel.
        channel: u32,
        /// Which.
        end: ChannelEnd,
    },
}

/// An answer of the driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reply {
    /// Nothing more to say.
    Done,
    /// To [`Request::Speeds`].
    Speeds(Speeds),
    /// To [`Request::Clock`]: ns since the start of the run.
    Clock {
        /// The host's clock, in ns.
        ns: u64,
    },
    /// To [`Request::Thread`], where the answer is a number, and to [`Request::Arrival`].
    Number(u64),
    /// To [`Request::Thread`]: no thread is at the other end of the channel. To
    /// [`Request::Arrival`]: there are no more.
    Gone,
    /// To [`Request::RegionEnd`]: how the pass through the region went.
    Trial(Box<crate::record::Trial>),
    /// The request was refused.
    Refused {
        /// Why, for the one who reads it on a terminal.
        why: String,
    },
    /// To [`Request::FailedCall`]; none if no call did.
    FailedCall(Option<FailedCall>),
    /// To [`Request::Traced`].
    Traced(crate::meter::Trace),
    /// To [`Request::KeptTraces`].
    KeptTraces(Vec<crate::meter::Trace>),
}

/// How fast a device is, as far as the size of a task depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Speeds {
    /// From pinned host memory to the device, in bytes per µs.
    pub host_to_device_bytes_per_us: u64,
    /// From the device to pinned host memory, in bytes per µs.
    pub device_to_host_bytes_per_us: u64,
    /// Element-rounds of the map kernels on the whole device, per µs.
    pub map_units_per_us: u64,
    /// Whether the device is simulated.
    pub device: Device,
}

/// Which kind of device answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Device {
    /// The simulator.
    Simulated,
    /// A GPU.
    Gpu,
}

/// A measured region.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Region {
    /// Its name, where a program has regions of several kinds; empty otherwise.
    pub name: String,
    /// Whether this pass counts.
    pub pass: Pass,
    /// The task whose inputs are filled when the region begins and whose outputs are read when it
    /// ends; empty if there is none.
    pub task: String,
    /// Seed of the inputs.
    pub seed: u64,
    /// Memory to be filled.
    pub inputs: Vec<Buffer>,
    /// Memory to be poisoned before and read after.
    pub outputs: Vec<Buffer>,
}

/// Whether a pass through the region counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pass {
    /// It does.
    #[default]
    Counts,
    /// It does not.
    WarmUp,
}

/// A part of a task's data, and where it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffer {
    /// Which of the task's arrays, as the task numbers them.
    pub array: u32,
    /// First element of the array that is in this buffer.
    pub first: u64,
    /// Where: a host address, or a device address.
    pub address: u64,
    /// Its size. Elements are 32-bit words.
    pub bytes: u64,
}
