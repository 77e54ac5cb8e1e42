//! Waits of operations: for their stream, an event, the default stream, the device.

use std::array;
use std::collections::{BTreeMap, HashMap, HashSet};

use crate::hazards::{self, accesses};
use crate::program::{
    AccessKind, BlockId, Call, DEVICES, KernelId, Pipe, Program, StreamId, WorkQueues,
};
use crate::timeline::Interval;

use super::dependencies::{Before, Turns};
use super::engines::Lane;
use super::region::{Op, Shortest, View};
use super::{Code, Found, is_under};
use crate::metrics::Coverage;

/// A delay shorter than this is the gap between two operations: 7 µs between engines on an H200.
const GAP_NS: u64 = 10_000;

/// A grid of this many blocks leaves multiprocessors of any device in use empty, so another kernel
/// may run beside it.
const FEW_BLOCKS: u64 = 32;

/// Kernels with more threads than this fill any device: 160 multiprocessors of 2048 are more than
/// one has.
const MOST_THREADS: u64 = 160 * 2048;

/// As many blocks are counted of one operation, at most: a sum over all of them stays a number.
const MOST_BLOCKS: u64 = 1 << 40;

/// So many kernels run at the same time on any device: the fewest in NVIDIA's table of compute
/// capabilities.
const FEWEST_GRIDS: u64 = 16;

/// Of the makespan, in thousandths, what kernels of several streams wait for one another before it
/// is worth a note.
const CROWDED_PERMILLE: u64 = 200;

/// A kernel with so many times fewer threads than those for which it waited would have had room
/// beside them, had they left any.
const SMALL: u64 = 4;

/// A kernel that takes so many times as long as another launch of it has too few multiprocessors.
/// To share all of them with others costs less: at most twice the time was measured of kernels that
/// need different pipes (`tests/figures/beside.txt` of the simulator).
const CRAMPED: u64 = 3;

/// Of the time that a kernel waited, in thousandths, how much other kernels were at work for them
/// to be the reason.
const CROWDED_SHARE_PERMILLE: u64 = 900;

pub(super) fn look(view: &View<'_>, found: &mut Found) {
    let mut order = Order::new(view);
    let mut ops = view.ops.iter().peekable();
    for (step, call) in view.calls() {
        order.turns.call(step, call);
        #[cfg(not(target_arch = "wasm32"))] // a page has no such memory
        order.pool(call);
        while ops.next_if(|op| op.step < step).is_some() {}
        if let Some(op) = ops.next_if(|op| op.step == step) {
            order.operation(view, op, found);
        }
    }
    order.crowd(view, found);
    order.queued(view, found);
}

/// Of programs in which more has to be looked at it is not asked which waits they need: each line
/// that waits costs two searches. In the unit of [`hazards::MOST_EFFORT`].
const NEEDLESS_EFFORT: u64 = hazards::MOST_EFFORT / 40;

/// Whether the program does without these waits: it has no hazard more.
pub(super) fn is_needless(program: &Program, waits: &[u32]) -> bool {
    let dropped: HashSet<u32> = waits.iter().copied().collect();
    let mut changed = program.clone();
    let mut index = 0;
    changed.steps.retain(|_| {
        index += 1;
        !dropped.contains(&(index - 1))
    });
    let missing = |program| hazards::missing_within(program, NEEDLESS_EFFORT).map(|it| it.len());
    match (missing(&changed), missing(program)) {
        (Ok(changed), Ok(before)) => changed <= before,
        _ => false, // that a wait is needed is no false advice
    }
}

struct Stream {
    /// The last operation.
    last: Option<Op>,
    only_kernels: bool,
}

struct Order {
    turns: Turns,
    streams: HashMap<StreamId, Stream>,
    memory: Memory,
    /// When what each stream had before it last freed memory in its own order has ended. The pool
    /// hands that memory out again to the same stream.
    #[cfg(not(target_arch = "wasm32"))]
    freed_ns: HashMap<StreamId, u64>,
    /// On each device.
    kernels: [Kernels; DEVICES as usize],
    crowded: Vec<Crowded>,
    queues: Queues,
    pipes: BTreeMap<KernelId, Pipe>,
    shortest: Shortest,
}

