//! The changes that a cause suggests.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Serialize;
use trace::Program;
use trace::causes::chains::{chains, jobs, lane, region};
use trace::causes::graphs::rebuilt;
use trace::causes::{Cause, Code};
use trace::program::{
    BlockId, Call, DEVICES, EventId, GraphId, GraphNode, Mode, Place, Range, Step, StreamId,
    StreamKind,
};

use super::chunk;
use super::edit::{
    close, create_streams, free_block, free_stream, moved, prepare, rewrite, split,
    split_by_engine, step, stream_of,
};
use crate::Profile;

/// A change of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Pageable host memory becomes pinned.
    Pin,
    /// Operations of the default stream get a stream of their own.
    OwnStream,
    /// Blocking streams become non-blocking ones.
    NonBlocking,
    /// A stream is split: uploads, kernels and downloads each get one.
    StreamForEachEngine,
    /// A stream is split: work that does not hand memory on, or one of two branches, gets streams
    /// of its own.
    StreamForEachBranch,
    /// A kernel gets a stream of its own, and is launched before the one that it came after: then
    /// it finds room.
    OwnStreamFirst,
    /// Independent chunks take turns in more streams.
    Streams {
        /// In so many streams.
        now: u32,
        /// So many before.
        before: u32,
    },
    /// The host does not wait here but at the end.
    WaitAtTheEnd,
    /// Memory is freed after the region.
    FreeAfterwards,
    /// A module is loaded, or memory allocated, before the region.
    PrepareEarlier,
    /// The host issues one chunk after the other.
    ChunkByChunk,
    /// The work is cut differently.
    Chunks {
        /// Into so many chunks.
        now: u32,
        /// So many before.
        before: u32,
        /// Whether each engine also gets a stream, as chunks of one stream take turns.
        streams: chunk::Streams,
    },
    /// Launches are captured, and launched as one graph.
    Graph,
    /// A graph is built once and launched again.
    KeepGraph,
    /// A wait for an event goes, or is put where the data needs it.
    DropWait,
    /// A synchronous call becomes an asynchronous one in a stream of its own.
    Asynchronous,
    /// Kernels that fill the device get smaller grids, so that another one has room beside them.
    LeaveRoom {
        /// Blocks of the largest of them now.
        now: u32,
        /// And before.
        before: u32,
    },
    /// Streams with less work are given theirs first.
    ShortStreamsFirst,
    /// The host works before it waits.
    WorkBeforeTheWait,
    /// Devices may use each other's memory.
    AllowAccess,
}

impl Change {
    /// Whether it is right for programs of two devices too: it makes no stream, and waits for no
    /// device.
    pub(super) fn suits_two_devices(self) -> bool {
        matches!(self, Self::AllowAccess | Self::DropWait)
    }
}

/// A changed program, not mended yet.
pub(super) struct Choice {
    pub(super) change: Change,
    pub(super) program: Program,
}

