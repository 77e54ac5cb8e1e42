//! Copy engines and multiprocessors, as an H200 was seen to work.

use simulator::Profile;
use simulator::profile::Pace;
use trace::program::StreamKind::NonBlocking;
use trace::program::{StreamId, WorkQueues};

use crate::program::*;

/// 256 MiB up, mapped for 6 ms in all, and down again, in 16 chunks over some streams.
fn pipeline(streams: usize, breadth_first: bool, connections: Option<u32>) -> f64 {
    let mut script = connections.map_or_else(Script::new, Script::with_connections);
    let streams: Vec<_> = (0..streams).map(|_| script.stream(NonBlocking)).collect();
    script.call(trace::program::Call::RegionBegin);
    let stream = |chunk: usize| streams[chunk % streams.len()];
    let up =
        |script: &mut Script, chunk| script.copy(stream(chunk), Way::Up(Host::Pinned), 16 * MIB);
    let map = |script: &mut Script, chunk| script.kernel(stream(chunk), 1056, 380);
    let down =
        |script: &mut Script, chunk| script.copy(stream(chunk), Way::Down(Host::Pinned), 16 * MIB);
    if breadth_first {
        (0..16).for_each(|chunk| _ = up(&mut script, chunk));
        (0..16).for_each(|chunk| _ = map(&mut script, chunk));
        (0..16).for_each(|chunk| _ = down(&mut script, chunk));
    } else {
        for chunk in 0..16 {
            up(&mut script, chunk);
            map(&mut script, chunk);
            down(&mut script, chunk);
        }
    }
    script.synchronize();
    script.call(trace::program::Call::RegionEnd);
    script.run().region.expect("the region ended").ns() as f64 / 1e6
}

#[test]
fn a_kernel_that_uses_no_memory_takes_no_longer_beside_one_that_wants_twice_the_bandwidth() {
    let lasts = |items: Option<u64>| {
        let mut script = Script::new();
        script.with_items();
        let streams = [(); 2].map(|()| script.stream(NonBlocking));
        let kernel = script.kernel(streams[0], 1, 1_000);
        let beside = items.map(|items| script.over_items(streams[1], 264, items, 1));
        let timeline = script.run();
        let times = |step| (span(&timeline, step).start_ns, span(&timeline, step).end_ns);
        if let Some((start, end)) = beside.map(times) {
            assert!(start < times(kernel).1 && end - start > 100_000, "it is beside the kernel");
        }
        times(kernel).1 - times(kernel).0
    };
    assert_eq!(lasts(Some(64 << 20)), lasts(None));
}

#[test]
fn six_pipelines_take_what_they_took_on_an_h200() {
    // Measured: driver 580.159, 2026-11-21, kernels of 6.12 ms in all.
    let measured = [
        (1, false, 16.06),
        (2, false, 8.58),
        (3, false, 6.54),
        (4, false, 6.54),
        (4, true, 8.63),
        (8, false, 6.55),
    ];
    for (streams, breadth_first, ms) in measured {
        let simulated = pipeline(streams, breadth_first, None);
        let off = (simulated - ms).abs() / ms;
        assert!(
            off < 0.08,
            "{streams} streams, breadth first {breadth_first}: {simulated} ms, not {ms} ms"
        );
    }
}

#[test]
fn work_queues_hold_back_what_is_behind_the_wrong_order() {
    // Measured as above, with `CUDA_DEVICE_MAX_CONNECTIONS`.
    let measured = [
        (1, false, 6.57),
        (1, true, 13.95),
        (8, false, 6.54),
        (8, true, 8.63),
        (32, false, 6.54),
        (32, true, 8.63),
    ];
    for (connections, breadth_first, ms) in measured {
        let simulated = pipeline(4, breadth_first, Some(connections));
        let off = (simulated - ms).abs() / ms;
        assert!(
            off < 0.08,
            "{connections} connections, breadth first {breadth_first}: {simulated} ms, not {ms} ms"
        );
    }
}

