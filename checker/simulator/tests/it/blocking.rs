//! What holds the host, and what holds a stream: rows measured on an H200.

use trace::program::StreamKind::{Blocking, NonBlocking};
use trace::program::{BlockId, Call, EventId, StreamId, StreamKind};

use crate::program::*;

/// 10 ms, in ns: how long the kernels around the call in question take.
const KERNEL_NS: u64 = 10_000_000;

/// What one call between a kernel on one stream and a kernel on another does.
#[derive(Debug, PartialEq)]
struct Between {
    /// The host was held until the first kernel ended.
    blocked: bool,
    /// The second kernel did not start before the first ended.
    serial: bool,
}

fn between(kind: StreamKind, call: impl FnOnce(&mut Script, StreamId, StreamId) -> u32) -> Between {
    let mut script = Script::new();
    let (first, second, third) = (script.stream(kind), script.stream(kind), script.stream(kind));
    script.synchronize();
    let a = script.kernel(first, 1, KERNEL_NS / 1000);
    call(&mut script, first, third);
    let b = script.kernel(second, 1, KERNEL_NS / 1000);
    script.synchronize();
    let timeline = script.run();
    let (a, b) = (span(&timeline, a), span(&timeline, b));
    let launched = timeline.host.iter().find(|call| call.step == b.step).unwrap().start_ns;
    Between { blocked: launched >= a.end_ns, serial: b.start_ns >= a.end_ns }
}

const FREE: Between = Between { blocked: false, serial: false };
const BARRIER: Between = Between { blocked: false, serial: true };
const WAITS: Between = Between { blocked: true, serial: true };

#[test]
fn work_on_a_third_stream_and_plain_allocation_hold_nothing() {
    for kind in [Blocking, NonBlocking] {
        assert_eq!(between(kind, |_, _, _| 0), FREE);
        assert_eq!(between(kind, |s, _, third| s.kernel(third, 1, 100)), FREE);
        assert_eq!(
            between(kind, |s, _, third| s.copy(third, Way::Up(Host::Pinned), 64 * MIB)),
            FREE
        );
        assert_eq!(
            between(kind, |s, _, _| s.call(Call::Alloc { block: BlockId(90), bytes: MIB })),
            FREE
        );
        assert_eq!(
            between(kind, |s, _, third| s
                .call(Call::HostFunction { stream: third, accesses: vec![] })),
            FREE
        );
    }
}

#[test]
fn frees_and_module_loads_wait_for_the_whole_device() {
    for kind in [Blocking, NonBlocking] {
        assert_eq!(between(kind, |s, _, _| s.call(Call::Free { block: BlockId(90) })), WAITS);
        assert_eq!(between(kind, |s, _, _| s.call(Call::FreeHost { block: BlockId(90) })), WAITS);
        assert_eq!(between(kind, |s, _, _| s.call(Call::ModuleLoad)), WAITS);
        assert_eq!(between(kind, |s, _, _| s.synchronize()), WAITS);
    }
}

#[test]
fn the_default_stream_is_a_barrier_for_blocking_streams_only() {
    let kernel = |s: &mut Script, _, _| s.kernel(StreamId::LEGACY, 1, 10);
    assert_eq!(between(Blocking, kernel), BARRIER);
    assert_eq!(between(NonBlocking, kernel), FREE);
}

#[test]
fn the_default_stream_waits_for_the_per_thread_stream_as_for_other_blocking_ones() {
    let mut script = Script::new();
    let first = script.kernel(StreamId::PER_THREAD, 1, 1_000);
    let second = script.kernel(StreamId::LEGACY, 1, 10);
    let timeline = script.run();
    assert!(span(&timeline, second).start_ns >= span(&timeline, first).end_ns);
}

#[test]
fn a_wait_for_the_default_stream_lasts_until_the_last_blocking_stream_is_done() {
    for [first, second] in [[1_000, 10_000], [10_000, 1_000]] {
        let mut script = Script::new();
        let streams = [script.stream(Blocking), script.stream(Blocking)];
        let kernels = [first, second].map(|us| (us, streams[usize::from(us == second)]));
        let steps = kernels.map(|(us, stream)| script.kernel(stream, 1, us));
        let wait = script.call(Call::StreamSynchronize { stream: StreamId::LEGACY });
        let timeline = script.run();
        let last = steps.map(|step| span(&timeline, step).end_ns).into_iter().max();
        let returned = timeline.host.iter().find(|call| call.step == wait).map(|it| it.end_ns);
        assert!(returned >= last, "{returned:?} and {last:?}");
    }
}