/// Work at an instant.
#[derive(Clone, Copy, Default)]
struct Running {
    kernels: u64,
    blocks: u64,
    threads: u64,
}

impl Running {
    fn of(view: &View<'_>, op: &Op) -> Self {
        let blocks = blocks(view, op).min(MOST_BLOCKS);
        let threads = match view.call(op.step) {
            Call::Launch(launch) => {
                launch.block.iter().fold(blocks, |all, &n| all.saturating_mul(n.into()))
            }
            _ => 0,
        };
        Self { kernels: 1, blocks, threads }
    }

    fn combined(self, other: Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            kernels: with(self.kernels, other.kernels),
            blocks: with(self.blocks, other.blocks),
            threads: with(self.threads, other.threads),
        }
    }
}

/// Kernels, by when they run.
struct Kernels {
    /// When kernels start, in order, with the sum of all up to there.
    starts: Vec<(u64, Running)>,
    /// When they end.
    ends: Vec<(u64, Running)>,
}

impl Kernels {
    fn of(view: &View<'_>, device: usize) -> Self {
        let is_there = |op: &&Op| op.lane == Lane::Kernels && op.stream.device() == device as u32;
        let kernels = || view.ops.iter().filter(is_there);
        let summed = |ns: fn(&Op) -> u64| {
            let mut all: Vec<_> = kernels().map(|op| (ns(op), Running::of(view, op))).collect();
            all.sort_unstable_by_key(|(ns, _)| *ns);
            let mut sum = Running::default();
            for (_, running) in &mut all {
                sum = sum.combined(*running, u64::saturating_add);
                *running = sum;
            }
            all
        };
        Self { starts: summed(|op| op.start_ns), ends: summed(|op| op.end_ns) }
    }

    fn at(&self, ns: u64) -> Running {
        let until = |all: &[(u64, Running)]| {
            let count = all.partition_point(|(at, _)| *at <= ns);
            count.checked_sub(1).map_or(Running::default(), |last| all[last].1)
        };
        until(&self.starts).combined(until(&self.ends), u64::saturating_sub)
    }
}

/// A kernel that was ready while others were at work.
struct Crowded {
    step: u32,
    stream: StreamId,
    ns: u64,
    /// How many kernels ran, where it was their number that left no room.
    grids: Option<u32>,
}

impl Order {
    fn new(view: &View<'_>) -> Self {
        Self {
            turns: Turns::new(view.program),
            streams: HashMap::new(),
            memory: Memory::default(),
            #[cfg(not(target_arch = "wasm32"))]
            freed_ns: HashMap::new(),
            kernels: array::from_fn(|device| Kernels::of(view, device)),
            crowded: Vec::new(),
            queues: Queues::of(view),
            pipes: view.program.steps.iter().filter_map(|step| pipe(&step.call)).collect(),
            shortest: Shortest::of(view),
        }
    }

    fn operation(&mut self, view: &View<'_>, op: &Op, found: &mut Found) {
        let Before { own, wait, barrier } =
            self.turns.operation(op.step, op.stream, op.end_ns, op.step);
        let own_ns = own.ns;
        let needs_ns = self.memory.touch(view.call(op.step), op.end_ns);
        let stream = self.streams.entry(op.stream).or_default();
        let last = stream.last.replace(*op);
        stream.only_kernels &= op.lane == Lane::Kernels;

        // How much earlier it would have been ready but for one of them.
        let but_for = |ns: u64, others: [u64; 3]| {
            let others = others.into_iter().max().unwrap_or(0).max(op.issued_ns);
            ns.min(op.start_ns).saturating_sub(others)
        };
        let by_wait = but_for(wait.ns, [own_ns, barrier.ns, needs_ns]);
        let by_barrier = but_for(barrier.ns, [own_ns, wait.ns, needs_ns]);
        let by_stream = but_for(own_ns, [wait.ns, barrier.ns, needs_ns]);
        if by_wait > GAP_NS {
            found.charge(view, Code::LateEvent, wait.step, by_wait).other = Some(op.step);
        }
        if by_barrier > GAP_NS {
            let group = found.charge(view, Code::DefaultStreamBarrier, barrier.step, by_barrier);
            if op.step != barrier.step {
                group.other = Some(op.step);
            }
        }
        if let Some(last) = last
            && by_stream > GAP_NS
            && self.may_run_beside(view, &last, op)
        {
            found.charge(view, Code::SharedStream, op.step, by_stream).other = Some(last.step);
        }
        let ready_ns = [own_ns, wait.ns, barrier.ns, op.issued_ns].into_iter().max().unwrap_or(0);
        if op.lane == Lane::Kernels {
            self.kernel(view, op, ready_ns);
        }
    }

