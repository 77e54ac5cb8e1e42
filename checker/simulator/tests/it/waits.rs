//! When operations were issued, ready and started, and what they waited for, as the record tells it.

use trace::Timeline;
use trace::causes::delays::{Awaited, Instants, instants, released_by};
use trace::program::{StreamId, StreamKind};

use crate::program::{Host, MIB, Script, Way, span};

/// The instants of the operation of a step, and its place among the spans.
fn of(script: &Script, timeline: &Timeline, step: u32) -> Instants {
    let index = timeline.spans.iter().position(|span| span.step == step).expect("it ran");
    instants(&script.program, timeline).swap_remove(index).expect("its call is known")
}

fn index(timeline: &Timeline, step: u32) -> u32 {
    timeline.spans.iter().position(|span| span.step == step).expect("it ran") as u32
}

fn what(instants: &Instants) -> Vec<Awaited> {
    instants.waits.iter().map(|wait| wait.what).collect()
}

#[test]
fn the_first_operation_waits_for_the_host_alone_and_the_next_for_its_stream() {
    let mut script = Script::new();
    let stream = script.stream(StreamKind::NonBlocking);
    let first = script.copy(stream, Way::Up(Host::Pinned), 64 * MIB);
    let second = script.kernel(stream, 1000, 100);
    let timeline = script.run();
    assert_eq!(what(&of(&script, &timeline, first)), [Awaited::Host]);
    let instants = of(&script, &timeline, second);
    assert_eq!(what(&instants), [Awaited::Stream(index(&timeline, first))]);
    assert_eq!(instants.ready_ns, span(&timeline, first).end_ns);
    assert_eq!(instants.started_ns, span(&timeline, second).start_ns);
    let call = timeline.host.iter().find(|call| call.step == second).expect("a call");
    assert_eq!(instants.issued_ns, call.end_ns);
}

#[test]
fn an_operation_that_an_event_keeps_waits_for_the_event_and_not_for_its_stream() {
    let mut script = Script::new();
    let [a, b] = [0; 2].map(|_| script.stream(StreamKind::NonBlocking));
    let event = script.event();
    let copy = script.copy(a, Way::Up(Host::Pinned), 64 * MIB);
    script.record(event, a);
    script.kernel(b, 1000, 10);
    let wait = script.wait(b, event);
    let kernel = script.kernel(b, 1000, 10);
    let timeline = script.run();
    let span = Some(index(&timeline, copy));
    assert_eq!(what(&of(&script, &timeline, kernel)), [Awaited::Event { wait, span }]);
}

#[test]
fn a_copy_on_another_stream_waits_for_its_engine() {
    let mut script = Script::new();
    let [a, b] = [0; 2].map(|_| script.stream(StreamKind::NonBlocking));
    let first = script.copy(a, Way::Up(Host::Pinned), 64 * MIB);
    let second = script.copy(b, Way::Up(Host::Pinned), 64 * MIB);
    let other = script.copy(b, Way::Down(Host::Pinned), MIB);
    let timeline = script.run();
    let instants = of(&script, &timeline, second);
    assert_eq!(what(&instants), [Awaited::Host, Awaited::Engine(index(&timeline, first))]);
    assert_eq!(instants.waits[1].time.end_ns, instants.started_ns);
    assert_eq!(what(&of(&script, &timeline, other)), [Awaited::Stream(index(&timeline, second))]);
}

#[test]
fn a_kernel_after_another_in_one_work_queue_waits_for_that_queue() {
    let kernel = |script: &mut Script| {
        let [a, b] = [0; 2].map(|_| script.stream(StreamKind::NonBlocking));
        script.copy(a, Way::Up(Host::Pinned), 64 * MIB);
        let first = script.kernel(a, 8, 10);
        (first, script.kernel(b, 8, 10))
    };
    let mut shared = Script::with_connections(1);
    let (first, second) = kernel(&mut shared);
    let timeline = shared.run();
    let waited = what(&of(&shared, &timeline, second));
    assert_eq!(waited, [Awaited::Host, Awaited::Queue(index(&timeline, first))]);
    let mut apart = Script::new();
    let (_, second) = kernel(&mut apart);
    let timeline = apart.run();
    assert_eq!(what(&of(&apart, &timeline, second)), [Awaited::Host]);
}

#[test]
fn an_operation_of_a_blocking_stream_waits_for_the_default_stream() {
    let mut script = Script::new();
    let stream = script.stream(StreamKind::Blocking);
    let first = script.copy(StreamId::LEGACY, Way::Up(Host::Pinned), 64 * MIB);
    let second = script.kernel(stream, 1000, 10);
    let timeline = script.run();
    let by = Some(index(&timeline, first));
    assert_eq!(what(&of(&script, &timeline, second)), [Awaited::DefaultStream(by)]);
}

#[test]
fn the_operation_that_ended_last_unblocks_the_host() {
    let mut script = Script::new();
    let [a, b] = [0; 2].map(|_| script.stream(StreamKind::NonBlocking));
    script.copy(a, Way::Up(Host::Pinned), MIB);
    let last = script.copy(b, Way::Down(Host::Pinned), 64 * MIB);
    let wait = script.synchronize();
    let timeline = script.run();
    let call = timeline.host.iter().find(|call| call.step == wait).expect("a call");
    assert_eq!(released_by(&timeline, call), Some(index(&timeline, last)));
}

#[test]
fn the_instants_of_every_operation_are_in_order_and_the_waits_lie_between_them() {
    let mut seen = 0;
    for (name, record) in crate::figures::simulated() {
        let all = instants(&record.program, &record.timeline);
        for (span, instants) in record.timeline.spans.iter().zip(all) {
            let Some(Instants { issued_ns, ready_ns, started_ns, waits }) = instants else {
                continue;
            };
            assert!(issued_ns <= ready_ns && ready_ns <= started_ns, "{name} {span:?}");
            assert_eq!(started_ns, span.start_ns);
            for wait in &waits[1..] {
                assert!(ready_ns <= wait.time.start_ns && wait.time.end_ns <= started_ns);
            }
            seen += 1;
        }
    }
    assert!(seen > 10_000, "{seen} operations");
}