#[test]
fn a_kernel_that_waits_holds_back_another_streams_kernel_in_the_same_queue() {
    let held = |connections| {
        let mut script = Script::with_connections(connections);
        let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
        let copy = script.copy(first, Way::Up(Host::Pinned), 64 * MIB);
        script.kernel(first, 1, 10);
        let free = script.kernel(second, 1, 10);
        script.synchronize();
        let timeline = script.run();
        span(&timeline, free).start_ns >= span(&timeline, copy).end_ns
    };
    assert!(held(1));
    assert!(!held(2));
}

/// 32 chunks of 8 MiB, step by step: all uploads, all maps of 27 µs, all downloads.
fn step_by_step(streams: usize, queues: WorkQueues) -> f64 {
    const CHUNKS: usize = 32;
    let mut script = Script::with_queues(queues);
    let streams: Vec<_> = (0..streams).map(|_| script.stream(NonBlocking)).collect();
    let stream = |chunk: usize| streams[chunk % streams.len()];
    script.call(trace::program::Call::RegionBegin);
    (0..CHUNKS).for_each(|i| _ = script.copy(stream(i), Way::Up(Host::Pinned), 8 * MIB));
    (0..CHUNKS).for_each(|i| _ = script.kernel(stream(i), 1056, 27));
    (0..CHUNKS).for_each(|i| _ = script.copy(stream(i), Way::Down(Host::Pinned), 8 * MIB));
    script.synchronize();
    script.call(trace::program::Call::RegionEnd);
    script.run().region.expect("the region ended").ns() as f64 / 1e6
}

#[test]
fn step_by_step_takes_what_it_took_on_an_h200_on_any_number_of_streams() {
    // Measured: driver 580.159.04, 2026-11-23, medians of five runs; some are `queues.breadth_first.*` in
    // `book/measured/h200.json`.
    let one = WorkQueues { kernels: 1, copies: 1 };
    let eight = WorkQueues { kernels: 8, copies: 8 };
    let default = WorkQueues::DEFAULT;
    let measured = [
        (default, 3, 7.37),
        (default, 4, 6.88),
        (default, 5, 9.82),
        (default, 6, 9.61),
        (default, 7, 9.46),
        (default, 8, 6.68),
        (default, 9, 10.05),
        (default, 10, 9.67),
        (default, 12, 6.80),
        (default, 16, 6.60),
        (default, 32, 5.66),
        (eight, 4, 6.90),
        (eight, 5, 6.72),
        (eight, 6, 6.53),
        (eight, 7, 6.37),
        (eight, 8, 6.18),
        (eight, 9, 9.60),
        (eight, 10, 9.75),
        (eight, 12, 8.76),
        (eight, 16, 6.08),
        (eight, 32, 5.67),
        (one, 2, 10.31),
        (one, 4, 10.25),
        (one, 8, 10.13),
        (one, 16, 9.87),
        (one, 32, 5.58),
    ];
    let table: Vec<_> = measured
        .iter()
        .map(|&(queues, streams, ms)| {
            let simulated = step_by_step(streams, queues);
            let off = (simulated - ms) / ms;
            let line =
                format!("{queues:?}, {streams} streams: {simulated:.2} ms, not {ms}: {off:+.3}");
            (off.abs(), line)
        })
        .collect();
    let lines: Vec<_> = table.iter().map(|(_, line)| line.as_str()).collect();
    assert!(table.iter().all(|(off, _)| *off < 0.10), "{}", lines.join("\n"));
    let beyond = table.iter().filter(|(off, _)| *off >= 0.05).count();
    assert!(beyond <= 1, "{}", lines.join("\n"));
}

