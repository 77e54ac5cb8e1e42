//! Host threads: each has its clock, and they take turns by virtual time.

use simulator::{Schedule, replay};
use trace::program::StreamKind::NonBlocking;
use trace::program::{Call, ChannelEnd, ChannelId, EventId, StreamId};
use trace::timeline::{HostSpan, Timeline};

use crate::program::*;

const CHANNEL: ChannelId = ChannelId(0);
/// 100 ms, in ns.
const WORK: u64 = 100_000_000;

fn end_of(timeline: &Timeline, step: u32) -> u64 {
    span_of(timeline, step).end_ns
}

fn span_of(timeline: &Timeline, step: u32) -> &HostSpan {
    timeline.host.iter().find(|call| call.step == step).expect("the call was made")
}

#[test]
fn a_loader_of_100_ms_beside_kernels_of_100_ms_takes_100_ms() {
    let load_and_compute = |threads: bool| {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        script.call(Call::RegionBegin);
        if threads {
            script.call(Call::ThreadSpawn { thread: 1 });
            script.on(1, |script| {
                script.call(Call::HostWork { ns: WORK, target: None });
                script.call(Call::ThreadEnd);
            });
        } else {
            script.call(Call::HostWork { ns: WORK, target: None });
        }
        script.kernel(stream, 1056, WORK / 1000);
        script.synchronize();
        if threads {
            script.call(Call::ThreadJoin { thread: 1 });
        }
        script.call(Call::RegionEnd);
        script.run().region.unwrap().ns() / 1_000_000
    };
    assert_eq!(load_and_compute(true), 100);
    assert_eq!(load_and_compute(false), 200);
}

#[test]
fn work_that_several_threads_declare_takes_turns_at_the_hosts_one_core() {
    let mut script = Script::new();
    script.call(Call::RegionBegin);
    for thread in [1, 2, 3] {
        script.call(Call::ThreadSpawn { thread });
    }
    let work = [1, 2, 3].map(|thread| {
        script.on(thread, |script| {
            let work = [(); 2].map(|()| script.call(Call::HostWork { ns: WORK, target: None }));
            script.call(Call::ThreadEnd);
            work
        })
    });
    // The first thread does something else meanwhile.
    let record = script.call(Call::EventRecord { event: EventId(0), stream: StreamId::LEGACY });
    for thread in [1, 2, 3] {
        script.call(Call::ThreadJoin { thread });
    }
    script.call(Call::RegionEnd);
    let timeline = script.run();
    let region = timeline.region.expect("a region");
    assert_eq!(region.ns() / WORK, 6);
    assert!(end_of(&timeline, record) < region.start_ns + WORK);
    // One after the other, in the order in which they asked, and held by no call.
    let mut spans: Vec<_> = work.iter().flatten().map(|&step| span_of(&timeline, step)).collect();
    spans.sort_by_key(|span| span.start_ns);
    assert!(spans.is_sorted_by(|first, second| first.end_ns <= second.start_ns), "{spans:#?}");
    assert!(spans.iter().all(|span| span.blocked_ns == 0 && span.end_ns - span.start_ns == WORK));
    let order = [0, 1].map(|round| work.map(|steps| steps[round]));
    assert_eq!(spans.iter().map(|span| span.step).collect::<Vec<_>>(), order.concat());
}

#[test]
fn a_message_is_received_when_it_has_been_sent() {
    let mut script = Script::new();
    script.call(Call::ChannelCreate { channel: CHANNEL, capacity: None });
    script.call(Call::ThreadSpawn { thread: 1 });
    let receive = script.call(Call::ChannelReceive { channel: CHANNEL, message: Some(0) });
    let nothing = script.call(Call::ChannelReceive { channel: CHANNEL, message: None });
    let (send, close) = script.on(1, |script| {
        script.call(Call::HostWork { ns: WORK, target: None });
        let send = script.call(Call::ChannelSend { channel: CHANNEL, message: Some(0) });
        script.call(Call::HostWork { ns: WORK, target: None });
        (
            send,
            script.call(Call::ChannelClose { channel: CHANNEL, end: ChannelEnd::Sender, left: 0 }),
        )
    });
    let timeline = script.run();
    assert!(end_of(&timeline, send) > WORK && end_of(&timeline, close) > 2 * WORK);
    // Woken a little later.
    for (waits, for_) in [(receive, send), (nothing, close)] {
        let late = end_of(&timeline, waits) - end_of(&timeline, for_);
        assert!((1..100_000).contains(&late), "{late} ns");
    }
}

