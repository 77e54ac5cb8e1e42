//! One program for each cause, and one that nearly has it.
//!
//! Programs are written as those of the tests for hazards are, with loops: what stands between two `|`
//! is done [`Shape::turns`] times, with memory of its own in each turn.

use trace::causes::Code;
use trace::program::{BlockId, Call, GraphId, KernelId, Place, Program, Range, Step, StreamId};

use crate::program::h200;
use crate::script;

/// What the statements of a program are sized by.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    /// How often a loop is gone through.
    pub(crate) turns: u32,
    /// Size of each block of memory.
    pub(crate) kib: u64,
    /// How long a kernel takes alone, about.
    pub(crate) kernel_us: u64,
    /// Blocks of its grid; more than 1055 fill the device.
    pub(crate) blocks: u32,
    /// Stream `a` stands for so many, in turn.
    pub(crate) streams: u32,
}

impl Default for Shape {
    fn default() -> Self {
        BASE
    }
}

/// Copies and kernels of about 300 µs.
pub(crate) const BASE: Shape =
    Shape { turns: 8, kib: 16 << 10, kernel_us: 300, blocks: 1056, streams: 1 };

/// A program with a cause, and one that nearly has it.
pub(crate) struct Row {
    pub(crate) code: Code,
    pub(crate) has: &'static str,
    pub(crate) has_not: &'static str,
    /// Of the one and of the other.
    pub(crate) shapes: (Shape, Shape),
}

const fn row(
    code: Code,
    has: &'static str,
    has_not: &'static str,
    has_shape: Shape,
    has_not_shape: Shape,
) -> Row {
    Row { code, has, has_not, shapes: (has_shape, has_not_shape) }
}

const PIPELINE: &str = "| up a h x; rec e a; wait b e; map b x; rec f b; wait c f; down c x i |";

pub(crate) const ROWS: &[Row] = &[
    row(Code::PageableCopy, "| map a x; upp b y |", "| map a x; up b h y |", BASE, BASE),
    row(
        Code::DefaultStreamBarrier,
        "| map A x; set 0 z; up B h y |",
        "| map a x; set 0 z; up b h y |",
        BASE,
        BASE,
    ),
    row(Code::SharedStream, "| map a x; down a y h |", "map a x; down a x h", BASE, BASE),
    row(
        Code::HostSynchronisation,
        "| map a x; sync a; up b h y |",
        "| map a x; up b h y | sync a",
        BASE,
        BASE,
    ),
    row(
        Code::DeviceWideWait,
        "| map a x; free w; up b h y |",
        "| map a x; freea a w; up b h y |",
        BASE,
        BASE,
    ),
    row(
        Code::IssueOrder,
        "| up a h x || map a x || down a x i |",
        "| up a h x; map a x; down a x i |",
        Shape { turns: 16, streams: 4, ..BASE },
        Shape { turns: 16, streams: 4, ..BASE },
    ),
    row(
        Code::TooFewChunks,
        PIPELINE,
        PIPELINE,
        Shape { turns: 1, kib: 256 << 10, kernel_us: 5000, ..BASE },
        Shape { turns: 32, kib: 8 << 10, kernel_us: 160, ..BASE },
    ),
    row(
        Code::TooManyChunks,
        PIPELINE,
        PIPELINE,
        Shape { turns: 256, kib: 64, kernel_us: 2, ..BASE },
        Shape { turns: 32, kib: 8 << 10, kernel_us: 160, ..BASE },
    ),
    row(
        Code::FullDevice,
        "| map a x; map b y |",
        "| map a x; map b y |",
        BASE,
        Shape { blocks: 16, ..BASE },
    ),
    row(
        Code::LaunchBound,
        "| map a x |",
        "| map a x |",
        Shape { turns: 200, kernel_us: 0, blocks: 16, ..BASE },
        Shape { turns: 200, kernel_us: 50, blocks: 16, ..BASE },
    ),
    row(
        Code::NeedlessWait,
        "| up a h x; rec e a; wait b e; map b y |",
        "| up a h x; rec e a; wait b e; map b x |",
        BASE,
        BASE,
    ),
    row(
        Code::LateEvent,
        "| up a h x; up a i y; rec e a; wait b e; map b x |",
        "| up a h x; rec e a; up a i y; wait b e; map b x |",
        BASE,
        BASE,
    ),
    row(Code::SynchronousCall, "| up! h y || map a x |", "| up b h y || map a x |", BASE, BASE),
    row(
        Code::FullQueue,
        "| map a x | up b h y; up b i z",
        "up b h y; up b i z | map a x |",
        Shape { turns: 6000, kib: 1 << 20, kernel_us: 6, ..BASE },
        Shape { turns: 6000, kib: 1 << 20, kernel_us: 6, ..BASE },
    ),
    row(Code::AllocationInRegion, "| newh h; up a h x |", "| up a h x |", BASE, BASE),
    row(Code::IdleHostWork, "| work; up a h x; sync a |", "| up a h x; work; sync a |", BASE, BASE),
    row(
        Code::TakenQueue,
        "map c z; rec e c | wait a e; map a x | map b y",
        "map c z; rec e c | wait a e; map a x | map b y",
        Shape { streams: 8, blocks: 16, ..BASE },
        Shape { streams: 7, blocks: 16, ..BASE },
    ),
    row(
        Code::WaitingRequest,
        "| map a x || arrive; up a h y; sync a; answer |",
        "| map a x || arrive; up b h y; sync b; answer |",
        BASE,
        BASE,
    ),
    row(
        Code::RebuiltGraph,
        "| build a x; inst; go a |",
        "build a x; inst | go a |",
        Shape { kernel_us: 10, ..BASE },
        Shape { kernel_us: 10, ..BASE },
    ),
    row(
        Code::StagedPeerCopy,
        "| peer a u x; map a x |",
        "access | peer a u x; map a x |",
        BASE,
        BASE,
    ),
];