/// Whether what one more stream is asked for comes after the event that `busy` others wait for.
fn is_delayed_after(
    queues: WorkQueues,
    busy: usize,
    asked: fn(&mut Script, StreamId) -> u32,
    free: fn(&mut Script, StreamId) -> u32,
) -> bool {
    let mut script = Script::with_queues(queues);
    let source = script.stream(NonBlocking);
    let streams: Vec<_> = (0..=busy).map(|_| script.stream(NonBlocking)).collect();
    let far = script.event();
    let long = script.kernel(source, 1, 20_000);
    script.record(far, source);
    for &stream in &streams[..busy] {
        script.wait(stream, far);
        asked(&mut script, stream);
    }
    let free = free(&mut script, streams[busy]);
    script.synchronize();
    let timeline = script.run();
    span(&timeline, free).start_ns >= span(&timeline, long).end_ns
}

/// Whether an operation of a free stream waits for `busy` streams that each hold one for an event far away.
fn is_delayed(queues: WorkQueues, busy: usize, ask: fn(&mut Script, StreamId) -> u32) -> bool {
    is_delayed_after(queues, busy, ask, ask)
}

#[test]
fn a_free_stream_waits_from_as_many_busy_ones_on_as_there_are_queues() {
    // Measured: `queues.delay` in `book/measured/h200.json`.
    let kernel: fn(&mut Script, StreamId) -> u32 = |script, stream| script.kernel(stream, 1, 10);
    let tiny: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Up(Host::Pinned), 1 << 10);
    let up: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Up(Host::Pinned), 64 << 10);
    let down: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Down(Host::Pinned), 64 << 10);
    for (connections, copies, kernels_from, copies_from) in [
        (None, None, 8, 4),
        (Some("8"), None, 8, 8),
        (Some("1"), None, 1, 1),
        (Some("32"), None, 32, 32),
        (None, Some("8"), 8, 8),
        (None, Some("2"), 8, 2),
        (Some("1"), Some("32"), 1, 32),
        (Some("100"), Some("many"), 32, 32),
    ] {
        let queues = WorkQueues::asked(connections, copies);
        for (ask, from) in
            [(kernel, kernels_from), (tiny, kernels_from), (up, copies_from), (down, copies_from)]
        {
            for busy in [from - 1, from] {
                let is = is_delayed(queues, busy, ask);
                assert_eq!(is, busy >= from, "{connections:?} {copies:?}: {busy} busy streams");
            }
        }
    }
}

#[test]
fn a_small_upload_goes_with_the_copies_if_it_waits_and_with_the_kernels_if_it_does_not() {
    // Measured: H200, driver 580.159.04, 2026-11-23, uploads of 4 to 24 KiB.
    let small: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Up(Host::Pinned), 4 << 10);
    let large: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Up(Host::Pinned), 32 << 10);
    let kernel: fn(&mut Script, StreamId) -> u32 = |script, stream| script.kernel(stream, 1, 10);
    let delayed = |busy, asked, free| is_delayed_after(WorkQueues::DEFAULT, busy, asked, free);
    let largest: fn(&mut Script, StreamId) -> u32 =
        |script, stream| script.copy(stream, Way::Up(Host::Pinned), 24 << 10);
    assert!(!delayed(32, small, small));
    assert!(delayed(8, kernel, small) && delayed(8, kernel, largest));
    assert!(!delayed(8, kernel, large));
    assert!(!delayed(32, small, kernel));
    assert!(delayed(4, small, large));
    assert!(!delayed(32, large, small));
}