#[test]
fn a_thread_that_has_waited_longer_wakes_later() {
    // Measured: host of an H200, driver 580.159.04, 2026-12-01, medians of 40 messages.
    let late_after = |waited_ns| {
        let mut script = Script::new();
        script.call(Call::ChannelCreate { channel: CHANNEL, capacity: None });
        script.call(Call::ThreadSpawn { thread: 1 });
        let receives = script.on(1, |script| {
            [0, 1]
                .map(|it| script.call(Call::ChannelReceive { channel: CHANNEL, message: Some(it) }))
        });
        let sends = [WORK, waited_ns].map(|ns| {
            script.call(Call::HostWork { ns, target: None });
            let message = Some(u32::from(ns != WORK));
            script.call(Call::ChannelSend { channel: CHANNEL, message })
        });
        let timeline = script.run();
        (end_of(&timeline, receives[1]) - end_of(&timeline, sends[1])) as f64 / 1000.0
    };
    for (waited_us, late_us) in
        [(100, 13.0), (200, 15.0), (400, 25.0), (1000, 32.0), (2000, 44.0), (5000, 65.0)]
    {
        let late = late_after(waited_us * 1000);
        assert!((late - late_us).abs() < 6.0, "{late} us late after {waited_us}");
    }
}

#[test]
fn a_thread_starts_and_is_joined_as_fast_as_on_the_host_of_an_h200() {
    // Measured: driver 580.159.04, 2026-12-01, 18 runs, untraced: the call that starts it, from there to its first
    // instruction, and from its last call to the return of the one that joins it.
    let mut script = Script::new();
    let spawn = script.call(Call::ThreadSpawn { thread: 1 });
    let (work, end) = script.on(1, |script| {
        (script.call(Call::HostWork { ns: 5_000_000, target: None }), script.call(Call::ThreadEnd))
    });
    let join = script.call(Call::ThreadJoin { thread: 1 });
    let timeline = script.run();
    let began = span_of(&timeline, spawn).start_ns;
    let times = [
        end_of(&timeline, spawn) - began,
        span_of(&timeline, work).start_ns - began,
        end_of(&timeline, join) - end_of(&timeline, end),
    ];
    for (ns, range) in times.into_iter().zip([92..129, 165..279, 104..254]) {
        assert!(range.contains(&(ns / 1000)), "{times:?}");
    }
}

#[test]
fn a_full_channel_holds_the_sender_until_a_message_is_taken_out() {
    let mut script = Script::new();
    script.call(Call::ChannelCreate { channel: CHANNEL, capacity: Some(2) });
    script.call(Call::ThreadSpawn { thread: 1 });
    let sends = script.on(1, |script| {
        let mut send =
            |message| script.call(Call::ChannelSend { channel: CHANNEL, message: Some(message) });
        [send(0), send(1), send(2), send(3)]
    });
    for message in 0..4 {
        script.call(Call::HostWork { ns: WORK, target: None });
        script.call(Call::ChannelReceive { channel: CHANNEL, message: Some(message) });
    }
    let timeline = script.run();
    let ms: Vec<u64> = sends.map(|send| end_of(&timeline, send) / 1_000_000).into();
    assert_eq!(ms, [0, 0, 100, 200]);
}

#[test]
fn what_a_thread_asks_for_reaches_the_device_while_another_waits_for_it() {
    let mut script = Script::new();
    let (first, second) = (script.stream(NonBlocking), script.stream(NonBlocking));
    script.call(Call::ThreadSpawn { thread: 1 });
    let long = script.kernel(first, 1, 10_000);
    let wait = script.call(Call::StreamSynchronize { stream: first });
    let short = script.on(1, |script| {
        script.call(Call::HostWork { ns: 1_000_000, target: None });
        script.kernel(second, 1, 10)
    });
    let timeline = script.run();
    assert!(span(&timeline, short).end_ns < span(&timeline, long).end_ns);
    assert!(end_of(&timeline, wait) > span(&timeline, long).end_ns);
}

#[test]
fn a_full_stream_holds_each_thread_until_there_is_room_for_it() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    script.kernel(stream, 1, 10_000);
    script.call(Call::HostWork { ns: 100_000, target: None });
    (0..1021).for_each(|_| _ = script.kernel(stream, 1, 1));
    let waiting: Vec<u32> = (1..4)
        .map(|thread| {
            script.call(Call::ThreadSpawn { thread });
            script.on(thread, |script| script.kernel(stream, 1, 1))
        })
        .collect();
    let timeline = script.run();
    let ends: Vec<u64> = waiting.iter().map(|&step| end_of(&timeline, step)).collect();
    assert!(ends[0] > 10_000_000 && ends.is_sorted() && ends[0] < ends[2], "{ends:?}");
}