    /// Memory is taken from its pool in the order of a stream, or goes back to it. What a stream
    /// takes after it has freed some may be the same memory: no operation on it can come before
    /// what the stream did with that.
    #[cfg(not(target_arch = "wasm32"))]
    fn pool(&mut self, call: &Call) {
        match *call {
            Call::AllocAsync { block, bytes, stream } => {
                if let Some(&read_ns) = self.freed_ns.get(&stream) {
                    let whole = Part { offset: 0, end: bytes, read_ns, written_ns: 0 };
                    self.memory.blocks.insert(block, vec![whole]);
                }
            }
            Call::FreeAsync { stream, .. } => {
                let last = self.streams.get(&stream).and_then(|it| it.last);
                self.freed_ns.insert(stream, last.map_or(0, |last| last.end_ns));
            }
            _ => {}
        }
    }

    /// Whether the device could run the two at the same time: on different lanes, as small kernels,
    /// or as two that need different parts of a multiprocessor.
    fn may_run_beside(&self, view: &View<'_>, first: &Op, second: &Op) -> bool {
        let is_small = |op| blocks(view, op) <= FEW_BLOCKS;
        let pipes = [first, second].map(|op| match view.call(op.step) {
            Call::Launch(launch) => self.pipes.get(&launch.kernel),
            _ => None,
        });
        // These leave each other nearly all that they need: see `tests/figures/pairs.cu` of the
        // simulator.
        let apart = [Pipe::Memory, Pipe::Tensor].iter().all(|pipe| pipes.contains(&Some(pipe)));
        first.lane != second.lane || apart || (is_small(first) && is_small(second))
    }

    /// A kernel that was ready at `ready_ns`, and perhaps started later.
    fn kernel(&mut self, view: &View<'_>, op: &Op, ready_ns: u64) {
        self.queues.ready.insert(op.step, ready_ns);
        let window = Interval::new(ready_ns, op.start_ns.max(ready_ns));
        if window.ns() <= GAP_NS && !self.is_cramped(view, op) {
            return;
        }
        let there = &self.kernels[op.stream.device() as usize];
        let Running { kernels, blocks, threads } =
            there.at(window.start_ns.midpoint(window.end_ns));
        if threads <= MOST_THREADS {
            self.queues.late.push((*op, ready_ns));
        }
        // Mostly busy with kernels, which are other streams': its own stream had ended. Where few
        // blocks run there is room; what keeps the kernel is the way to the device.
        let busy_ns = view.lanes.busy(op.stream.device(), Lane::Kernels, window);
        if blocks > FEW_BLOCKS && !is_under(busy_ns, CROWDED_SHARE_PERMILLE, window.ns()) {
            let grids = blocks == kernels && kernels >= FEWEST_GRIDS;
            // With the room of blocks that ended first it takes longer than elsewhere. A small one
            // may be alone then, where it could have been beside the others.
            let own = Running::of(view, op);
            // Of others it is not known which multiprocessors they get.
            let says = view.grid(op).is_some_and(|(kernel, _)| self.pipes.contains_key(&kernel));
            let is_small = own.threads.saturating_mul(SMALL) <= threads;
            let is_alone = there.at(op.start_ns.midpoint(op.end_ns)).blocks == own.blocks;
            let after_ns = match self.shortest.launch(view, op) {
                _ if !says => 0,
                _ if is_small && is_alone => op.takes_ns(),
                Some(shortest_ns) => op.takes_ns() - shortest_ns,
                None => 0,
            };
            let (step, stream, ns) = (op.step, op.stream, window.ns() + after_ns);
            let grids = grids.then(|| u32::try_from(kernels).unwrap_or(u32::MAX));
            self.crowded.push(Crowded { step, stream, ns, grids });
        }
    }