/// The changes that `cause` suggests on this device, small ones first.
pub(super) fn options(program: &Program, cause: &Cause, profile: &Profile) -> Vec<Choice> {
    let at: HashSet<u32> = cause.steps.iter().copied().collect();
    let one = |change, program| vec![Choice { change, program }];
    let some = |change, program: Option<Program>| {
        program.into_iter().map(|program| Choice { change, program }).collect()
    };
    match cause.code {
        Code::PageableCopy => one(Change::Pin, pin(program, &at)),
        Code::DefaultStreamBarrier => {
            let mut choices: Vec<Choice> = some(Change::NonBlocking, non_blocking(program));
            if !cause.is_fixed {
                let program = own_stream(program, &at);
                choices.insert(0, Choice { change: Change::OwnStream, program });
            }
            choices
        }
        Code::SynchronousCall => one(Change::Asynchronous, own_stream(program, &at)),
        Code::SharedStream => {
            let Some(stream) = cause.stream else { return Vec::new() };
            let mut choices = one(Change::StreamForEachEngine, split_by_engine(program, stream));
            // Branches that come from one array and come together again are one chain: then those
            // calls that waited for their stream alone are one of them.
            let branches =
                split_by_branch(program, stream).unwrap_or_else(|| own_stream(program, &at));
            choices.push(Choice { change: Change::StreamForEachBranch, program: branches });
            choices.extend(more_streams(program, &at).or_else(|| in_turn(program, &at)));
            choices.extend(some(Change::OwnStreamFirst, own_stream_first(program, cause)));
            choices
        }
        Code::HostSynchronisation => one(Change::WaitAtTheEnd, without(program, &at)),
        Code::NeedlessWait | Code::LateEvent => one(Change::DropWait, without(program, &at)),
        Code::DeviceWideWait => {
            let loads = |&step: &u32| program.steps[step as usize].call == Call::ModuleLoad;
            match at.iter().all(loads) {
                true => one(Change::PrepareEarlier, earlier(program, &at)),
                false => one(Change::FreeAfterwards, afterwards(program, &at)),
            }
        }
        Code::AllocationInRegion => one(Change::PrepareEarlier, earlier(program, &at)),
        Code::IssueOrder => one(Change::ChunkByChunk, chunk_by_chunk(program)),
        Code::TooFewChunks => chunks(chunk::more(program, &cause.steps)),
        Code::TooManyChunks => chunks(chunk::fewer(program, &cause.steps)),
        Code::LaunchBound => some(Change::Graph, graph(program, &cause.steps)),
        Code::FullQueue => some(Change::ShortStreamsFirst, short_streams_first(program)),
        Code::IdleHostWork => {
            some(Change::WorkBeforeTheWait, work_before_the_wait(program, &cause.steps))
        }
        Code::FullDevice => leave_room(program, &cause.steps, profile),
        Code::RebuiltGraph => one(Change::KeepGraph, keep_graphs(program)),
        Code::StagedPeerCopy => one(Change::AllowAccess, allow_access(program)),
        Code::TakenQueue | Code::WaitingRequest => Vec::new(),
    }
}

/// Each device may use all of the other's memory.
fn allow_access(program: &Program) -> Program {
    let mut changed = program.clone();
    let access = |by| [false, true].map(|pool| Call::PeerAccess { by, pool, enabled: true });
    prepare(&mut changed, (0..DEVICES).flat_map(access));
    changed
}

fn pin(program: &Program, at: &HashSet<u32>) -> Program {
    let mut block = free_block(program);
    let mut blocks = Vec::new();
    let mut changed = rewrite(program, |index, own, out| {
        let mut own = own.clone();
        if at.contains(&index)
            && let Call::Copy { source, target, bytes, .. } = &mut own.call
        {
            for place in [source, target] {
                if *place == Place::Pageable {
                    *place = Place::Pinned(Range { block, offset: 0, bytes: *bytes });
                    blocks.push(Call::AllocHost { block, bytes: *bytes });
                    block = BlockId(block.0 + 1);
                }
            }
        }
        out.push(own);
    });
    prepare(&mut changed, blocks);
    changed
}

fn own_stream(program: &Program, at: &HashSet<u32>) -> Program {
    let stream = free_stream(program);
    let mut changed = rewrite(program, |index, own, out| {
        let call = if at.contains(&index) { moved(&own.call, stream) } else { own.call.clone() };
        out.push(Step { call, ..own.clone() });
    });
    create_streams(&mut changed, stream, 1);
    close(&mut changed);
    changed
}

/// None where it is not one kernel that came after another one.
fn own_stream_first(program: &Program, cause: &Cause) -> Option<Program> {
    let (&[late], Some(other)) = (cause.steps.as_slice(), &cause.other) else { return None };
    let is_kernel = |step: u32| matches!(program.steps[step as usize].call, Call::Launch(_));
    if other.step >= late || !is_kernel(late) || !is_kernel(other.step) {
        return None;
    }
    let stream = free_stream(program);
    let mut changed = rewrite(program, |index, own, out| {
        if index == other.step {
            let late = &program.steps[late as usize];
            out.push(Step { call: moved(&late.call, stream), ..late.clone() });
        }
        if index != late {
            out.push(own.clone());
        }
    });
    create_streams(&mut changed, stream, 1);
    close(&mut changed);
    Some(changed)
}

