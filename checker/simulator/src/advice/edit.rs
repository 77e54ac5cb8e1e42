//! Taking a program apart and putting it together.

use std::collections::BTreeMap;

use trace::Program;
use trace::causes::chains::{lane, region};
use trace::causes::engines::Lane;
use trace::hazards::{self, Edge};
use trace::program::{BlockId, Call, EventId, Mode, Step, StreamId, StreamKind, Timing};

/// A step that stands in no source.
pub(super) fn step(call: Call) -> Step {
    Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 }
}

/// The program with each step of the measured region replaced by what `each` puts in its place.
pub(super) fn rewrite(
    program: &Program,
    mut each: impl FnMut(u32, &Step, &mut Vec<Step>),
) -> Program {
    let range = region(program);
    let mut steps = Vec::with_capacity(program.steps.len());
    steps.extend_from_slice(&program.steps[..range.start]);
    for index in range.clone() {
        each(index as u32, &program.steps[index], &mut steps);
    }
    steps.extend_from_slice(&program.steps[range.end..]);
    Program { version: program.version, scale: program.scale, sites: program.sites.clone(), steps }
}

/// Puts calls before the measured region begins.
pub(super) fn prepare(program: &mut Program, calls: impl IntoIterator<Item = Call>) {
    let begin = region(program).start.saturating_sub(1);
    program.steps.splice(begin..begin, calls.into_iter().map(step));
}

/// Lets the host wait for the device at the end of the region, where it does not already: what has
/// been queued counts until it has ended.
pub(super) fn close(program: &mut Program) {
    let range = region(program);
    let is_closed = || program.steps[..range.end].last().map(|last| &last.call);
    if range.end < program.steps.len() && is_closed() != Some(&Call::ContextSynchronize) {
        program.steps.insert(range.end, step(Call::ContextSynchronize));
    }
}

/// The number of the first stream that the program does not have.
pub(super) fn free_stream(program: &Program) -> StreamId {
    let created = program.steps.iter().filter_map(|step| match step.call {
        Call::StreamCreate { stream, .. } => Some(stream.0),
        _ => stream_of(&step.call).map(|stream| stream.0),
    });
    StreamId(
        created
            .max()
            .map_or(StreamId::FIRST_CREATED, |most| (most + 1).max(StreamId::FIRST_CREATED)),
    )
}

/// Creates non-blocking streams before the region begins.
pub(super) fn create_streams(program: &mut Program, from: StreamId, count: u32) {
    let create = |n| Call::StreamCreate {
        stream: StreamId(from.0 + n),
        kind: StreamKind::NonBlocking,
        priority: 0,
    };
    prepare(program, (0..count).map(create));
}

fn free_event(program: &Program) -> u32 {
    let events = program.steps.iter().filter_map(|step| match step.call {
        Call::EventCreate { event, .. } | Call::EventRecord { event, .. } => Some(event.0),
        _ => None,
    });
    events.max().map_or(0, |most| most + 1)
}

/// The number of the first block that the program does not have.
pub(super) fn free_block(program: &Program) -> BlockId {
    let mut most = None;
    for step in &program.steps {
        match &step.call {
            Call::Alloc { block, .. }
            | Call::AllocAsync { block, .. }
            | Call::AllocHost { block, .. } => most = most.max(Some(block.0)),
            call => hazards::accesses(call, |_, range| most = most.max(Some(range.block.0))),
        }
    }
    BlockId(most.map_or(0, |most| most + 1))
}

/// The stream that an operation is queued in.
pub(super) fn stream_of(call: &Call) -> Option<StreamId> {
    match call {
        Call::HostFunction { stream, .. } | Call::GraphLaunch { stream, .. } => Some(*stream),
        other => hazards::stream(other),
    }
}

