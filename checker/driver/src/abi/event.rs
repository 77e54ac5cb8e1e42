//! Events.

use simulator::machine::{Command, Reply};
use trace::program::Timing;

use super::{Handle, calls, code};
use crate::call;

/// `CU_EVENT_DISABLE_TIMING`
const DISABLE_TIMING: u32 = 2;
/// Blocking synchronisation, no timing, between processes.
const KNOWN_FLAGS: u32 = 7;

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
            if call::refuses_flags(flags, KNOWN_FLAGS) {
                return code::INVALID_VALUE;
            }
            Command::EventCreate { timing: timing(flags) }
        };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *event });
        // SAFETY: checked not to be null; the caller gives room for a handle.
        sim Reply::Number(handle) => unsafe { *event = handle };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventDestroy_v2(event: Handle) {
        command Command::EventDestroy { event };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventRecord(event: Handle, stream: Handle) {
        command Command::EventRecord { event, stream };
    }

    /// Of the flags, only the default has a meaning outside capture.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventRecordWithFlags(event: Handle, stream: Handle, flags: u32) {
        command { let _ = flags; Command::EventRecord { event, stream } };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventSynchronize(event: Handle) {
        command Command::EventSynchronize { event };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventQuery(event: Handle) {
        command Command::EventQuery { event };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventElapsedTime(ms: *mut f32, start: Handle, end: Handle) {
        require ms;
        command Command::EventElapsed { start, end };
        // SAFETY: checked not to be null; the caller gives room for a float.
        sim Reply::Elapsed { ns } => unsafe { *ms = (ns as f64 / NS_PER_MS) as f32 };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EVENT.html>
    fn cuEventElapsedTime_v2(ms: *mut f32, start: Handle, end: Handle) {
        require ms;
        command Command::EventElapsed { start, end };
        // SAFETY: checked not to be null; the caller gives room for a float.
        sim Reply::Elapsed { ns } => unsafe { *ms = (ns as f64 / NS_PER_MS) as f32 };
    }
}