/// The program that `text` stands for, inside a measured region.
pub(crate) fn program(text: &str, shape: Shape) -> Program {
    let parts: Vec<&str> = text.split('|').map(str::trim).collect();
    let statements: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    let written = script::program(&statements.join("; "));
    let count = |part: &str| if part.is_empty() { 0 } else { part.split(';').count() };
    let all: usize = parts.iter().map(|part| count(part)).sum();
    let (made, mut rest) = written.steps.split_at(written.steps.len() - all);

    let step = |call| Step { call, ..plain() };
    let mut steps = vec![step(Call::FunctionGet {
        kernel: KernelId(0),
        name: "map_a".to_owned(),
        rate: rate(shape).to_owned(),
        registers: 32,
        shared_bytes: 0,
        items: None,
        inner_loop: None,
    })];
    for own in made {
        for number in 0..shape.streams {
            let mut own = own.clone();
            if let Call::StreamCreate { stream, .. } = &mut own.call {
                *stream = turned(*stream, number);
            } else if number > 0 {
                continue;
            }
            steps.push(own);
        }
    }
    steps.push(step(Call::RegionBegin));
    for (index, part) in parts.iter().enumerate() {
        let (body, after) = rest.split_at(count(part));
        rest = after;
        let turns = if index % 2 == 1 { shape.turns } else { 1 };
        for turn in 0..turns {
            steps.extend(body.iter().map(|own| sized(own, turn, shape)));
        }
    }
    // Whatever is built is a graph of its own, and what is launched is the last one.
    let mut built = 0;
    for step in &mut steps {
        match &mut step.call {
            Call::GraphCreate { graph, .. } => {
                *graph = GraphId(built);
                built += 1;
            }
            Call::GraphInstantiate { graph, .. } | Call::GraphLaunch { graph, .. } => {
                *graph = GraphId(built - 1);
            }
            _ => {}
        }
    }
    steps.push(step(Call::ContextSynchronize));
    steps.push(step(Call::RegionEnd));
    Program { steps, ..written }
}

/// A launch of the map takes 6 µs and more; one of the product may be shorter.
fn rate(shape: Shape) -> &'static str {
    if shape.kernel_us < 5 { "matmul" } else { "map" }
}

/// A call of no line.
fn plain() -> Step {
    Step { call: Call::RegionBegin, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 }
}

fn turned(stream: StreamId, turn: u32) -> StreamId {
    match stream.0 < StreamId::FIRST_CREATED {
        true => stream,
        false => StreamId(stream.0 + 10 * turn),
    }
}

fn sized(step: &Step, turn: u32, shape: Shape) -> Step {
    let fresh = |block: BlockId| BlockId(block.0 + 10 * turn);
    // A block of a script has 64 bytes.
    let grow = |range: &mut Range| {
        *range = Range {
            block: fresh(range.block),
            offset: range.offset * shape.kib * 16,
            bytes: range.bytes * shape.kib * 16,
        };
    };
    let turn_stream = |stream: &mut StreamId| *stream = turned(*stream, turn % shape.streams);
    let mut step = step.clone();
    match &mut step.call {
        Call::Copy { stream, source, target, bytes, .. } => {
            turn_stream(stream);
            *bytes *= shape.kib * 16;
            for place in [source, target] {
                if let Place::Device(range) | Place::Pinned(range) = place {
                    grow(range);
                }
            }
        }
        Call::Memset { stream, target, .. } => {
            turn_stream(stream);
            // A short one: it is its order that matters.
            target.block = fresh(target.block);
        }
        Call::Launch(launch) => {
            turn_stream(&mut launch.stream);
            let profile = h200();
            let busy = u64::from(shape.blocks).min(profile.chip.multiprocessors.value);
            let rate =
                profile.rate(rate(shape)).expect("it is there").units_per_us_multiprocessor.value;
            launch.units = (shape.kernel_us * busy * rate).max(1);
            launch.grid = [shape.blocks, 1, 1];
            launch.block = [256, 1, 1];
            launch.accesses.iter_mut().for_each(|access| grow(&mut access.range));
        }
        Call::EventRecord { stream, .. }
        | Call::StreamWait { stream, .. }
        | Call::StreamSynchronize { stream } => turn_stream(stream),
        Call::AllocHost { block, bytes } => {
            *block = fresh(*block);
            *bytes *= shape.kib * 16;
        }
        Call::AllocAsync { block, bytes, stream } => {
            turn_stream(stream);
            *block = fresh(*block);
            *bytes *= shape.kib * 16;
        }
        Call::FreeAsync { block, stream } => {
            turn_stream(stream);
            *block = fresh(*block);
        }
        Call::Free { block } | Call::FreeHost { block } => *block = fresh(*block),
        // The memory of a graph stays where it is.
        Call::GraphCreate { nodes, .. } => {
            for node in nodes {
                let own = Step { call: node.call.clone(), ..plain() };
                node.call = sized(&own, 0, shape).call;
            }
        }
        Call::HostWork { ns, .. } => *ns = shape.kernel_us * 1000,
        Call::Arrival { request, at_ns } => {
            *request = turn;
            *at_ns = u64::from(turn) * shape.kernel_us * 1000;
        }
        Call::Answer { request } => *request = turn,
        _ => {}
    }
    step
}
