//! Replies of the machine: plain data, as commands are.

use serde::{Deserialize, Serialize};
use trace::lab_protocol;
use trace::program::StreamKind;

use crate::profile::{Figure, Profile};

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
    /// The call has not returned; `Command::Resume` gets its reply when it has.
    Blocked,
    /// A handle, an address, an offset or a count.
    Number(u64),
    /// From the first event to the second.
    Elapsed {
        /// In ns.
        ns: i64,
    },
    /// To `Command::DeviceFacts`.
    Device(DeviceFacts),
    /// To `StreamCommand::Facts`.
    Stream {
        /// Blocking or not.
        kind: StreamKind,
        /// Priority.
        priority: i32,
    },
    /// To `MemoryCommand::Info`, in bytes.
    Memory {
        /// Free.
        free: u64,
        /// In all.
        total: u64,
    },
    /// To `MemoryCommand::PoolFacts`.
    Pool(PoolFacts),
    /// To `ModuleCommand::FunctionGet`.
    Entry {
        /// The handle.
        function: u64,
        /// Size of each parameter, in bytes, in order.
        parameters: Vec<u8>,
    },
    /// To `ModuleCommand::FunctionFacts`.
    Function {
        /// Registers of a thread.
        registers: u32,
        /// Static shared memory of a block, in bytes.
        shared_bytes: u32,
        /// Blocks resident on a multiprocessor, at the block size that was asked about.
        resident_blocks: u32,
    },
    /// To `Command::Lab`.
    Lab(lab_protocol::Reply),
    /// It was refused or went wrong.
    Failed(Failure),
}

impl Reply {
    /// The handle, address, offset or count.
    pub(super) fn number(&self) -> Result<u64, Failure> {
        match self {
            Self::Number(number) | Self::Entry { function: number, .. } => Ok(*number),
            _ => Err(Failure::bare(code::UNKNOWN)),
        }
    }
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
                (31, 1),                                 // concurrent kernels
                (38, 2 * chip.cache_bytes.value as i32), // cache
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