#[test]
fn an_allocation_that_finds_room_in_mapped_memory_takes_less_than_one_that_maps_some() {
    let mut script = Script::new();
    let steps = [(); 2].map(|()| {
        let block = script.block();
        script.call(Call::Alloc { block, bytes: 4096 })
    });
    let timeline = script.run();
    let host = h200().host;
    assert_eq!(
        steps.map(|step| host_ns(&timeline, step)),
        [host.alloc_ns.value, host.alloc_shared_ns.value]
    );
}

#[test]
fn a_pageable_upload_is_staged_up_to_two_mib_and_waits_beyond() {
    let upload =
        |bytes| move |s: &mut Script, first, _| s.copy(first, Way::Up(Host::Pageable), bytes);
    assert_eq!(between(NonBlocking, upload(64 << 10)), FREE);
    assert_eq!(between(NonBlocking, upload(2 * MIB)), FREE);
    assert_eq!(between(NonBlocking, upload(2 * MIB + 1)), WAITS);
}

#[test]
fn a_pageable_download_waits_for_its_stream_however_small() {
    let download = |s: &mut Script, first, _| s.copy(first, Way::Down(Host::Pageable), 4096);
    assert_eq!(between(NonBlocking, download), WAITS);
    let elsewhere = |s: &mut Script, _, third| s.copy(third, Way::Down(Host::Pageable), 4096);
    assert_eq!(between(NonBlocking, elsewhere), FREE);
}

#[test]
fn pinned_copies_return_at_once_and_pageable_ones_when_they_are_done() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    let pinned = script.copy(stream, Way::Up(Host::Pinned), 64 * MIB);
    script.synchronize();
    let pageable = script.copy(stream, Way::Up(Host::Pageable), 64 * MIB);
    script.synchronize();
    let timeline = script.run();
    assert!(host_ns(&timeline, pinned) < 3_000);
    assert!(host_ns(&timeline, pageable) > 3_000_000);
}

#[test]
fn a_wait_for_an_event_that_was_never_recorded_is_none() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let event = script.event();
    let a = script.kernel(first, 1, 1000);
    script.wait(second, event);
    let b = script.kernel(second, 1, 100);
    script.record(event, first);
    script.wait(second, event);
    let c = script.kernel(second, 1, 1000);
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, b).start_ns < span(&timeline, a).end_ns);
    assert!(span(&timeline, c).start_ns >= span(&timeline, a).end_ns);
}

#[test]
fn a_stream_holds_1021_launches_and_blocks_the_next_until_one_starts() {
    let mut script = Script::new();
    let (busy, other) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let long = script.kernel(busy, 1, 10_000);
    // The device sees the first a little after the call: until then it has not started either.
    script.call(Call::HostWork { ns: 100_000, target: None });
    let queued: Vec<u32> = (0..1021).map(|_| script.kernel(busy, 1, 1)).collect();
    let elsewhere = script.kernel(other, 1, 1);
    let blocked = script.kernel(busy, 1, 1);
    let next = script.kernel(busy, 1, 1);
    script.synchronize();
    let timeline = script.run();
    for step in queued.iter().chain([&elsewhere]) {
        assert!(host_ns(&timeline, *step) < 5_000, "launch {step} blocked");
    }
    let call = |step| timeline.host.iter().find(|call| call.step == step).unwrap();
    let first = span(&timeline, queued[0]).start_ns;
    assert!(first >= span(&timeline, long).end_ns);
    assert_eq!(call(blocked).end_ns, first + h200().host.launch_ns.value);
    assert_eq!(call(blocked).blocked_ns, first - call(blocked).start_ns);
    // Another one leaves while the host is still busy with the launch, or soon afterwards.
    assert!(host_ns(&timeline, next) < 20_000);
}