/// Nothing where kernels do not say what decides who finds room: what they issue, and that their
/// blocks share out items.
fn leave_room(program: &Program, waiting: &[u32], profile: &Profile) -> Vec<Choice> {
    let multiprocessors = profile.chip.multiprocessors.value;
    let mut facts = BTreeMap::new();
    for step in &program.steps {
        if let &Call::FunctionGet { kernel, registers, shared_bytes, items, inner_loop, .. } =
            &step.call
            && items.is_some()
            && inner_loop.is_some()
        {
            facts.insert(kernel, (registers, shared_bytes));
        }
    }
    // Blocks on each multiprocessor, and how many there is room for; none of a grid that is more
    // than a line of blocks.
    let of = |call: &Call| match call {
        Call::Launch(launch) if launch.grid[1..] == [1, 1] => {
            let (registers, shared_bytes) = facts.get(&launch.kernel)?;
            let threads = launch.block.iter().product();
            let most =
                profile.resident_blocks(threads, *registers, shared_bytes + launch.shared_bytes);
            let on_each = u64::from(launch.grid[0]).div_ceil(multiprocessors);
            Some((launch.kernel, on_each, u64::from(most)))
        }
        _ => None,
    };
    let late = waiting.first().and_then(|step| of(&program.steps[*step as usize].call));
    let Some((kernel, on_each, most)) = late else { return Vec::new() };
    // A single block on each, with which no multiprocessor is much emptier than another one; or all
    // that there is room for.
    let grids: [&dyn Fn(u64) -> u64; 2] =
        [&|_| 1, &|most_of_other| most_of_other * most.saturating_sub(on_each) / most.max(1)];
    let choice = |left: &dyn Fn(u64) -> u64| {
        let mut sizes: Option<(u32, u32)> = None;
        let program = rewrite(program, |_, own, out| {
            let mut own = own.clone();
            if let Some((other, on_each, most)) = of(&own.call)
                && other != kernel
                && let Call::Launch(launch) = &mut own.call
            {
                let blocks = left(most) * multiprocessors;
                if let Ok(blocks @ 1..) = u32::try_from(blocks)
                    && on_each > left(most)
                {
                    sizes = sizes.max(Some((launch.grid[0], blocks)));
                    launch.grid[0] = blocks;
                }
            }
            out.push(own);
        });
        sizes.map(|(before, now)| Choice { change: Change::LeaveRoom { now, before }, program })
    };
    grids.into_iter().filter_map(choice).collect()
}

/// None where no stream takes turns with the default stream.
fn non_blocking(program: &Program) -> Option<Program> {
    let mut changed = program.clone();
    let mut has_changed = false;
    for step in &mut changed.steps {
        if let Call::StreamCreate { kind: kind @ StreamKind::Blocking, .. } = &mut step.call {
            *kind = StreamKind::NonBlocking;
            has_changed = true;
        }
    }
    close(&mut changed);
    has_changed.then_some(changed)
}

fn chunks(cuts: Vec<chunk::Cut>) -> Vec<Choice> {
    let choice = |chunk::Cut { now, before, streams, program }| {
        let change = Change::Chunks { now, before, streams };
        Choice { change, program }
    };
    cuts.into_iter().map(choice).collect()
}

/// Streams that branches are dealt out to: as many as there are work queues for kernels by default.
/// Copies have four in each direction, but step by step eight streams took no longer than four
/// (measured: `queues.breadth_first`).
const BRANCHES: u32 = 8;

/// None where there are no two branches.
fn split_by_branch(program: &Program, stream: StreamId) -> Option<Program> {
    let of_stream = |chain: &Vec<u32>| {
        chain.iter().any(|&step| stream_of(&program.steps[step as usize].call) == Some(stream))
    };
    let branches: Vec<_> = chains(program).into_iter().filter(of_stream).collect();
    if branches.len() < 2 {
        return None;
    }
    let first = free_stream(program);
    let mut branch = HashMap::new();
    for (number, steps) in (0u32..).zip(&branches) {
        branch.extend(steps.iter().map(|&step| (step, StreamId(first.0 + number % BRANCHES))));
    }
    let count = BRANCHES.min(branches.len() as u32);
    Some(split(program, &[stream], first, count, |index, _| {
        branch.get(&index).copied().unwrap_or(stream)
    }))
}