    /// It found room at once and on few multiprocessors only, so that it took several times as long
    /// as elsewhere: others left no more.
    fn is_cramped(&self, view: &View<'_>, op: &Op) -> bool {
        let says = view.grid(op).is_some_and(|(kernel, _)| self.pipes.contains_key(&kernel));
        let own = Running::of(view, op).threads;
        let there = &self.kernels[op.stream.device() as usize];
        let others = there.at(op.start_ns).threads.saturating_sub(own);
        let shortest = self.shortest.launch(view, op).unwrap_or(u64::MAX);
        says && own.saturating_mul(SMALL) <= others
            && op.takes_ns() >= shortest.saturating_mul(CRAMPED)
    }

    /// Kernels that came after others in a work queue. Each instant counts once.
    fn queued(&self, view: &View<'_>, found: &mut Found) {
        if has_a_queue_each(view) {
            return;
        }
        let mut held: BTreeMap<Option<u32>, Vec<(Interval, u32, u32)>> = BTreeMap::new();
        for (op, ready_ns) in &self.queues.late {
            if let Some(before) = self.queues.before(view, op, *ready_ns) {
                let place = view.program.steps[before.step as usize].site;
                let time = Interval::new(*ready_ns, before.start_ns.max(*ready_ns));
                held.entry(place).or_default().push((time, before.step, op.step));
            }
        }
        for of_line in held.values() {
            let mut left_ns = Coverage::of(of_line.iter().map(|(time, ..)| *time)).ns();
            for (_, before, late) in of_line {
                found.charge(view, Code::TakenQueue, *before, left_ns).other = Some(*late);
                left_ns = 0;
            }
        }
    }

    /// Streams of kernels alone, whose kernels took turns all the same.
    fn crowd(&self, view: &View<'_>, found: &mut Found) {
        let alone = |stream: &StreamId| self.streams[stream].only_kernels;
        let crowded = || self.crowded.iter().filter(|it| alone(&it.stream));
        // Each instant counts once, however many wait.
        let most = crowded().fold(HashMap::new(), |mut sums, it| {
            let sum: &mut u64 = sums.entry(it.stream).or_insert(0);
            *sum = sum.saturating_add(it.ns);
            sums
        });
        let Some(longest_ns) = most.values().copied().max() else { return };
        if is_under(longest_ns, CROWDED_PERMILLE, view.region.ns()) {
            return;
        }
        for &Crowded { step, ns, grids, .. } in crowded() {
            found.charge(view, Code::FullDevice, step, ns).grids = grids;
        }
    }
}

/// Kernels that were ready and came after another in its work queue. A queue issues its kernels in
/// the order of the host's calls. A kernel that could start, and starts only with one of another
/// stream that had been issued before it and was not ready, came after that one. While the device
/// is full, there is another reason to be late.
struct Queues {
    /// When each kernel starts, in order, and its place among the operations.
    starts: Vec<(u64, usize)>,
    /// When each operation so far was ready, by its step.
    ready: HashMap<u32, u64>,
    late: Vec<(Op, u64)>,
}

/// Whether there are as many work queues for kernels as streams, so that no two of them share one.
fn has_a_queue_each(view: &View<'_>) -> bool {
    let created = view.program.steps.iter().filter_map(|step| match step.call {
        Call::StreamCreate { stream, .. } => Some(stream),
        _ => None,
    });
    let used = view.ops.iter().filter(|op| op.lane == Lane::Kernels).map(|op| op.stream);
    let streams: HashSet<StreamId> = created.chain(used).collect();
    streams.len() <= WorkQueues::of(view.program).kernels as usize
}

/// Kernels that are looked at of those that start within one gap: with so many a line is found.
const MOST_NEAR: usize = 64;

impl Queues {
    fn of(view: &View<'_>) -> Self {
        let kernels = view.ops.iter().enumerate().filter(|(_, op)| op.lane == Lane::Kernels);
        let mut starts: Vec<_> = kernels.map(|(index, op)| (op.start_ns, index)).collect();
        starts.sort_unstable();
        Self { starts, ready: HashMap::new(), late: Vec::new() }
    }

