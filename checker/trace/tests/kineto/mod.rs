//! Traces as Kineto writes them, made here: for tests, for the fuzzer and for the benchmark.

use std::io::{self, Write};

/// Entries of one period of [`pipeline`].
pub(crate) const PERIOD: u64 = 16;

/// Writes a trace of `periods` periods of four operations each in four streams: a copy to the device,
/// two kernels, a copy to the host, each with its call and its two flow events. Everything repeats
/// every 100 µs, so all sums are known:
///
/// | operation | from µs | to µs |
/// | --- | --- | --- |
/// | copy to device, pinned | 10 | 50 |
/// | kernel | 30.5 | 60.25 |
/// | kernel | 60.25 | 80 |
/// | copy to host, pageable | 70 | 90.001 |
pub(crate) fn pipeline(periods: u64, out: &mut impl Write) -> io::Result<()> {
    out.write_all(
        b"{\n\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0}, \"deviceProperties\": [{\"id\": 0, \"name\": \"Some GPU\", \
          \"numSms\": 132}],\n\"cuda_driver_version\": 13000, \"traceEvents\": [\n",
    )?;
    for period in 0..periods {
        let base = period * 100_000;
        let comma = if period == 0 { "" } else { ",\n" };
        out.write_all(comma.as_bytes())?;
        let rows = [
            (
                "cudaMemcpyAsync",
                1_000,
                "gpu_memcpy",
                "Memcpy HtoD (Pinned -> Device)",
                20,
                10_000,
                50_000,
            ),
            (
                "cudaLaunchKernel",
                3_000,
                "kernel",
                "void gemm<128, 64, float>(float const*, float*)",
                7,
                30_500,
                60_250,
            ),
            (
                "cudaLaunchKernel",
                5_000,
                "kernel",
                "void gemm<128, 64, float>(float const*, float*)",
                7,
                60_250,
                80_000,
            ),
            (
                "cudaMemcpyAsync",
                7_000,
                "gpu_memcpy",
                "Memcpy DtoH (Device -> Pageable)",
                24,
                70_000,
                90_001,
            ),
        ];
        for (index, (call, asked, category, name, stream, start, end)) in (1..).zip(rows) {
            let id = period * 4 + index;
            let comma = if index == 1 { "" } else { ",\n" };
            let asked_at = Micros(base + asked);
            let (start, length) = (Micros(base + start), Micros(end - start));
            write!(
                out,
                "{comma}{{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"{call}\", \"pid\": 4242, \
                 \"tid\": 4242, \"ts\": {asked_at}, \"dur\": 1.5, \"args\": {{\"External id\": {id}, \
                 \"cbid\": 211, \"correlation\": {id}}}}},\n\
                 {{\"ph\": \"s\", \"id\": {id}, \"pid\": 4242, \"tid\": 4242, \"ts\": {asked_at}, \
                 \"cat\": \"ac2g\", \"name\": \"ac2g\"}},\n\
                 {{\"ph\": \"X\", \"cat\": \"{category}\", \"name\": \"{name}\", \"pid\": 0, \
                 \"tid\": {stream}, \"ts\": {start}, \"dur\": {length}, \"args\": {{\"External id\": {id}, \
                 \"queued\": 0, \"device\": 0, \"context\": 1, \"stream\": {stream}, \"correlation\": {id}, \
                 \"bytes\": 4194304, \"shared memory\": 12544, \
                 \"grid\": [8, 16, 1], \
                 \"block\": [128, 1, 1]}}}},\n\
                 {{\"ph\": \"f\", \"id\": {id}, \"pid\": 0, \"tid\": {stream}, \"ts\": {start}, \
                 \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"}}"
            )?;
        }
    }
    out.write_all(b"\n]}\n")
}

/// Nanoseconds, as Kineto writes them: microseconds with three decimals.
pub(crate) struct Micros(pub(crate) u64);

impl std::fmt::Display for Micros {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// What the numbers of [`pipeline`] come to, by hand, in ns.
pub(crate) struct Known {
    pub(crate) span: u64,
    pub(crate) kernels: u64,
    pub(crate) to_device: u64,
    pub(crate) to_host: u64,
    pub(crate) kernel_to_device: u64,
    pub(crate) kernel_to_host: u64,
    pub(crate) busy: u64,
}

/// Of `periods` periods.
pub(crate) fn known(periods: u64) -> Known {
    Known {
        span: (periods - 1) * 100_000 + 80_001,
        kernels: periods * 49_500,
        to_device: periods * 40_000,
        to_host: periods * 20_001,
        kernel_to_device: periods * 19_500,
        kernel_to_host: periods * 10_000,
        busy: periods * 80_001,
    }
}