#[test]
fn each_thread_has_a_per_thread_stream_of_its_own() {
    let mut script = Script::new();
    let first = script.kernel(StreamId::PER_THREAD, 1, 1_000);
    script.call(Call::ThreadSpawn { thread: 1 });
    let other = script.on(1, |script| script.kernel(StreamId::PER_THREAD, 1, 1_000));
    script.call(Call::ThreadSpawn { thread: 2 });
    let third = script.on(2, |script| script.kernel(StreamId::PER_THREAD, 1, 1_000));
    // All have the same work queue: let the others go first.
    script.call(Call::HostWork { ns: 100_000, target: None });
    let again = script.kernel(StreamId::PER_THREAD, 1, 1_000);
    let timeline = script.run();
    assert!(span(&timeline, other).start_ns < span(&timeline, first).end_ns);
    assert!(span(&timeline, third).start_ns < span(&timeline, other).end_ns);
    assert!(span(&timeline, again).start_ns >= span(&timeline, first).end_ns);
    assert_eq!(span(&timeline, other).stream, StreamId::PER_THREAD);
}

#[test]
fn threads_that_wait_for_one_another_end_the_replay() {
    let mut script = Script::new();
    script.call(Call::ThreadSpawn { thread: 1 });
    script.on(1, |script| script.call(Call::ThreadJoin { thread: 0 }));
    let join = script.call(Call::ThreadJoin { thread: 1 });
    let timeline = replay(&script.program, &h200(), Schedule::Exact);
    assert!(timeline.host.iter().all(|call| call.step != join));
}

#[test]
fn a_wait_blocks_the_host_for_all_but_its_own_cost_whether_another_thread_is_there_or_not() {
    for another in [false, true] {
        let mut script = Script::new();
        let stream = script.stream(NonBlocking);
        if another {
            script.call(Call::ThreadSpawn { thread: 1 });
            script.on(1, |script| _ = script.call(Call::HostWork { ns: WORK, target: None }));
        }
        script.kernel(stream, 1, 10_000);
        let wait = script.synchronize();
        let timeline = script.run();
        let call = span_of(&timeline, wait);
        let cost = h200().host.synchronize_ns.value;
        assert_eq!(call.blocked_ns, call.end_ns - call.start_ns - cost, "another: {another}");
        assert!((9_900_000..10_300_000).contains(&call.blocked_ns), "{} ns", call.blocked_ns);
    }
}

#[test]
fn beside_another_thread_too_a_wait_for_one_device_is_none_for_the_other() {
    let mut script = Script::new();
    let near = script.stream(NonBlocking);
    let far = StreamId::on(1, StreamId::FIRST_CREATED);
    script.call(Call::StreamCreate { stream: far, kind: NonBlocking, priority: 0 });
    script.call(Call::ThreadSpawn { thread: 1 });
    script.on(1, |script| _ = script.call(Call::HostWork { ns: WORK, target: None }));
    let short = script.kernel(near, 1, 1000);
    let long = script.kernel(far, 1, 20_000);
    let wait = script.synchronize();
    let timeline = script.run();
    let end = end_of(&timeline, wait);
    assert!(end > span(&timeline, short).end_ns && end < span(&timeline, long).end_ns, "{end} ns");
}

/// From the first to the last of so many calls that two threads share out, or that one makes, in ns.
fn calls_of(threads: u32, all: u32, mut call: impl FnMut(&mut Script, StreamId)) -> u64 {
    let mut script = Script::new();
    let streams: Vec<_> = (0..threads).map(|_| script.stream(NonBlocking)).collect();
    let first = script.program.steps.len() as u32;
    for (thread, stream) in (1..).zip(streams) {
        script.call(Call::ThreadSpawn { thread });
        script.on(thread, |script| {
            (0..all / threads).for_each(|_| call(script, stream));
            script.call(Call::ThreadEnd);
        });
    }
    let timeline = script.run();
    let calls = || timeline.host.iter().filter(|call| call.step >= first);
    let [start, end] = [calls().map(|it| it.start_ns).min(), calls().map(|it| it.end_ns).max()];
    end.expect("a call") - start.expect("a call")
}

#[test]
fn threads_that_hand_over_work_take_turns_and_those_that_make_other_calls_do_not() {
    let copies = |threads| {
        calls_of(threads, 400, |script, stream| _ = script.copy(stream, Way::Up(Host::Pinned), 64))
    };
    let events = |threads| calls_of(threads, 8000, |script, _| _ = script.event());
    let [copies, events] =
        [[copies(1), copies(2)], [events(1), events(2)]].map(|[one, two]| two as f64 / one as f64);
    assert!((0.9..1.1).contains(&copies), "{copies} times as long as one thread");
    assert!((0.5..0.7).contains(&events), "{events} times as long as one thread");
}