/// Twice as many streams for the chunks of those calls, which take turns in several already. None
/// where a chunk is in more streams than one, no two chunks share one, or the host goes from chunk
/// to chunk before it is done with one.
fn more_streams(program: &Program, at: &HashSet<u32>) -> Option<Choice> {
    let stream = |step: &u32| stream_of(&program.steps[*step as usize].call);
    let streams: BTreeSet<StreamId> = at.iter().filter_map(stream).collect();
    let streams: Vec<StreamId> = streams.into_iter().collect();
    let before = streams.len() as u32;
    let is_theirs = |step: &u32| stream(step).is_some_and(|it| streams.contains(&it));
    let chunks: Vec<_> =
        chains(program).into_iter().filter(|it| it.iter().any(is_theirs)).collect();
    let in_one = |chunk: &Vec<u32>| chunk.iter().all(|step| stream(step) == stream(&chunk[0]));
    let now = (2 * before).min(chunks.len() as u32);
    // Step by step it is the order that keeps them, and not the number of streams.
    let one_by_one = chunks.windows(2).all(|pair| pair[0].last() < pair[1].first());
    if before < 2 || now <= before || !one_by_one || !chunks.iter().all(in_one) {
        return None;
    }
    let first = free_stream(program);
    let mut turn = HashMap::new();
    for (number, steps) in (0u32..).zip(&chunks) {
        turn.extend(steps.iter().map(|&step| (step, StreamId(first.0 + number % now))));
    }
    let program = split(program, &streams, first, now, |index, call| {
        turn.get(&index).copied().or(stream_of(call)).unwrap_or(first)
    });
    Some(Choice { change: Change::Streams { now, before }, program })
}

/// Twice as many streams for launches of one line, which take them in turn. None where they are no
/// kernels, or few.
fn in_turn(program: &Program, at: &HashSet<u32>) -> Option<Choice> {
    let call = |step: &u32| &program.steps[*step as usize].call;
    let streams: BTreeSet<StreamId> = at.iter().filter_map(|step| stream_of(call(step))).collect();
    let before = streams.len() as u32;
    let now = 2 * before;
    if at.len() < 2 * now as usize || !at.iter().all(|step| matches!(call(step), Call::Launch(_))) {
        return None;
    }
    let first = free_stream(program);
    let mut in_order: Vec<u32> = at.iter().copied().collect();
    in_order.sort_unstable();
    let turn: HashMap<u32, StreamId> = in_order
        .into_iter()
        .zip((0..now).cycle())
        .map(|(step, n)| (step, StreamId(first.0 + n)))
        .collect();
    let streams: Vec<StreamId> = streams.into_iter().collect();
    let program = split(program, &streams, first, now, |index, call| {
        turn.get(&index).copied().or(stream_of(call)).unwrap_or(first)
    });
    Some(Choice { change: Change::Streams { now, before }, program })
}

fn without(program: &Program, at: &HashSet<u32>) -> Program {
    let mut changed = rewrite(program, |index, own, out| {
        if !at.contains(&index) {
            out.push(own.clone());
        }
    });
    close(&mut changed);
    changed
}

fn earlier(program: &Program, at: &HashSet<u32>) -> Program {
    let mut changed = without(program, at);
    prepare(&mut changed, calls(program, at));
    changed
}

fn afterwards(program: &Program, at: &HashSet<u32>) -> Program {
    let mut changed = without(program, at);
    let end = (region(&changed).end + 1).min(changed.steps.len());
    changed.steps.splice(end..end, calls(program, at).into_iter().map(step));
    changed
}

fn calls(program: &Program, at: &HashSet<u32>) -> Vec<Call> {
    let mut at: Vec<_> = at.iter().copied().collect();
    at.sort_unstable();
    at.iter().map(|&step| program.steps[step as usize].call.clone()).collect()
}

/// Whether the host goes on at once, so that its calls can be made in another order.
fn is_queued(call: &Call) -> bool {
    matches!(call, Call::EventRecord { .. } | Call::StreamWait { .. } | Call::EventCreate { .. })
        || lane(call).is_some()
}

/// Sorts each run of calls that block no thread, by `key`, which is told the index of a step.
fn sort_runs(program: &Program, key: impl Fn(u32) -> u32) -> Program {
    let mut run: Vec<(u32, Step)> = Vec::new();
    let flush = |run: &mut Vec<(u32, Step)>, out: &mut Vec<Step>| {
        run.sort_by_key(|&(index, _)| key(index));
        out.extend(run.drain(..).map(|(_, step)| step));
    };
    let mut changed = rewrite(program, |index, own, out| match &own.call {
        // It goes on holding for waits that were made.
        Call::EventDestroy { .. } => run.push((index, own.clone())),
        call if is_queued(call) => run.push((index, own.clone())),
        _ => {
            flush(&mut run, out);
            out.push(own.clone());
        }
    });
    let end = region(&changed).end;
    let mut rest = Vec::new();
    flush(&mut run, &mut rest);
    changed.steps.splice(end..end, rest);
    changed
}