/// What 40 kernels of 20 µs in a row take, each on the next of some streams, in µs each.
fn round_robin(streams: usize) -> f64 {
    let mut script = Script::new();
    let streams: Vec<_> = (0..streams).map(|_| script.stream(NonBlocking)).collect();
    let gate = script.stream(NonBlocking);
    let opened = script.event();
    script.kernel(gate, 1, 2000);
    script.record(opened, gate);
    streams.iter().for_each(|&stream| _ = script.wait(stream, opened));
    let mut kernels = Vec::new();
    let mut before = None;
    for index in 0..40 {
        let stream = streams[index % streams.len()];
        if let Some(before) = before {
            script.wait(stream, before);
        }
        kernels.push(script.kernel(stream, 1, 20));
        let event = script.event();
        script.record(event, stream);
        before = Some(event);
    }
    script.synchronize();
    let timeline = script.run();
    let (first, last) = (span(&timeline, kernels[0]), span(&timeline, kernels[39]));
    (last.end_ns - first.start_ns) as f64 / 40_000.0
}

#[test]
fn from_three_queues_on_it_takes_time_to_hand_over_from_one_to_another() {
    // Measured: `figures/waits.txt`, the mean of two visits.
    let one = round_robin(1);
    for (streams, measured) in [(2, 0.10), (3, 0.86), (4, 1.38), (6, 1.79), (8, 2.04)] {
        let more = round_robin(streams) - one;
        assert!(
            (more - measured).abs() < 0.36,
            "{streams} streams: {more} µs more, not {measured}"
        );
    }
}

/// What 40 uploads in a row take, each on the next of some streams and after the one before it, in
/// µs each.
fn uploads_in_turn(streams: usize) -> f64 {
    let mut script = Script::new();
    let streams: Vec<_> = (0..streams).map(|_| script.stream(NonBlocking)).collect();
    let mut uploads = Vec::new();
    let mut before = None;
    for index in 0..40 {
        let stream = streams[index % streams.len()];
        if let Some(before) = before {
            script.wait(stream, before);
        }
        uploads.push(script.copy(stream, Way::Up(Host::Pinned), 256 << 10));
        let event = script.event();
        script.record(event, stream);
        before = Some(event);
    }
    script.synchronize();
    let timeline = script.run();
    let (first, last) = (span(&timeline, uploads[0]), span(&timeline, uploads[39]));
    (last.end_ns - first.start_ns) as f64 / 40_000.0
}

#[test]
fn a_copy_that_waits_for_one_of_another_stream_takes_longer() {
    // Measured: `figures/waits.txt`: 2.0 to 3.3 µs each on 2 to 8 streams.
    let one = uploads_in_turn(1);
    for streams in 2..=8 {
        let more = uploads_in_turn(streams) - one;
        assert!((2.0..3.3).contains(&more), "{streams} streams: {more} µs more");
    }
}

#[test]
fn kernels_that_wait_for_one_event_start_in_the_order_in_which_they_were_issued() {
    // Measured: `figures/order.txt`: after an upload, 31 to 38 of 40 times on two streams and on three.
    for last_first in [false, true] {
        for waits in [1, 3] {
            let mut script = Script::new();
            let river = script.stream(NonBlocking);
            let mut streams = [(); 3].map(|()| script.stream(NonBlocking));
            if last_first {
                streams.reverse();
            }
            script.copy(river, Way::Up(Host::Pinned), 4 * MIB);
            let arrived = [(); 3].map(|()| {
                let event = script.event();
                script.record(event, river);
                event
            });
            // The first one waits for more.
            let kernels = [waits, 1, 1].into_iter().zip(streams).map(|(waits, stream)| {
                arrived[..waits].iter().for_each(|&event| _ = script.wait(stream, event));
                script.kernel(stream, 1056, 100)
            });
            let kernels = Vec::from_iter(kernels);
            script.synchronize();
            let timeline = script.run();
            let starts: Vec<_> = kernels.iter().map(|&it| span(&timeline, it).start_ns).collect();
            assert!(starts.is_sorted() && starts[0] < starts[1], "{starts:?}");
        }
    }
}

