//! What a call of PyTorch costs the host, besides the driver calls that it makes.
//!
//! The puzzles stand for PyTorch programs, where Python and the dispatcher take a good part of the
//! host's time, and the host's time decides what is queued when. Read off a trace of the puzzle's
//! program (PyTorch 2.11, NVIDIA H200, driver 580.159, 2026-11-21): the median period of the calls
//! less the median time in CUDA calls inside.

use std::time::Duration;

use crate::Result;
use crate::clock::host_work;

/// `torch.matmul`: 14.6 µs between calls, 3.6 µs of it in the launch.
const MATMUL: Duration = Duration::from_nanos(11_000);
/// `Tensor.to(cpu)`: 20.5 µs when it blocks, 9.8 µs when it does not; the mean.
const TO_CPU: Duration = Duration::from_nanos(15_000);
/// `Tensor.to(cuda)`: 31.4 µs when it blocks, 26.5 µs when it does not; the mean.
const TO_CUDA: Duration = Duration::from_nanos(29_000);

/// The host's part of `torch.matmul`.
pub fn matmul() -> Result<()> {
    host_work(MATMUL)
}

/// The host's part of `Tensor.to(cpu)`.
pub fn to_cpu() -> Result<()> {
    host_work(TO_CPU)
}

/// The host's part of `Tensor.to(cuda)`.
pub fn to_cuda() -> Result<()> {
    host_work(TO_CUDA)
}