fn chunk_by_chunk(program: &Program) -> Program {
    let mut chain: HashMap<u32, u32> = HashMap::new();
    for (number, steps) in (0u32..).zip(chains(program)) {
        chain.extend(steps.into_iter().map(|step| (step, number)));
    }
    // Records belong to what comes before them in their stream, waits to what comes after, and the
    // creation of an event to its record.
    let mut last: HashMap<StreamId, u32> = HashMap::new();
    let mut recorded: HashMap<EventId, u32> = HashMap::new();
    let range = region(program);
    for index in range.clone().map(|index| index as u32) {
        let call = &program.steps[index as usize].call;
        if let Call::EventRecord { event, stream } = call {
            let own = last.get(stream).copied().unwrap_or(0);
            chain.insert(index, own);
            recorded.entry(*event).or_insert(own);
        } else if let (Some(&own), Some(stream)) = (chain.get(&index), stream_of(call)) {
            last.insert(stream, own);
        }
    }
    let mut next: HashMap<StreamId, u32> = HashMap::new();
    for index in range.rev().map(|index| index as u32) {
        match &program.steps[index as usize].call {
            Call::StreamWait { stream, .. } => {
                let own = next.get(stream).copied().unwrap_or(u32::MAX);
                chain.insert(index, own);
            }
            Call::EventCreate { event, .. } => {
                chain.insert(index, recorded.get(event).copied().unwrap_or(0));
            }
            Call::EventDestroy { .. } => drop(chain.insert(index, u32::MAX)),
            call => {
                if let (Some(&own), Some(stream)) = (chain.get(&index), stream_of(call)) {
                    next.insert(stream, own);
                }
            }
        }
    }
    sort_runs(program, |index| chain.get(&index).copied().unwrap_or(0))
}

/// None where one stream's work needs another's.
fn short_streams_first(program: &Program) -> Option<Program> {
    let range = region(program);
    let steps = &program.steps[range.clone()];
    if steps.iter().any(|step| matches!(step.call, Call::StreamWait { .. })) {
        return None;
    }
    for chain in chains(program) {
        let stream = |&step: &u32| stream_of(&program.steps[step as usize].call);
        if chain.iter().map(stream).collect::<HashSet<_>>().len() > 1 {
            return None;
        }
    }
    let mut lengths: BTreeMap<StreamId, u32> = BTreeMap::new();
    for stream in steps.iter().filter_map(|step| stream_of(&step.call)) {
        *lengths.entry(stream).or_default() += 1;
    }
    Some(sort_runs(program, |index| match &program.steps[index as usize].call {
        Call::EventCreate { .. } => 0,
        Call::EventDestroy { .. } => u32::MAX,
        Call::EventRecord { stream, .. } => lengths.get(stream).copied().unwrap_or(0),
        call => stream_of(call).map_or(0, |stream| lengths[&stream]),
    }))
}

/// Launches of a graph that are too few to be worth one.
const SHORT_RUN: usize = 2;

/// Graphs of this many runs are compared with: buffers that are used in turn are fewer.
const MOST_SLOTS: usize = 8;

