//! The program that a setting stands for.
//!
//! The sheet of three lanes makes the calls of `exercises/04_three_lanes/examples`, and a test
//! holds the two against each other; the pipeline makes those of a chunked pipeline with the kernel
//! `map_a`.

use std::sync::Arc;

use simulator::Profile;
use simulator::bounds::bounds_of_program;
use trace::Program;
use trace::metrics::Bounds;
use trace::program::{
    Access, AccessKind, BlockId, Call, EventId, Items, KernelId, Launch, Mode, Place, Range, Step,
    StreamId, StreamKind, Timing,
};

use crate::setting::{Key, Setting, Sheet};

const MIB: u64 = 1 << 20;

/// Bytes that go each way on the sheet of three lanes.
const LANE_BYTES: u64 = 400 * MIB;
/// Bytes of the array of the pipeline: a copy takes 1.2 ms on the H200, long against any call.
pub(crate) const PIPELINE_BYTES: u64 = 64 * MIB;

/// The host time of PyTorch before each call, in ns: see `exercises/lab/src/torch.rs`.
const TORCH_MATMUL_NS: u64 = 11_000;
const TORCH_TO_CPU_NS: u64 = 15_000;
const TORCH_TO_CUDA_NS: u64 = 29_000;

/// Rounds of the map with which the whole array takes as long as one of its copies on the H200:
/// 64 MiB at 55548 bytes per µs, against 16777216 elements at 132 × 124650 rounds per µs.
const ROUNDS: u64 = 1185;

/// The program of a setting.
pub fn program(setting: &Setting) -> Program {
    let mut writer = Writer {
        program: Program::new(1),
        up: memory(setting.value(Key::Up)),
        down: memory(setting.value(Key::Down)),
        waits: setting.value(Key::Host) == "waits",
    };
    match setting.sheet {
        Sheet::ThreeLanes => three_lanes(setting, &mut writer),
        Sheet::Pipeline => pipeline(setting, &mut writer),
    }
    writer.program
}

/// The two ends of the scale of a setting's task. They belong to the task: neither the number of
/// pieces nor the number of streams changes them.
pub fn bounds(setting: &Setting, profile: &Arc<Profile>) -> Bounds {
    let mut alone = setting.clone();
    alone.choose(Key::Host, "goes-on");
    alone.choose(Key::Streams, "3");
    alone.choose(Key::Order, "depth");
    // How many products there are is given, and each leaves a part of the device empty: they stay
    // as they are.
    if setting.sheet == Sheet::Pipeline {
        alone.choose(Key::Pieces, "1");
        alone.choose(Key::Up, "pinned");
        alone.choose(Key::Down, "pinned");
    }
    bounds_of_program(&program(&alone), profile)
}

#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Pageable,
    Pinned,
}

fn memory(value: &str) -> Memory {
    if value == "pinned" { Memory::Pinned } else { Memory::Pageable }
}

/// Blocks of memory: one on the device, one on the host for each direction, as large as they have
/// to be.
const DEVICE: BlockId = BlockId(0);
const SOURCE: BlockId = BlockId(1);
const TARGET: BlockId = BlockId(2);
/// On the sheet of three lanes downloads come from a part of device memory that uploads leave
/// alone, and the products have theirs after it.
const DOWNLOADED: u64 = LANE_BYTES;
const FACTORS: u64 = 2 * LANE_BYTES;

const KERNEL: KernelId = KernelId(0);

// As the kernels of the exercises: `exercises/lab/kernels/src/map.rs`.
const MAP_THREADS: u32 = 256;
const MAP_REGISTERS: u32 = 32;
const MAP_ITEMS: Items = Items { bytes: 8, together: 4, waits: 1 };
/// An event that is never recorded.
const NEVER: EventId = EventId(0);

struct Writer {
    program: Program,
    up: Memory,
    down: Memory,
    waits: bool,
}

/// The stream that is the `n`-th to be created, from 0.
fn stream(n: u64) -> StreamId {
    StreamId(StreamId::FIRST_CREATED + n as u32)
}

fn range(block: BlockId, offset: u64, bytes: u64) -> Range {
    Range { block, offset, bytes }
}

impl Writer {
    fn call(&mut self, call: Call) {
        self.program.steps.push(Step {
            call,
            site: None,
            thread: 0,
            gap_ns: 0,
            result: 0,
            device: 0,
        });
    }

    fn begin(&mut self, streams: u64, device_bytes: u64, host_bytes: u64, kernel: Call) {
        self.call(Call::Alloc { block: DEVICE, bytes: device_bytes });
        self.call(Call::AllocHost { block: SOURCE, bytes: host_bytes });
        self.call(Call::AllocHost { block: TARGET, bytes: host_bytes });
        for n in 0..streams {
            let kind = StreamKind::NonBlocking;
            self.call(Call::StreamCreate { stream: stream(n), kind, priority: 0 });
        }
        self.call(Call::EventCreate { event: NEVER, timing: Timing::Disabled });
        self.call(Call::ModuleLoad);
        self.call(kernel);
        self.call(Call::RegionBegin);
    }

    fn end(&mut self) {
        self.call(Call::ContextSynchronize);
        self.call(Call::RegionEnd);
    }

    /// A copy, and what comes with it.
    fn copy(&mut self, stream: StreamId, memory: Memory, source: Place, target: Place, bytes: u64) {
        if memory == Memory::Pinned {
            // cudarc waits for the last use of a pinned block, of which there was none.
            self.call(Call::StreamWait { stream, event: NEVER });
        }
        let mode = Mode::Asynchronous;
        self.call(Call::Copy { stream, mode, source, target, bytes });
        if self.waits {
            self.call(Call::StreamSynchronize { stream });
        }
    }

