//! Kernels on what is in the device's cache and on what is not, as an H200 was seen to run them.

use trace::program::StreamKind::NonBlocking;
use trace::program::{
    Access, AccessKind, BlockId, Call, GraphId, GraphNode, Launch, Mode, Place, Range, StreamId,
};

use crate::program::*;

/// Threads of a kernel here.
const THREADS: u64 = 64 * 256;
/// Bytes that a kernel reads and writes.
const BYTES: u64 = 2 * MIB;

fn range(block: u32, bytes: u64) -> Range {
    Range { block: BlockId(block), offset: 0, bytes }
}

/// A map of 64 blocks, in place.
fn map(stream: StreamId, range: Range) -> Call {
    let access = |kind| Access { kind, range };
    let items = range.bytes / 4;
    Call::Launch(Launch {
        kernel: MAP_OF_ITEMS,
        stream,
        grid: [64, 1, 1],
        block: [256, 1, 1],
        shared_bytes: 0,
        units: items * 500,
        bytes: 8 * items,
        accesses: [AccessKind::Read, AccessKind::Write].map(access).into(),
    })
}

/// How much longer such a kernel takes where its elements come from memory, in ns.
fn longer_ns(bytes: u64) -> u64 {
    let chip = h200().chip;
    chip.uncached_ns.value + bytes / 4 / THREADS / 4 * chip.uncached_wait_ns.value
}

/// How much longer than its shortest launch each launch of the map on block 0 takes, in ns, in a program with these
/// calls.
fn longer(calls: impl Fn(StreamId) -> Vec<Call>) -> Vec<u64> {
    let mut script = Script::new();
    script.with_items();
    let stream = script.stream(NonBlocking);
    let is_of_0 = |call: &Call| *call == map(stream, range(0, BYTES));
    let steps: Vec<(bool, u32)> =
        calls(stream).into_iter().map(|call| (is_of_0(&call), script.call(call))).collect();
    script.synchronize();
    let timeline = script.run();
    let launches = steps.into_iter().filter(|(is_of_0, _)| *is_of_0);
    let took: Vec<u64> = launches.map(|(_, step)| span(&timeline, step).interval().ns()).collect();
    let shortest = *took.iter().min().expect("a launch");
    took.into_iter().map(|ns| ns - shortest).collect()
}

/// The same of two launches with these calls in between.
fn with_between(calls: impl Fn(StreamId) -> Vec<Call>) -> Vec<u64> {
    let own = |stream| map(stream, range(0, BYTES));
    longer(|stream| [vec![own(stream)], calls(stream), vec![own(stream)]].concat())
}

#[test]
fn what_a_kernel_has_used_is_there_for_the_next() {
    let more = longer_ns(BYTES);
    assert_eq!(more, 407 + 8 * 182, "as the profile has it");
    assert_eq!(with_between(|_| Vec::new()), [more, 0]);
}

#[test]
fn a_copy_up_leaves_nothing_there_and_a_copy_down_or_a_memset_all() {
    let (device, pinned) = (Place::Device(range(0, BYTES)), Place::Pinned(range(900, BYTES)));
    let copy = |stream, source, target| {
        vec![Call::Copy { stream, mode: Mode::Asynchronous, source, target, bytes: BYTES }]
    };
    assert_eq!(with_between(|stream| copy(stream, pinned, device)), [0, 0]);
    assert_eq!(with_between(|stream| copy(stream, device, pinned)), [longer_ns(BYTES), 0]);
    let (mode, target) = (Mode::Asynchronous, range(0, BYTES));
    let set = |stream| vec![Call::Memset { stream, mode, target }];
    assert_eq!(with_between(set), [longer_ns(BYTES), 0]);
    // The first one too, then.
    let own = |stream| map(stream, target);
    assert_eq!(longer(|stream| [set(stream), vec![own(stream), own(stream)]].concat()), [0, 0]);
}

#[test]
fn other_kernels_take_its_place_once_they_have_brought_in_as_much_as_there_is_room_for() {
    let others = |count: u32| {
        with_between(|stream| (1..=count).map(|it| map(stream, range(it, 4 * MIB))).collect())
    };
    // 30 MiB less the kernel's own 2.
    assert_eq!(others(7), [longer_ns(BYTES), 0]);
    assert_eq!(others(8), [0, 0]);
}

#[test]
fn a_region_begins_with_none_of_it_there() {
    // On an idle device, as the lab begins one.
    let begin = |_| vec![Call::ContextSynchronize, Call::RegionBegin];
    // The first kernel still runs when it is called: it waits for its end.
    let at_once = |_| vec![Call::RegionBegin];
    assert_eq!(with_between(at_once), with_between(begin));
    assert_eq!(with_between(begin), [0, 0]);
}

#[test]
fn what_is_there_in_part_takes_a_part_of_it() {
    let half = |stream| vec![map(stream, range(0, BYTES / 2))];
    let own = |stream| vec![map(stream, range(0, BYTES)); 2];
    let [first, second] = longer(|stream| [half(stream), own(stream)].concat())[..] else {
        panic!("two launches")
    };
    assert_eq!([first, second], [longer_ns(BYTES) / 2, 0]);
}

#[test]
fn kernels_of_a_graph_find_what_those_before_them_have_used() {
    let mut script = Script::new();
    script.with_items();
    let stream = script.stream(NonBlocking);
    let node = |after| GraphNode { call: map(stream, range(0, BYTES)), after, site: None };
    let graph = GraphId(0);
    script.call(Call::GraphCreate { graph, nodes: vec![node(vec![]), node(vec![0])] });
    script.call(Call::GraphInstantiate { graph, updates: None });
    let launch = Call::GraphLaunch { graph, copy: 0, stream, accesses: Vec::new() };
    let step = script.call(launch);
    script.synchronize();
    let timeline = script.run();
    let took: Vec<u64> = (timeline.spans.iter().filter(|span| span.step == step))
        .map(|span| span.interval().ns())
        .collect();
    // The second one takes less for another reason too.
    let saved = h200().gaps.graph_saved_ns.value;
    assert_eq!(took[0] - took[1], longer_ns(BYTES) + saved);
}
