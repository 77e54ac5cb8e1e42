//! How fast a program is replayed, timing only, and what it takes of memory:
//! `cargo bench -p simulator`.
//!
//! Three shapes of program at three lengths. The rate and the bytes for a step should be the same for
//! all lengths. Time is that of the processor, and the best of several rounds counts: other programs take
//! turns on the machine, and caches, and only ever make it slower.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use simulator::{Profile, Schedule, replay};
use trace::Program;
use trace::program::{
    BlockId, Call, EventId, KernelId, Launch, Mode, Place, Range, Step, StreamId, StreamKind,
    Timing,
};

const STREAMS: u32 = 4;
const ROUNDS: usize = 5;
const BYTES: u64 = 1 << 20;

/// The system's allocator, with what is in use and the most that ever was, in bytes.
struct Counting;
static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

fn grown(bytes: usize) {
    let now = IN_USE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        grown(layout.size());
        // SAFETY: the caller's duties are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn main() {
    type Shape = fn(&mut Program, u32);
    let shapes: [(&str, Shape); 3] =
        [("pipeline", pipeline), ("launches alone", launches), ("events between streams", events)];
    let profile: Profile = toml::from_str(Profile::H200).expect("the profile is valid");
    println!(
        "{:<24}{:>10}{:>16}{:>18}{:>16}",
        "shape", "steps", "steps/s", "operations/s", "bytes/step"
    );
    for (name, shape) in shapes {
        for length in [10_000, 100_000, 1_000_000] {
            let program = program(length, shape);
            let steps = program.steps.len();
            let mut best = f64::INFINITY;
            let mut operations = 0;
            let mut bytes = 0;
            for _ in 0..ROUNDS {
                let before = IN_USE.load(Ordering::Relaxed);
                MOST.store(before, Ordering::Relaxed);
                let start = processor_s();
                let timeline = replay(&program, &profile, Schedule::Exact);
                best = best.min(processor_s() - start);
                bytes = MOST.load(Ordering::Relaxed) - before;
                operations = timeline.spans.len();
            }
            println!(
                "{name:<24}{steps:>10}{:>14.2} M{:>16.2} M{:>16}",
                steps as f64 / best / 1e6,
                operations as f64 / best / 1e6,
                bytes / steps
            );
        }
    }
}

/// The processor's time that this process has used, in s.
fn processor_s() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one time.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn program(length: usize, shape: fn(&mut Program, u32)) -> Program {
    let mut program = Program::new(1);
    for number in 0..STREAMS {
        let stream = StreamId(StreamId::FIRST_CREATED + number);
        push(
            &mut program,
            Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 },
        );
        let event = EventId(number);
        push(&mut program, Call::EventCreate { event, timing: Timing::Disabled });
    }
    let name = "map_a".to_owned();
    let (kernel, rate) = (KernelId(0), "map".to_owned());
    let known = Call::FunctionGet {
        kernel,
        name,
        rate,
        registers: 32,
        shared_bytes: 0,
        items: None,
        inner_loop: None,
    };
    push(&mut program, known);
    let mut turn = 0;
    while program.steps.len() < length {
        shape(&mut program, turn);
        turn += 1;
        if turn.is_multiple_of(32) {
            push(&mut program, Call::ContextSynchronize);
        }
    }
    program
}

fn push(program: &mut Program, call: Call) {
    program.steps.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 });
}

fn stream(turn: u32) -> StreamId {
    StreamId(StreamId::FIRST_CREATED + turn % STREAMS)
}

fn range(block: u32) -> Range {
    Range { block: BlockId(block), offset: 0, bytes: BYTES }
}

fn launch(stream: StreamId) -> Call {
    Call::Launch(Launch {
        stream,
        kernel: KernelId(0),
        grid: [264, 1, 1],
        block: [256, 1, 1],
        shared_bytes: 0,
        units: 1 << 20,
        bytes: BYTES,
        accesses: Vec::new(),
    })
}

fn copy(stream: StreamId, source: Place, target: Place) -> Call {
    Call::Copy { stream, mode: Mode::Asynchronous, source, target, bytes: BYTES }
}

/// Up, compute, down.
fn pipeline(program: &mut Program, turn: u32) {
    let stream = stream(turn);
    push(program, copy(stream, Place::Pinned(range(0)), Place::Device(range(1))));
    push(program, launch(stream));
    push(program, copy(stream, Place::Device(range(1)), Place::Pinned(range(2))));
}

fn launches(program: &mut Program, turn: u32) {
    push(program, launch(stream(turn)));
}

/// One stream uploads, the next waits for it.
fn events(program: &mut Program, turn: u32) {
    let event = EventId(turn % STREAMS);
    push(program, copy(stream(turn), Place::Pinned(range(0)), Place::Device(range(1))));
    push(program, Call::EventRecord { event, stream: stream(turn) });
    push(program, Call::StreamWait { stream: stream(turn + 1), event });
    push(program, launch(stream(turn + 1)));
}
