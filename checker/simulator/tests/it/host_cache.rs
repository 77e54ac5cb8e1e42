//! Copies up of what the host has just written, as an H200 was seen to make them.

use trace::program::StreamKind::NonBlocking;
use trace::program::{BlockId, Call, GraphId, GraphNode, Mode, Place, Range, StreamId};
use trace::timeline::Timeline;

use crate::program::*;

const BYTES: u64 = MIB / 2;

/// The first bytes of a block of pinned memory.
fn pinned(script: &mut Script, bytes: u64) -> Range {
    Range { block: script.block(), offset: 0, bytes }
}

fn written(script: &mut Script, range: Range) {
    script.call(Call::HostWork { ns: 50_000, target: Some(range) });
}

fn up(stream: StreamId, source: Range) -> Call {
    let target = Place::Device(Range { block: BlockId(900), ..source });
    let (mode, source, bytes) = (Mode::Asynchronous, Place::Pinned(source), source.bytes);
    Call::Copy { stream, mode, source, target, bytes }
}

/// The time of a step's operation, in ns.
fn took(timeline: &Timeline, step: u32) -> u64 {
    let span = span(timeline, step);
    span.end_ns - span.start_ns
}

/// How much longer a copy of so much takes there, in ns.
fn longer_ns(bytes: u64) -> u64 {
    bytes * h200().copies.fresh_ns_per_mib.value / MIB
}

#[test]
fn the_first_copy_of_what_the_host_has_just_written_takes_longer() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let [block, other] = [(); 2].map(|()| pinned(&mut script, BYTES));
    written(&mut script, block);
    let [fresh, again, never] = [block, block, other].map(|it| script.call(up(stream, it)));
    script.synchronize();
    let timeline = script.run();
    let [fresh, again, never] = [fresh, again, never].map(|step| took(&timeline, step));
    assert_eq!(again, never);
    assert_eq!(fresh, never + longer_ns(BYTES));
}

#[test]
fn so_does_the_first_copy_of_a_graph() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let block = pinned(&mut script, BYTES);
    let node = GraphNode { call: up(stream, block), after: Vec::new(), site: None };
    let graph = GraphId(0);
    script.call(Call::GraphCreate { graph, nodes: vec![node] });
    script.call(Call::GraphInstantiate { graph, updates: None });
    let launch = Call::GraphLaunch { graph, copy: 0, stream, accesses: Vec::new() };
    let never = script.call(launch.clone());
    written(&mut script, block);
    let fresh = script.call(launch);
    script.synchronize();
    let timeline = script.run();
    let [never, fresh] = [never, fresh].map(|step| took(&timeline, step));
    assert_eq!(fresh, never + longer_ns(BYTES));
}

#[test]
fn what_was_written_before_the_measured_region_or_before_much_else_does_not_count() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let [before, old, much] = [BYTES, BYTES, 4 * MIB].map(|bytes| pinned(&mut script, bytes));
    written(&mut script, before);
    script.call(Call::RegionBegin);
    written(&mut script, old);
    written(&mut script, much);
    let [before, old] = [before, old].map(|it| script.call(up(stream, it)));
    let never = pinned(&mut script, BYTES);
    let never = script.call(up(stream, never));
    script.synchronize();
    script.call(Call::RegionEnd);
    let timeline = script.run();
    let [before, old, never] = [before, old, never].map(|step| took(&timeline, step));
    assert_eq!([before, old], [never; 2]);
}