    /// The kernel that `op` came after in its queue.
    fn before<'a>(&self, view: &'a View<'_>, op: &Op, ready_ns: u64) -> Option<&'a Op> {
        let from = self.starts.partition_point(|(ns, _)| ns.saturating_add(GAP_NS) < op.start_ns);
        let last_ns = op.start_ns.saturating_add(GAP_NS);
        let near = self.starts[from..].iter().take_while(|(ns, _)| *ns <= last_ns);
        let near = near.take(MOST_NEAR).map(|(_, index)| &view.ops[*index]);
        let waited = near.filter(|other| {
            let other_ready_ns = self.ready.get(&other.step).copied().unwrap_or(0);
            other.step < op.step
                && other.stream != op.stream
                && other_ready_ns > ready_ns.saturating_add(GAP_NS)
                && other_ready_ns.saturating_add(GAP_NS) >= other.start_ns
        });
        waited.max_by_key(|other| other.step)
    }
}

impl Default for Stream {
    fn default() -> Self {
        Self { last: None, only_kernels: true }
    }
}

/// The pipe that most instructions of a kernel need, where it says so.
fn pipe(call: &Call) -> Option<(KernelId, Pipe)> {
    match call {
        Call::FunctionGet { kernel, inner_loop: Some(inner), .. } => Some((*kernel, inner.pipe)),
        _ => None,
    }
}

/// The blocks of a kernel; of what is none, more than there can be.
fn blocks(view: &View<'_>, op: &Op) -> u64 {
    match view.call(op.step) {
        Call::Launch(launch) => {
            launch.grid.iter().fold(1, |blocks: u64, &n| blocks.saturating_mul(n.into()))
        }
        _ => u64::MAX,
    }
}

/// Until when each part of memory is read and written.
#[derive(Default)]
struct Memory {
    /// Side by side and in order.
    blocks: HashMap<BlockId, Vec<Part>>,
}

#[derive(Clone, Copy)]
struct Part {
    offset: u64,
    end: u64,
    read_ns: u64,
    written_ns: u64,
}

/// Parts that are kept of a block; with more, the block counts as one.
const MOST_PARTS: usize = 64;

impl Memory {
    /// An operation uses memory until `end_ns`: says when what it needs, or must not disturb, had
    /// ended.
    fn touch(&mut self, call: &Call, end_ns: u64) -> u64 {
        let mut needs_ns = 0;
        accesses(call, |kind, range| {
            let (offset, end) = (range.offset, range.offset.saturating_add(range.bytes));
            let parts = self.blocks.entry(range.block).or_default();
            for part in parts.iter().filter(|part| part.offset < end && offset < part.end) {
                let read_ns = if kind == AccessKind::Write { part.read_ns } else { 0 };
                needs_ns = needs_ns.max(part.written_ns).max(read_ns);
            }
        });
        accesses(call, |kind, range| {
            let (offset, end) = (range.offset, range.offset.saturating_add(range.bytes));
            let parts = self.blocks.entry(range.block).or_default();
            if parts.len() >= MOST_PARTS {
                let whole = parts.drain(..).reduce(|a, b| Part {
                    offset: a.offset.min(b.offset),
                    end: a.end.max(b.end),
                    read_ns: a.read_ns.max(b.read_ns),
                    written_ns: a.written_ns.max(b.written_ns),
                });
                parts.extend(whole);
            }
            cut(parts, offset);
            cut(parts, end);
            let mut index = parts.partition_point(|part| part.end <= offset);
            let mut from = offset;
            while from < end {
                let next = parts.get(index).map_or(end, |part| part.offset.min(end));
                if from < next {
                    let new = Part { offset: from, end: next, read_ns: 0, written_ns: 0 };
                    parts.insert(index, new);
                }
                let part = &mut parts[index];
                match kind {
                    AccessKind::Read => part.read_ns = part.read_ns.max(end_ns),
                    AccessKind::Write => part.written_ns = part.written_ns.max(end_ns),
                }
                from = part.end;
                index += 1;
            }
        });
        needs_ns
    }
}

/// Makes two of the part that goes across `at`.
fn cut(parts: &mut Vec<Part>, at: u64) {
    if let Some(index) = parts.iter().position(|part| part.offset < at && at < part.end) {
        let rest = Part { offset: at, ..parts[index] };
        parts[index].end = at;
        parts.insert(index + 1, rest);
    }
}