#[test]
fn idle_streams_cost_nothing() {
    // Measured: `queues.delay.33_streams`; the pairs are all of 33 streams that have done work before.
    let delayed = |queues, first: usize, second: usize| {
        let mut script = Script::with_queues(queues);
        let streams: Vec<_> = (0..33).map(|_| script.stream(NonBlocking)).collect();
        for &stream in &streams {
            script.kernel(stream, 1, 10);
        }
        script.synchronize();
        let copy = script.copy(streams[first], Way::Up(Host::Pinned), 64 * MIB);
        script.kernel(streams[first], 1, 10);
        let free = script.kernel(streams[second], 1, 10);
        script.synchronize();
        let timeline = script.run();
        span(&timeline, free).start_ns >= span(&timeline, copy).end_ns
    };
    let one = WorkQueues { kernels: 1, copies: 1 };
    for (first, second) in (0..33).flat_map(|i| (0..33).map(move |j| (i, j))) {
        if first != second && (first * 33 + second) % 7 == 0 {
            assert!(!delayed(WorkQueues::DEFAULT, first, second), "{first} and {second}");
            assert!(delayed(one, first, second), "{first} and {second}, one queue");
        }
    }
}

#[test]
fn destroyed_streams_give_their_queues_back() {
    let mut script = Script::new();
    for _ in 0..20 {
        let stream = script.stream(NonBlocking);
        script.kernel(stream, 1, 10);
        script.call(trace::program::Call::StreamDestroy { stream });
    }
    script.synchronize();
    let busy: Vec<_> = (0..7).map(|_| script.stream(NonBlocking)).collect();
    let copies: Vec<_> = busy
        .iter()
        .map(|&stream| {
            let copy = script.copy(stream, Way::Up(Host::Pinned), 64 * MIB);
            script.kernel(stream, 1, 10);
            copy
        })
        .collect();
    let last = script.stream(NonBlocking);
    let free = script.kernel(last, 1, 10);
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, free).end_ns < span(&timeline, copies[0]).end_ns);
}

#[test]
fn with_one_queue_kernels_start_in_the_order_in_which_they_were_issued() {
    // Measured: traced on an H200 with one connection, driver 580.159.04, 2026-11-23.
    let mut script = Script::with_connections(1);
    let streams: Vec<_> = (0..4).map(|_| script.stream(NonBlocking)).collect();
    (0..32).for_each(|i| _ = script.copy(streams[i % 4], Way::Up(Host::Pinned), 8 * MIB));
    let kernels: Vec<_> = (0..32).map(|i| script.kernel(streams[i % 4], 1056, 27)).collect();
    script.synchronize();
    let spans = script.run().spans;
    let started: Vec<_> =
        spans.iter().map(|span| span.step).filter(|step| kernels.contains(step)).collect();
    assert_eq!(started, kernels);
}

#[test]
fn kernels_of_two_streams_in_one_queue_run_side_by_side() {
    let mut script = Script::with_connections(1);
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let a = script.kernel(first, 1, 1000);
    let b = script.kernel(second, 1, 1000);
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, b).start_ns < span(&timeline, a).end_ns);
}

#[test]
fn copies_in_one_queue_keep_the_order_in_which_they_were_asked_for() {
    let mut script = Script::with_connections(1);
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let steps: Vec<u32> = (0..6)
        .map(|i| {
            script.copy(if i % 2 == 0 { first } else { second }, Way::Up(Host::Pinned), 16 * MIB)
        })
        .collect();
    script.synchronize();
    let order: Vec<u32> = script.run().spans.iter().map(|span| span.step).collect();
    assert_eq!(order, steps);
}

#[test]
fn an_engine_stays_with_a_stream_whose_next_copy_is_ready() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let steps: Vec<u32> = (0..6)
        .map(|i| {
            script.copy(if i % 2 == 0 { first } else { second }, Way::Up(Host::Pinned), 16 * MIB)
        })
        .collect();
    script.synchronize();
    let timeline = script.run();
    let order: Vec<u32> = timeline.spans.iter().map(|span| span.step).collect();
    assert_eq!(order, [steps[0], steps[2], steps[4], steps[1], steps[3], steps[5]]);
}

