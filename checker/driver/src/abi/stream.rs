//! Streams.

use std::ffi::{c_int, c_void};

use simulator::machine::{Command, GraphCommand, Reply, StreamCommand, WorkCommand};
use trace::program::StreamKind;

use super::{Handle, calls, code};
use crate::call;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_WAIT_EXTERNAL`
const EXTERNAL: u32 = 1;

fn kind(flags: u32) -> StreamKind {
    if flags & NON_BLOCKING == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking }
}

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamCreate(stream: *mut Handle, flags: u32) {
        require stream;
        command {
            if call::refuses_flags(flags, NON_BLOCKING) {
                return code::INVALID_VALUE;
            }
            Command::Stream(StreamCommand::Create { kind: kind(flags), priority: 0 })
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *stream });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *stream = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamCreateWithPriority(stream: *mut Handle, flags: u32, priority: c_int) {
        require stream;
        command {
            if call::refuses_flags(flags, NON_BLOCKING) {
                return code::INVALID_VALUE;
            }
            Command::Stream(StreamCommand::Create { kind: kind(flags), priority })
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *stream });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *stream = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamDestroy_v2(stream: Handle) {
        command Command::Stream(StreamCommand::Destroy { stream });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamSynchronize(stream: Handle) {
        command Command::Stream(StreamCommand::Synchronize { stream });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamQuery(stream: Handle) {
        command Command::Stream(StreamCommand::Query { stream });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamWaitEvent(stream: Handle, event: Handle, flags: u32) {
        command match flags {
            0 => Command::Stream(StreamCommand::Wait { stream, event }),
            _ if call::refuses_flags(flags, EXTERNAL) => return code::INVALID_VALUE,
            _ => Command::Graph(GraphCommand::External { event, stream }),
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamGetPriority(stream: Handle, priority: *mut c_int) {
        require priority;
        command Command::Stream(StreamCommand::Facts { stream });
        // SAFETY: checked not to be null; the caller gives room for an int.
        sim Reply::Stream { priority: found, .. } => unsafe { *priority = found };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html>
    fn cuStreamGetFlags(stream: Handle, flags: *mut u32) {
        require flags;
        command Command::Stream(StreamCommand::Facts { stream });
        // SAFETY: checked not to be null; the caller gives room for an int.
        sim Reply::Stream { kind, .. } => unsafe { *flags = u32::from(kind == StreamKind::NonBlocking) };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html>
    fn cuLaunchHostFunc(stream: Handle, function: Handle, data: *mut c_void) {
        command Command::Work(WorkCommand::HostFunction { stream, function, data: data as u64 });
    }
}
