//! What holds for every program: checked on thousands of random ones.

use std::collections::BTreeMap;

use simulator::bounds::{TaskKernel, TaskWork, bounds};
use simulator::{Schedule, replay};
use trace::program::{Call, Place, StreamId, StreamKind};
use trace::timeline::{SpanKind, Timeline};

use crate::program::*;

/// A source of numbers that is the same everywhere.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// A random program, and its waits: which step must not start before which others have ended.
fn random(seed: u64) -> (Script, Vec<(u32, u32)>, TaskWork) {
    let mut dice = Dice(seed);
    let mut script = Script::with_connections(1 + (seed % 9) as u32);
    let mut streams = vec![StreamId::LEGACY];
    for _ in 0..1 + dice.below(4) {
        let kind = if dice.below(3) == 0 { StreamKind::Blocking } else { StreamKind::NonBlocking };
        streams.push(script.stream(kind));
    }
    let events: Vec<_> = (0..3).map(|_| script.event()).collect();
    // The last operation of each stream, what each event stands for, and what each stream waits for.
    let mut last: BTreeMap<StreamId, u32> = BTreeMap::new();
    let mut recorded = BTreeMap::new();
    let mut waiting: BTreeMap<StreamId, Vec<u32>> = BTreeMap::new();
    let mut order = Vec::new();
    let mut work = TaskWork::default();
    script.with_items();
    script.call(Call::RegionBegin);
    for _ in 0..4 + dice.below(40) {
        let stream = streams[dice.below(streams.len() as u64) as usize];
        let event = events[dice.below(3) as usize];
        let bytes = (1 + dice.below(8 * MIB)) * (1 + dice.below(2));
        let host = if dice.below(4) == 0 { Host::Pageable } else { Host::Pinned };
        let step = match dice.below(8) {
            0 | 1 => {
                work.host_to_device_bytes += bytes;
                script.copy(stream, Way::Up(host), bytes)
            }
            2 | 3 => {
                work.device_to_host_bytes += bytes;
                script.copy(stream, Way::Down(host), bytes)
            }
            kind @ (4 | 5) => {
                let (blocks, us) = (1 + dice.below(2000) as u32, 1 + dice.below(300));
                let step = if kind == 4 {
                    script.kernel(stream, blocks, us)
                } else {
                    script.over_items(stream, blocks, 1 + dice.below(4 * MIB), us)
                };
                let Call::Launch(launch) = &script.program.steps[step as usize].call else {
                    unreachable!()
                };
                work.kernels.push(kernel(launch.units));
                step
            }
            6 => {
                script.record(event, stream);
                recorded.insert(event, last.get(&stream).copied());
                continue;
            }
            _ => {
                script.wait(stream, event);
                if let Some(&Some(step)) = recorded.get(&event) {
                    waiting.entry(stream).or_default().push(step);
                }
                continue;
            }
        };
        order.extend(last.insert(stream, step).map(|before| (before, step)));
        order.extend(
            waiting.remove(&stream).unwrap_or_default().into_iter().map(|before| (before, step)),
        );
    }
    script.synchronize();
    script.call(Call::RegionEnd);
    (script, order, work)
}

fn check(timeline: &Timeline, script: &Script, order: &[(u32, u32)], seed: u64) {
    for &(before, after) in order {
        let (before, after) = (span(timeline, before), span(timeline, after));
        assert!(before.end_ns <= after.start_ns, "seed {seed}: {before:?} before {after:?}");
    }
    for kind in [SpanKind::HostToDevice, SpanKind::DeviceToHost] {
        let mut copies: Vec<_> = timeline.spans.iter().filter(|span| span.kind == kind).collect();
        copies.sort_by_key(|span| span.start_ns);
        for pair in copies.windows(2) {
            assert!(pair[0].end_ns <= pair[1].start_ns, "seed {seed}: two copies on one engine");
        }
    }
    for span in &timeline.spans {
        let call = timeline.host.iter().find(|call| call.step == span.step).unwrap();
        assert!(call.start_ns < span.start_ns, "seed {seed}: {span:?} ran before it was asked for");
        assert!(span.start_ns < span.end_ns, "seed {seed}: {span:?} took no time");
        if let Call::Copy { bytes, .. } = script.program.steps[span.step as usize].call {
            assert_eq!(span.bytes, bytes, "seed {seed}");
        }
    }
    let asked = script
        .program
        .steps
        .iter()
        .filter(|step| matches!(step.call, Call::Copy { .. } | Call::Launch(_)));
    assert_eq!(timeline.spans.len(), asked.count(), "seed {seed}: every operation ran, once");
}

#[test]
fn order_engines_and_bytes_hold_for_random_programs_on_any_schedule() {
    for seed in 0..3000 {
        let (script, order, work) = random(seed);
        let exact = script.run();
        check(&exact, &script, &order, seed);
        check(&replay(&script.program, &h200(), Schedule::Perturbed(seed)), &script, &order, seed);

        let makespan = exact.region.unwrap().ns();
        let limits = bounds(&work, &h200().into()).unwrap();
        assert!(
            makespan >= limits.floor_ns,
            "seed {seed}: {makespan} ns beats the floor, {limits:?}"
        );
        // Nothing is ever idle without a reason: no longer than all spans, calls and gaps in a row.
        let spans: u64 = exact.spans.iter().map(|span| span.interval().ns()).sum();
        // A call or a gap takes 20 µs at most, the host's own copy of a staged piece 250 µs.
        let most = |call: &Call| match call {
            Call::Copy { source: Place::Pageable, .. }
            | Call::Copy { target: Place::Pageable, .. } => 250_000,
            _ => 20_000,
        };
        let calls: u64 = script.program.steps.iter().map(|step| most(&step.call)).sum();
        assert!(makespan <= spans + calls, "seed {seed}: {makespan} ns, but {spans} ns of work");
    }
}

#[test]
fn the_same_program_gives_the_same_bytes() {
    for seed in 0..200 {
        let (script, ..) = random(seed);
        for schedule in [Schedule::Exact, Schedule::Perturbed(seed)] {
            let json =
                |_| serde_json::to_string(&replay(&script.program, &h200(), schedule)).unwrap();
            assert_eq!(json(1), json(2), "seed {seed}");
        }
    }
}

#[test]
fn perturbed_schedules_differ_from_one_another() {
    let (script, ..) = random(5);
    let run = |seed| replay(&script.program, &h200(), Schedule::Perturbed(seed)).spans;
    assert_ne!(run(1), run(2));
}

/// Work that may have the whole device.
fn kernel(units: u64) -> TaskKernel {
    TaskKernel { rate: "map".to_owned(), units, ..TaskKernel::default() }
}
