//! Names and descriptions of result codes.

use std::ffi::c_char;

use super::{CUresult, answers, code};
use crate::errors::find;

answers! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__ERROR.html>
    fn cuGetErrorName(error: CUresult, name: *mut *const c_char) require name; {
        let Some((_, found, _)) = find(error) else { return code::INVALID_VALUE };
        // SAFETY: checked not to be null; the caller gives room for a pointer.
        unsafe { *name = found.as_ptr() };
        code::SUCCESS
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__ERROR.html>
    fn cuGetErrorString(error: CUresult, text: *mut *const c_char) require text; {
        let Some((_, _, found)) = find(error) else { return code::INVALID_VALUE };
        // SAFETY: checked not to be null; the caller gives room for a pointer.
        unsafe { *text = found.as_ptr() };
        code::SUCCESS
    }
}