#[test]
fn copies_in_one_direction_take_turns_and_in_both_directions_run_together() {
    let mut script = Script::new();
    let (first, second, third) =
        (script.stream(NonBlocking), script.stream(NonBlocking), script.stream(NonBlocking));
    let up = script.copy(first, Way::Up(Host::Pinned), 64 * MIB);
    let also_up = script.copy(second, Way::Up(Host::Pinned), 64 * MIB);
    let down = script.copy(third, Way::Down(Host::Pinned), 64 * MIB);
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, also_up).start_ns >= span(&timeline, up).end_ns);
    assert!(span(&timeline, down).start_ns < span(&timeline, up).end_ns);
    // Measured: this direction gets 90 % to 94 % of its bandwidth while the other is at work.
    let alone = 64 * MIB * 1000 / h200().copies.host_to_device.pinned_bytes_per_us.value;
    let slowed = span(&timeline, up).interval().ns() as f64 / alone as f64;
    assert!((1.06..1.12).contains(&slowed), "{slowed}");
}

#[test]
fn a_copy_beside_others_takes_its_fixed_time_longer_once_however_many_they_are() {
    let copies = &h200().copies;
    for (link, own, against) in [
        (&copies.host_to_device, Way::Up(Host::Pinned), Way::Down(Host::Pinned)),
        (&copies.device_to_host, Way::Down(Host::Pinned), Way::Up(Host::Pinned)),
    ] {
        // One that lasts longer, or two of which the second starts while this one is at work.
        let ns = |others: &[u64]| {
            let mut script = Script::new();
            let streams = [0; 2].map(|_| script.stream(NonBlocking));
            for &bytes in others {
                script.copy(streams[1], against, bytes);
            }
            let step = script.copy(streams[0], own, 2 * MIB);
            script.synchronize();
            span(&script.run(), step).interval().ns()
        };
        let alone = ns(&[]);
        let slower = alone * 1000 / link.duplex_permille.value;
        assert_eq!(ns(&[64 * MIB]), slower + link.duplex_fixed_ns.value + 1);
        // The gap between the two is at full speed.
        let (two, gap) = (ns(&[MIB, 64 * MIB]), h200().gaps.copy_ns.value);
        assert!((0..=gap).contains(&(slower + link.duplex_fixed_ns.value + 1 - two)), "{two}");
    }
}

#[test]
fn the_next_kernel_of_a_stream_is_later_the_more_other_queues_have_one_that_waits() {
    // Where others wait with a kernel, and with a copy.
    let gap = |others: usize, is_kernel: bool| {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        let event = script.event();
        let [first, second] = [100, 20].map(|us| script.kernel(stream, 8, us));
        script.record(event, stream);
        for _ in 0..others {
            let other = script.stream(NonBlocking);
            script.wait(other, event);
            match is_kernel {
                true => script.kernel(other, 8, 20),
                false => script.copy(other, Way::Up(Host::Pinned), MIB),
            };
        }
        script.synchronize();
        let timeline = script.run();
        span(&timeline, second).start_ns - span(&timeline, first).end_ns
    };
    let alone = gap(0, true);
    let later: Vec<u64> = (1..8).map(|others| gap(others, true) - alone).collect();
    assert_eq!(later, [0, 1000, 1200, 1400, 1600, 1950, 2150]);
    assert_eq!(gap(7, false), alone);
}

#[test]
fn at_most_128_grids_are_resident() {
    for (kernels, ms) in [(1, 10), (64, 10), (128, 10), (129, 20), (160, 20)] {
        let mut script = Script::new();
        for _ in 0..kernels {
            let stream = script.stream(NonBlocking);
            script.kernel(stream, 1, 10_000);
        }
        script.synchronize();
        let timeline = script.run();
        let starts = timeline.spans.iter().map(|span| span.start_ns).min().unwrap();
        let ends = timeline.spans.iter().map(|span| span.end_ns).max().unwrap();
        assert_eq!((ends - starts) / 1_000_000, ms, "{kernels} kernels");
    }
}