    fn upload(&mut self, stream: StreamId, at: u64, bytes: u64) {
        let source = match self.up {
            Memory::Pageable => Place::Pageable,
            Memory::Pinned => Place::Pinned(range(SOURCE, at, bytes)),
        };
        self.copy(stream, self.up, source, Place::Device(range(DEVICE, at, bytes)), bytes);
    }

    fn download(&mut self, stream: StreamId, from: u64, at: u64, bytes: u64) {
        let target = match self.down {
            Memory::Pageable => Place::Pageable,
            Memory::Pinned => Place::Pinned(range(TARGET, at, bytes)),
        };
        let source = Place::Device(range(DEVICE, from + at, bytes));
        self.copy(stream, self.down, source, target, bytes);
    }
}

fn three_lanes(setting: &Setting, out: &mut Writer) {
    /// Of one matrix: 1024 × 1024 numbers of four bytes.
    const MATRIX: u64 = 4 * MIB;
    let (tensors, products) = (setting.number(Key::Pieces), setting.number(Key::Kernels));
    let streams = setting.number(Key::Streams);
    // The kernels have the first, the downloads the second, the uploads the last.
    let (compute, down, up) = (stream(0), stream(1.min(streams - 1)), stream(streams - 1));
    let bytes = LANE_BYTES / tensors;
    let (read, write) = (range(DEVICE, FACTORS, MATRIX), range(DEVICE, FACTORS + MATRIX, MATRIX));
    out.begin(
        streams,
        FACTORS + 2 * MATRIX,
        LANE_BYTES,
        Call::FunctionGet {
            kernel: KERNEL,
            name: "matmul_1024".into(),
            rate: "matmul".into(),
            registers: 167,
            shared_bytes: 16896,
            items: None,
            inner_loop: None,
        },
    );
    let product = |out: &mut Writer| {
        out.call(Call::HostWork { ns: TORCH_MATMUL_NS, target: None });
        let access = |kind, range| Access { kind, range };
        out.call(Call::Launch(Launch {
            kernel: KERNEL,
            stream: compute,
            grid: [256, 1, 1],
            block: [128, 1, 1],
            shared_bytes: 0,
            units: 1 << 30,
            bytes: 3 * MATRIX,
            accesses: vec![access(AccessKind::Read, read), access(AccessKind::Write, write)],
        }));
    };
    let download = |out: &mut Writer, tensor: u64| {
        out.call(Call::HostWork { ns: TORCH_TO_CPU_NS, target: None });
        out.download(down, DOWNLOADED, tensor * bytes, bytes);
    };
    let upload = |out: &mut Writer, tensor: u64| {
        out.call(Call::HostWork { ns: TORCH_TO_CUDA_NS, target: None });
        out.upload(up, tensor * bytes, bytes);
    };
    if setting.value(Key::Order) == "depth" {
        (0..products).for_each(|_| product(out));
        (0..tensors).for_each(|tensor| download(out, tensor));
        (0..tensors).for_each(|tensor| upload(out, tensor));
    } else {
        for tensor in 0..tensors {
            // As even a share of the products as whole numbers allow.
            let share = products * (tensor + 1) / tensors - products * tensor / tensors;
            (0..share).for_each(|_| product(out));
            download(out, tensor);
            upload(out, tensor);
        }
    }
    out.end();
}

fn pipeline(setting: &Setting, out: &mut Writer) {
    let (chunks, streams) = (setting.number(Key::Pieces), setting.number(Key::Streams));
    let bytes = PIPELINE_BYTES / chunks;
    out.begin(
        streams,
        PIPELINE_BYTES,
        PIPELINE_BYTES,
        Call::FunctionGet {
            kernel: KERNEL,
            name: "map_a".into(),
            rate: "map".into(),
            registers: MAP_REGISTERS,
            shared_bytes: 0,
            items: Some(MAP_ITEMS),
            inner_loop: None,
        },
    );
    let map = |out: &mut Writer, chunk: u64| {
        let range = range(DEVICE, chunk * bytes, bytes);
        let access = |kind| Access { kind, range };
        out.call(Call::Launch(Launch {
            kernel: KERNEL,
            stream: stream(chunk % streams),
            // Eight blocks for each multiprocessor of an H200, which fill it.
            grid: [8 * 132, 1, 1],
            block: [MAP_THREADS, 1, 1],
            shared_bytes: 0,
            units: bytes / 4 * rounds(setting),
            bytes: 2 * bytes,
            accesses: vec![access(AccessKind::Read), access(AccessKind::Write)],
        }));
    };
    let upload = |out: &mut Writer, chunk: u64| {
        out.upload(stream(chunk % streams), chunk * bytes, bytes);
    };
    let download = |out: &mut Writer, chunk: u64| {
        out.download(stream(chunk % streams), 0, chunk * bytes, bytes);
    };
    if setting.value(Key::Order) == "depth" {
        for chunk in 0..chunks {
            upload(out, chunk);
            map(out, chunk);
            download(out, chunk);
        }
    } else {
        (0..chunks).for_each(|chunk| upload(out, chunk));
        (0..chunks).for_each(|chunk| map(out, chunk));
        (0..chunks).for_each(|chunk| download(out, chunk));
    }
    out.end();
}

fn rounds(setting: &Setting) -> u64 {
    match setting.value(Key::Kernels) {
        "quarter" => ROUNDS / 4,
        "half" => ROUNDS / 2,
        "two" => ROUNDS * 2,
        "four" => ROUNDS * 4,
        _ => ROUNDS,
    }
}