/// The same operation in another stream, and not synchronous.
pub(super) fn moved(call: &Call, to: StreamId) -> Call {
    let mut call = call.clone();
    match &mut call {
        Call::Launch(launch) => launch.stream = to,
        Call::Copy { stream, mode, .. } | Call::Memset { stream, mode, .. } => {
            *stream = to;
            *mode = Mode::Asynchronous;
        }
        Call::HostFunction { stream, .. }
        | Call::GraphLaunch { stream, .. }
        | Call::AllocAsync { stream, .. }
        | Call::FreeAsync { stream, .. }
        | Call::EventRecord { stream, .. } => *stream = to,
        _ => {}
    }
    call
}

/// Rounds of putting in what is missing: the second finds what the first one's order brought to
/// light.
const ROUNDS: u32 = 3;

/// The program with an event wherever data needs an order that is not there, and how many there
/// are. None where no event helps.
pub(super) fn mend(mut program: Program) -> Option<(Program, u32)> {
    let mut edges = 0;
    for _ in 0..ROUNDS {
        let missing = hazards::missing_within(&program, hazards::MOST_EFFORT).ok()?;
        if missing.is_empty() {
            return Some((program, edges));
        }
        let mut before: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        let mut after: BTreeMap<u32, Vec<Step>> = BTreeMap::new();
        let mut events: BTreeMap<u32, EventId> = BTreeMap::new();
        let first_event = free_event(&program);
        for edge in missing {
            edges += 1;
            match edge {
                Edge::Wait { record_after, record_in, wait_before, wait_in } => {
                    let known = events.len() as u32;
                    let event = *events.entry(record_after).or_insert_with(|| {
                        let event = EventId(first_event + known);
                        let record = Call::EventRecord { event, stream: record_in };
                        after.entry(record_after).or_default().push(step(record));
                        event
                    });
                    let wait = Call::StreamWait { stream: wait_in, event };
                    before.entry(wait_before).or_default().push(step(wait));
                }
                Edge::Synchronise { stream, before: index, .. } => {
                    let call = Call::StreamSynchronize { stream };
                    before.entry(index).or_default().push(step(call));
                }
                // Neither is an event away.
                Edge::FreeLater { .. } | Edge::Handover { .. } => return None,
            }
        }
        let mut steps = Vec::with_capacity(program.steps.len() + before.len() + after.len());
        for (index, own) in (0u32..).zip(program.steps.drain(..)) {
            steps.extend(before.remove(&index).unwrap_or_default());
            steps.push(own);
            steps.extend(after.remove(&index).unwrap_or_default());
        }
        program.steps = steps;
        let create = |&event: &EventId| Call::EventCreate { event, timing: Timing::Disabled };
        prepare(&mut program, events.values().map(create));
    }
    hazards::missing(&program).is_empty().then_some((program, edges))
}

/// The program with `to` saying which stream each operation of `streams` gets. A wait for one of
/// these streams becomes a wait for the new ones too.
pub(super) fn split(
    program: &Program,
    streams: &[StreamId],
    first: StreamId,
    count: u32,
    to: impl Fn(u32, &Call) -> StreamId,
) -> Program {
    let mut changed = rewrite(program, |index, own, out| {
        let call = match stream_of(&own.call) {
            Some(old) if streams.contains(&old) => moved(&own.call, to(index, &own.call)),
            _ => own.call.clone(),
        };
        out.push(Step { call, ..own.clone() });
        if let Call::StreamSynchronize { stream } = own.call
            && streams.contains(&stream)
        {
            let sync = |n| step(Call::StreamSynchronize { stream: StreamId(first.0 + n) });
            out.extend((0..count).map(sync));
        }
    });
    create_streams(&mut changed, first, count);
    close(&mut changed);
    changed
}

pub(super) fn split_by_engine(program: &Program, stream: StreamId) -> Program {
    let first = free_stream(program);
    split(program, &[stream], first, 2, |_, call| match lane(call) {
        Some(Lane::Up) => first,
        Some(Lane::Down) => StreamId(first.0 + 1),
        _ => stream,
    })
}