#[test]
fn two_kernels_that_fill_the_device_take_as_long_side_by_side_as_in_turn() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let a = script.kernel(first, 1056, 1000);
    let b = script.kernel(second, 1056, 1000);
    script.synchronize();
    let timeline = script.run();
    let both = span(&timeline, b).end_ns - span(&timeline, a).start_ns;
    assert!((1_990_000..2_030_000).contains(&both), "{both}");
}

#[test]
fn two_small_kernels_run_side_by_side() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    let a = script.kernel(first, 60, 1000);
    let b = script.kernel(second, 60, 1000);
    script.synchronize();
    let timeline = script.run();
    assert!(span(&timeline, b).start_ns < span(&timeline, a).start_ns + 10_000);
    assert!(span(&timeline, b).end_ns < span(&timeline, a).end_ns + 10_000);
}

#[test]
fn a_memset_waits_for_room_on_the_multiprocessors() {
    // Measured: a memset of 64 KiB beside so many blocks of 256 threads on each multiprocessor took 33 µs where
    // there was room for 512 threads more, and waited for blocks to end where there was less.
    for (blocks, waits) in [(1, false), (6, false), (7, true), (8, true)] {
        let mut script = Script::new();
        let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
        let kernel = script.kernel(first, 132 * blocks, 1000);
        let memset = script.memset(second, 64 << 10);
        script.synchronize();
        let timeline = script.run();
        let (kernel, memset) = (span(&timeline, kernel), span(&timeline, memset));
        assert_eq!(memset.start_ns > kernel.start_ns + 500_000, waits, "{blocks} blocks");
    }
}

#[test]
fn blocks_beyond_one_for_each_multiprocessor_double_up_on_some() {
    // Measured: 132 blocks 0.561 ms, 133 blocks 1.099 ms.
    let ns = |blocks| {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        let step = script.kernel(stream, blocks, 1000);
        script.synchronize();
        span(&script.run(), step).interval().ns() as f64
    };
    let ratio = ns(133) / ns(132);
    assert!((1.85..2.05).contains(&ratio), "{ratio}");
}

#[test]
fn host_functions_of_two_streams_take_turns_and_each_its_time() {
    let mut script = Script::new();
    let functions = [0; 2].map(|_| {
        let stream = script.stream(NonBlocking);
        script.call(trace::program::Call::HostFunction { stream, accesses: Vec::new() })
    });
    script.synchronize();
    let timeline = script.run();
    let [first, second] = functions.map(|step| span(&timeline, step).interval());
    let run = h200().host.host_function_run_ns.value;
    assert_eq!([first.ns(), second.ns()], [run, run]);
    assert!(second.start_ns >= first.end_ns, "{first:?} {second:?}");
}

#[test]
fn a_grid_of_four_thousand_million_blocks_takes_as_long_as_one_of_a_hundred_thousand() {
    let ns = |blocks| {
        let mut profile = h200();
        profile.rates.get_mut("map").expect("the map has a rate").block_ns.value = 0;
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        let step = script.kernel(stream, blocks, 10_000_000);
        script.synchronize();
        span(&script.run_on(&profile), step).interval().ns() as f64
    };
    // The work is the same.
    let ratio = ns(4_000_000_000) / ns(105_600);
    assert!((0.99..1.01).contains(&ratio), "{ratio}");
}

#[test]
fn what_a_block_takes_beside_its_work_holds_its_multiprocessor() {
    const BESIDE: u64 = 10_000;
    let ns = |blocks, beside| {
        let mut profile = h200();
        profile.rates.get_mut("map").expect("the map has a rate").block_ns.value = beside;
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        let step = script.kernel(stream, blocks, 1000);
        script.synchronize();
        span(&script.run_on(&profile), step).interval().ns()
    };
    // One block on each multiprocessor, and eight that share it.
    for (blocks, times) in [(1, 1), (132, 1), (1056, 8)] {
        let more = ns(blocks, BESIDE) - ns(blocks, 0);
        assert!(more.abs_diff(times * BESIDE) <= 10, "{blocks} blocks: {more} ns more");
    }
}

