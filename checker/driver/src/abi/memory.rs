//! Memory: allocation, release, memsets.

use std::ffi::c_void;

use simulator::machine::{Command, MemoryCommand, Reply, WorkCommand};
use trace::program::Mode;

use super::{Handle, answers, calls, code};
use crate::call;
use crate::device::page_faults;
use crate::say::say;

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemAlloc_v2(address: *mut Handle, bytes: usize) {
        require address;
        command Command::Memory(MemoryCommand::Alloc { bytes: bytes as u64 });
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address });
        // SAFETY: checked not to be null; the caller gives room for an address.
        sim Reply::Number(found) => unsafe { *address = found };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemFree_v2(address: Handle) {
        command Command::Memory(MemoryCommand::Free { address });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemAllocAsync(address: *mut Handle, bytes: usize, stream: Handle) {
        require address;
        command Command::Memory(MemoryCommand::AllocAsync { bytes: bytes as u64, stream });
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address });
        // SAFETY: checked not to be null; the caller gives room for an address.
        sim Reply::Number(found) => unsafe { *address = found };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MALLOC__ASYNC.html>
    fn cuMemFreeAsync(address: Handle, stream: Handle) {
        command Command::Memory(MemoryCommand::FreeAsync { address, stream });
    }

    /// The flags (portable, mapped, write-combined) change nothing on the simulated device.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, flags: u32) {
        require address;
        command { let _ = flags; Command::Memory(MemoryCommand::AllocHost { bytes: bytes as u64 }) };
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address } as u64);
        // SAFETY: checked not to be null; the caller gives room for a pointer.
        sim Reply::Number(offset) => unsafe { *address = pinned(offset, bytes) };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemAllocHost_v2(address: *mut *mut c_void, bytes: usize) {
        require address;
        command Command::Memory(MemoryCommand::AllocHost { bytes: bytes as u64 });
        // SAFETY: the real driver has just written it.
        gpu Reply::Number(unsafe { *address } as u64);
        // SAFETY: checked not to be null; the caller gives room for a pointer.
        sim Reply::Number(offset) => unsafe { *address = pinned(offset, bytes) };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemFreeHost(address: *mut c_void) {
        require address;
        command Command::Memory(MemoryCommand::FreeHost { offset: call::pinned_offset(address as u64) });
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        require free, total;
        command Command::Memory(MemoryCommand::Info);
        // SAFETY: checked not to be null; the caller gives room for two sizes.
        sim Reply::Memory { free: left, total: all } => unsafe {
            *free = left as usize;
            *total = all as usize;
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD8_v2(target: Handle, value: u8, count: usize) {
        command memset(0, Mode::Synchronous, target, value.into(), 1, count);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD16_v2(target: Handle, value: u16, count: usize) {
        command memset(0, Mode::Synchronous, target, value.into(), 2, count);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD32_v2(target: Handle, value: u32, count: usize) {
        command memset(0, Mode::Synchronous, target, value, 4, count);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD8Async(target: Handle, value: u8, count: usize, stream: Handle) {
        command memset(stream, Mode::Asynchronous, target, value.into(), 1, count);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD16Async(target: Handle, value: u16, count: usize, stream: Handle) {
        command memset(stream, Mode::Asynchronous, target, value.into(), 2, count);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemsetD32Async(target: Handle, value: u32, count: usize, stream: Handle) {
        command memset(stream, Mode::Asynchronous, target, value, 4, count);
    }
}

/// Pinned memory of no bytes has no address.
fn pinned(offset: u64, bytes: usize) -> *mut c_void {
    if bytes == 0 {
        return std::ptr::null_mut();
    }
    page_faults::handed_out(offset, bytes as u64);
    call::pinned_address(offset)
}

fn memset(
    stream: Handle,
    mode: Mode,
    target: Handle,
    pattern: u32,
    width: u8,
    count: usize,
) -> Command {
    Command::Work(WorkCommand::Memset { stream, mode, target, pattern, width, count: count as u64 })
}

answers! {
    /// Pinned memory is not mapped into the simulated device's address space.
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemHostGetDevicePointer_v2(address: *mut Handle, host: *mut c_void, flags: u32) {
        let _ = (address, host, flags);
        say(&call::unsupported("cuMemHostGetDevicePointer_v2"));
        code::NOT_SUPPORTED
    }
}
