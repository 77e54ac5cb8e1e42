//! Copies.

use std::ffi::c_void;

use simulator::machine::{Address, Command, WorkCommand};
use trace::program::Mode;

use super::{Handle, calls};
use crate::call::{self, host_address};

calls! {
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyHtoD_v2(target: Handle, source: *const c_void, bytes: usize) {
        command copy(0, Mode::Synchronous, host_address(source as u64), Address::Device(target), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyDtoH_v2(target: *mut c_void, source: Handle, bytes: usize) {
        command copy(0, Mode::Synchronous, Address::Device(source), host_address(target as u64), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyDtoD_v2(target: Handle, source: Handle, bytes: usize) {
        command copy(0, Mode::Synchronous, Address::Device(source), Address::Device(target), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpy(target: Handle, source: Handle, bytes: usize) {
        command copy(0, Mode::Synchronous, call::address(source), call::address(target), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyHtoDAsync_v2(target: Handle, source: *const c_void, bytes: usize, stream: Handle) {
        command copy(stream, Mode::Asynchronous, host_address(source as u64), Address::Device(target), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyDtoHAsync_v2(target: *mut c_void, source: Handle, bytes: usize, stream: Handle) {
        command copy(stream, Mode::Asynchronous, Address::Device(source), host_address(target as u64), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyDtoDAsync_v2(target: Handle, source: Handle, bytes: usize, stream: Handle) {
        command copy(stream, Mode::Asynchronous, Address::Device(source), Address::Device(target), bytes);
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyAsync(target: Handle, source: Handle, bytes: usize, stream: Handle) {
        command copy(stream, Mode::Asynchronous, call::address(source), call::address(target), bytes);
    }

    /// The contexts change nothing: the addresses say what is where (as on an H200, even with the
    /// two swapped).
    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyPeer(target: Handle, target_context: Handle, source: Handle, source_context: Handle, bytes: usize) {
        command {
            let _ = (target_context, source_context);
            peer_copy(0, Mode::Synchronous, source, target, bytes)
        };
    }

    /// <https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__MEM.html>
    fn cuMemcpyPeerAsync(target: Handle, target_context: Handle, source: Handle, source_context: Handle, bytes: usize, stream: Handle) {
        command {
            let _ = (target_context, source_context);
            peer_copy(stream, Mode::Asynchronous, source, target, bytes)
        };
    }
}

fn peer_copy(stream: Handle, mode: Mode, source: Handle, target: Handle, bytes: usize) -> Command {
    let (source, target) = (Address::Device(source), Address::Device(target));
    Command::Work(WorkCommand::PeerCopy { stream, mode, source, target, bytes: bytes as u64 })
}

fn copy(stream: Handle, mode: Mode, source: Address, target: Address, bytes: usize) -> Command {
    Command::Work(WorkCommand::Copy { stream, mode, source, target, bytes: bytes as u64 })
}