/// The time of a kernel of `blocks` blocks of 256 threads over so many items, of `rounds` units each.
fn over_items(profile: &Profile, blocks: u32, items: u64, rounds: u64) -> u64 {
    let mut script = Script::new();
    script.with_items();
    let stream = script.stream(NonBlocking);
    let step = script.over_items(stream, blocks, items, rounds);
    script.synchronize();
    span(&script.run_on(profile), step).interval().ns()
}

#[test]
fn a_kernel_takes_as_long_as_the_multiprocessor_that_gets_most_of_the_longer_blocks() {
    // Measured on an H200 of driver 580.159.04, 2026-11-22: with this many of 1056 blocks having a fifth item, the
    // kernel takes 1.9, 2.9, 4.9, 5.8, 6.8 and 8.1 items of a block longer, and no longer after that.
    let mut profile = h200();
    profile.chip.turn_blocks.value = 95;
    let rate = profile.rates.get_mut("map").expect("the map has a rate");
    rate.wait_ns.value = 0;
    let item_ns = 256.0 * 1479.0 * 1000.0 / rate.units_per_us_multiprocessor.value as f64;
    let ns = |longer: u64| over_items(&profile, 1056, (4 * 1056 + longer) * 256, 1479) as f64;
    let more = |longer| ((ns(longer) - ns(0)) / item_ns * 10.0).round() / 10.0;
    assert_eq!(
        [0, 132, 264, 396, 528, 660, 792, 924, 1056].map(more),
        [0.0, 2.0, 3.0, 5.0, 6.0, 7.0, 8.0, 8.0, 8.0]
    );
}

#[test]
fn a_thread_waits_for_memory_each_time_that_it_takes_up_items() {
    let with = |wait_ns| {
        let mut profile = h200();
        profile.rates.get_mut("map").expect("the map has a rate").wait_ns.value = wait_ns;
        profile
    };
    // Four together, then one by one; who has most waits says how long it takes.
    for (each, waits) in [(4, 1), (8, 2), (7, 4), (128, 32), (1, 1)] {
        let ns = |wait_ns| over_items(&with(wait_ns), 132, 132 * 256 * each, 500);
        assert_eq!(ns(1000) - ns(0), waits * 1000, "{each} items");
    }
    let ns = |wait_ns| over_items(&with(wait_ns), 132, 132 * 256 * 4 + 1, 500);
    assert_eq!(ns(1000) - ns(0), 2000);
    // Where memory is the limit, waiting for it is what its bandwidth takes.
    let ns = |wait_ns| over_items(&with(wait_ns), 1056, 1056 * 256 * 100, 1);
    assert_eq!(ns(1000), ns(0));
}

#[test]
fn eight_warps_leave_a_multiprocessor_idle_now_and_then_and_sixteen_hardly() {
    let pace = Pace::from(h200().rate("map").expect("it is there"));
    let share = |warps| pace.units_per_us(warps) as f64 / pace.units_per_us_multiprocessor as f64;
    let (one, four) = (share(1), share(4));
    assert!((0.21..0.23).contains(&one), "{one}");
    assert!((four - 4.0 * one).abs() < 1e-4, "{four}");
    // Measured: 0.970 to 0.984 with 8 warps, 0.988 with 16, 1 with 64.
    assert!((0.97..0.99).contains(&share(8)), "{}", share(8));
    assert!((0.999..=1.0).contains(&share(16)), "{}", share(16));
    assert_eq!(pace.units_per_us(64), pace.units_per_us_multiprocessor);
}
