//! Events.

use simulator::machine::{Command, EventCommand, GraphCommand, Reply};
use trace::program::Timing;

use super::{Handle, calls, code};
use crate::call;

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;
/// `CU_EVENT_INTERPROCESS`
const INTERPROCESS: u32 = 4;
/// Blocking synchronisation, no timing, between processes.
const KNOWN_FLAGS: u32 = 7;
/// `CU_EVENT_RECORD_EXTERNAL`
const EXTERNAL: u32 = 1;

fn timing(flags: u32) -> Timing {
    if flags & DISABLE_TIMING == 0 { Timing::Enabled } else { Timing::Disabled }
}

/// Nanoseconds in a millisecond, the unit of `cuEventElapsedTime`.
const NS_PER_MS: f64 = 1e6;

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventCreate(event: *mut Handle, flags: u32) {
        require event;
        command {
            let lacks_a_flag = flags & INTERPROCESS != 0 && flags & DISABLE_TIMING == 0;
            if call::refuses_flags(flags, KNOWN_FLAGS) || lacks_a_flag && call::gpu().is_none() {
                return code::INVALID_VALUE;
            }
            Command::Event(EventCommand::Create { timing: timing(flags) })
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *event });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *event = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventDestroy_v2(event: Handle) {
        command Command::Event(EventCommand::Destroy { event });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventRecord(event: Handle, stream: Handle) {
        command Command::Event(EventCommand::Record { event, stream });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        command match flags {
            0 => Command::Event(EventCommand::Record { event, stream }),
            _ if call::refuses_flags(flags, EXTERNAL) => return code::INVALID_VALUE,
            _ => Command::Graph(GraphCommand::External { event, stream }),
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventSynchronize(event: Handle) {
        command Command::Event(EventCommand::Synchronize { event });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventQuery(event: Handle) {
        command Command::Event(EventCommand::Query { event });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) {
        require ms;
        command Command::Event(EventCommand::Elapsed { start, end });
        // SAFETY: checked not to be null; the caller gives room for a float.
        sim Reply::Elapsed { ns } => unsafe { *ms = (ns as f64 / NS_PER_MS) as f32 };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventElapsedTime_v2(ms: *mut f32, start: Handle, end: Handle) {
        require ms;
        command Command::Event(EventCommand::Elapsed { start, end });
        // SAFETY: checked not to be null; the caller gives room for a float.
        sim Reply::Elapsed { ns } => unsafe { *ms = (ns as f64 / NS_PER_MS) as f32 };
    }
}
