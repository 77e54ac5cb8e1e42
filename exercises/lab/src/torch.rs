//! The cost of a call of PyTorch to the host, besides the driver calls that it makes.
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

/// `with torch.cuda.stream(s)`, in and out: 12.84 µs, the median of seven loops (the same machine,
/// 2026-11-25).
const WITH_STREAM: Duration = Duration::from_nanos(12_840);
/// `s.record_event()` takes 2.27 µs, `s.wait_event(e)` 0.84 (likewise); the mean, less 0.16 in the
/// driver's call.
const EVENT: Duration = Duration::from_nanos(1_400);

/// Augmenting an image of 64 x 64 on the host, as `book/pytorch/gpu_augmentation.py` does it with
/// sixteen threads (PyTorch 2.11, the host of an H200, 2026-11-26). In batches of 32, 64 and 128 it
/// took 164, 220 and 256 µs; the middle one. With one thread it takes 1254.
const AUGMENT: Duration = Duration::from_micros(220);

/// Augmenting so many images on the host.
pub(crate) fn augment(images: usize) -> Result<()> {
    host_work(AUGMENT * u32::try_from(images).unwrap_or(u32::MAX))
}

/// The host's part of `with torch.cuda.stream(s)`.
pub fn with_stream() -> Result<()> {
    host_work(WITH_STREAM)
}

/// The host's part of an event that is recorded, or waited for by a stream.
pub fn event() -> Result<()> {
    host_work(EVENT)
}

/// The host's part of an operator that launches a kernel: that of `torch.matmul`.
pub(crate) fn operator() -> Result<()> {
    host_work(MATMUL)
}

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