/// The launches and, where they are those of chunks, what else belongs to a chunk. Runs of the same
/// calls on the same memory are one graph. None where no two of the calls follow each other in
/// their stream.
fn graph(program: &Program, at: &[u32]) -> Option<Program> {
    let mut wanted: HashSet<u32> = at.iter().copied().collect();
    for job in jobs(program) {
        if job.chains.iter().flatten().any(|step| wanted.contains(step)) {
            wanted.extend(job.chains.into_iter().flatten());
        }
    }
    let can_be_captured = |call: &Call| match call {
        Call::Copy { mode, source, target, .. } => {
            *mode == Mode::Asynchronous && ![source, target].contains(&&Place::Pageable)
        }
        call => lane(call).is_some(),
    };
    let mut open: HashMap<StreamId, Vec<u32>> = HashMap::new();
    let mut runs: Vec<Vec<u32>> = Vec::new();
    for index in region(program).map(|index| index as u32) {
        let call = &program.steps[index as usize].call;
        match call {
            call if wanted.contains(&index) && can_be_captured(call) => {
                open.entry(stream_of(call)?).or_default().push(index);
            }
            Call::EventRecord { stream, .. } | Call::StreamWait { stream, .. } => {
                runs.extend(open.remove(stream));
            }
            call => match stream_of(call) {
                Some(stream) => runs.extend(open.remove(&stream)),
                None => runs.extend(open.drain().map(|(_, run)| run)),
            },
        }
    }
    runs.extend(open.into_values());
    runs.retain(|run| run.len() >= SHORT_RUN);
    runs.sort_unstable();
    if runs.is_empty() {
        return None;
    }
    let graphs = program.steps.iter().filter_map(|step| match step.call {
        Call::GraphCreate { graph, .. } => Some(graph.0 + 1),
        _ => None,
    });
    let mut next = graphs.max().unwrap_or(0);
    let mut launches: HashMap<u32, Option<Call>> = HashMap::new();
    let mut made: Vec<Call> = Vec::new();
    for run in &runs {
        let nodes = (0u32..).zip(run).map(|(node, &step)| {
            let Step { call, site, .. } = program.steps[step as usize].clone();
            GraphNode { call, after: node.checked_sub(1).into_iter().collect(), site }
        });
        let nodes: Vec<GraphNode> = nodes.collect();
        let known = made.iter().rev().take(2 * MOST_SLOTS).find_map(|call| match call {
            Call::GraphCreate { graph, nodes: others } if *others == nodes => Some(*graph),
            _ => None,
        });
        let graph = known.unwrap_or_else(|| {
            let graph = GraphId(next);
            next += 1;
            made.push(Call::GraphCreate { graph, nodes });
            made.push(Call::GraphInstantiate { graph, updates: None });
            graph
        });
        let stream = stream_of(&program.steps[run[0] as usize].call)?;
        launches.extend(run.iter().map(|&step| (step, None)));
        launches.insert(
            run[0],
            Some(Call::GraphLaunch { graph, copy: 0, stream, accesses: Vec::new() }),
        );
    }
    let mut changed = rewrite(program, |index, own, out| match launches.get(&index) {
        Some(Some(launch)) => out.push(Step { call: launch.clone(), ..own.clone() }),
        Some(None) => {}
        None => out.push(own.clone()),
    });
    prepare(&mut changed, made);
    Some(changed)
}

/// Launches the first of graphs that are equal.
fn keep_graphs(program: &Program) -> Program {
    let first = rebuilt(program);
    rewrite(program, |_, own, out| match &own.call {
        Call::GraphCreate { graph, .. } | Call::GraphInstantiate { graph, .. }
            if first.contains_key(graph) => {}
        Call::GraphLaunch { graph, copy, stream, accesses } => {
            let known = first.get(graph);
            let graph = *known.unwrap_or(graph);
            let copy = if known.is_some() { 0 } else { *copy };
            let call =
                Call::GraphLaunch { graph, copy, stream: *stream, accesses: accesses.clone() };
            out.push(Step { call, ..own.clone() });
        }
        _ => out.push(own.clone()),
    })
}

/// None where no wait comes just before the work.
fn work_before_the_wait(program: &Program, at: &[u32]) -> Option<Program> {
    let mut order: Vec<u32> = (0..program.steps.len() as u32).collect();
    let mut has_changed = false;
    for &work in at {
        let call = |index: &usize| &program.steps[*index].call;
        let waits = (0..work as usize)
            .rev()
            .take_while(|index| lane(call(index)).is_none())
            .filter(|index| {
                matches!(
                    call(index),
                    Call::StreamSynchronize { .. }
                        | Call::EventSynchronize { .. }
                        | Call::ContextSynchronize
                )
            });
        let Some(first) = waits.min() else { continue };
        let from = order.iter().position(|&index| index == work)?;
        let to = order.iter().position(|&index| index == first as u32)?;
        let moved = order.remove(from);
        order.insert(to, moved);
        has_changed = true;
    }
    let steps = order.iter().map(|&index| program.steps[index as usize].clone()).collect();
    has_changed.then(|| Program { steps, ..program.clone() })
}