#[test]
fn copies_memsets_and_host_functions_fill_a_stream_and_markers_do_not() {
    let range = trace::program::Range { block: BlockId(90), offset: 0, bytes: 4096 };
    let mode = trace::program::Mode::Asynchronous;
    let blocks = |fill: &dyn Fn(&mut Script, StreamId, EventId)| {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        let event = script.event();
        script.kernel(stream, 1, 50_000);
        script.call(Call::HostWork { ns: 100_000, target: None });
        for _ in 0..1021 {
            fill(&mut script, stream, event);
        }
        let last = script.kernel(stream, 1, 1);
        script.synchronize();
        host_ns(&script.run(), last) > 1_000_000
    };
    assert!(blocks(&|s, stream, _| _ = s.copy(stream, Way::Up(Host::Pinned), 4096)));
    assert!(blocks(&|s, stream, _| _ = s.call(Call::Memset { stream, mode, target: range })));
    assert!(blocks(&|s, stream, _| _ = s.call(Call::HostFunction { stream, accesses: vec![] })));
    assert!(!blocks(&|s, stream, event| _ = s.record(event, stream)));
    assert!(!blocks(&|s, stream, event| {
        s.record(event, stream);
        s.wait(stream, event);
    }));
}

#[test]
fn a_free_unmaps_by_size_after_its_wait_and_only_with_the_last_block_of_a_piece() {
    let host = h200().host;
    let longer_than_a_wait = |ends: fn(&mut Script) -> u32| {
        let ended = |ends: fn(&mut Script) -> u32| {
            let mut script = Script::new();
            let stream = script.stream(NonBlocking);
            script.kernel(stream, 1, 1000);
            let step = ends(&mut script);
            let timeline = script.run();
            let kept = timeline.host.iter().find(|span| span.step == step).expect("it is there");
            kept.end_ns - timeline.spans[0].end_ns
        };
        ended(ends) - ended(Script::synchronize)
    };
    // Allocated beside the kernel, which takes far longer.
    let one = |script: &mut Script| {
        let block = script.block();
        script.call(Call::Alloc { block, bytes: 4096 });
        script.call(Call::Free { block })
    };
    let first_of_two = |script: &mut Script| {
        let [first, second] = [script.block(), script.block()];
        script.call(Call::Alloc { block: first, bytes: 4096 });
        script.call(Call::Alloc { block: second, bytes: 4096 });
        script.call(Call::Free { block: first })
    };
    let unmaps = host.free_ns.value + 2 * host.free_ns_per_mib.value;
    assert_eq!(longer_than_a_wait(one), unmaps - host.free_shared_ns.value);
    assert_eq!(longer_than_a_wait(first_of_two), 0);
    let large = |script: &mut Script| {
        let block = script.block();
        script.call(Call::Alloc { block, bytes: 64 << 20 });
        script.call(Call::Free { block })
    };
    assert_eq!(
        longer_than_a_wait(large),
        unmaps + 62 * host.free_ns_per_mib.value - host.free_shared_ns.value
    );
}

#[test]
fn pinned_memory_goes_back_once_the_device_that_it_was_allocated_for_is_idle_and_by_its_size() {
    let host = h200().host;
    // From the end of the kernel of a device to the end of the call that frees.
    let late = |device: u32, bytes: u64, frees: bool| {
        let mut script = Script::new();
        let block = script.block();
        let allocate = script.call(Call::AllocHost { block, bytes });
        let stream = StreamId::on(1, StreamId::FIRST_CREATED);
        script.call(Call::StreamCreate { stream, kind: NonBlocking, priority: 0 });
        let kernel = script.kernel(stream, 1, 20_000);
        let free = match frees {
            true => script.call(Call::FreeHost { block }),
            false => script.synchronize(),
        };
        for step in [allocate, free] {
            script.program.steps[step as usize].device = device;
        }
        let timeline = script.run();
        let call = timeline.host.iter().find(|call| call.step == free).expect("it is there");
        call.end_ns as i64 - span(&timeline, kernel).end_ns as i64
    };
    assert!(late(0, 64 * MIB, true) < 0, "the other device is busy");
    let unmapped = host.free_host_ns.value + 64 * host.free_host_ns_per_mib.value;
    let more = late(1, 64 * MIB, true) - late(1, 64 * MIB, false);
    assert_eq!(more as u64, unmapped - host.free_host_shared_ns.value);
}
