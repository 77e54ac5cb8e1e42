//! Two devices: what was measured between two H200 with NVLink (driver 580.159.04, 2026-11-27), as the simulated ones have it.
//!
//! The kernel of the measurements spun for so many cycles, the one of these tests for as long.

use std::collections::BTreeMap;

use simulator::advice::{Advice, Change, advise};
use simulator::bounds::{TaskWork, bounds};
use simulator::device::At;
use simulator::{Schedule, replay};
use trace::causes;
use trace::causes::engines::{Lane, Lanes};
use trace::draw::{self, Layout, Panel, Style, svg, terminal};
use trace::export::{Device, chrome};
use trace::import::Trace;
use trace::observed::Observed;
use trace::program::{
    BlockId, Call, EventId, Mode, Place, Range, Step, StreamId, StreamKind, Timing,
};
use trace::timeline::{Span, SpanKind, Timeline};

use crate::program::*;
use crate::properties::Dice;

const KIB: u64 = 1 << 10;
/// What a kernel of the measurements took, from one start to the next in one stream.
const KERNEL_US: f64 = 22.15;

/// Two devices, a stream and a block of each.
struct Two {
    script: Script,
    streams: [StreamId; 2],
    events: u32,
}

impl Two {
    fn new(access: &[u32]) -> Self {
        let mut script = Script::new();
        let streams = [0, 1].map(|device| {
            let stream = StreamId::on(device, StreamId::FIRST_CREATED);
            script.call(Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 });
            script.call(Call::Alloc { block: BlockId::on(device, 50), bytes: 512 * MIB });
            stream
        });
        for &by in access {
            script.call(Call::PeerAccess { by, pool: false, enabled: true });
        }
        let mut two = Self { script, streams, events: 0 };
        two.idle();
        two
    }

    fn synchronize(&mut self, device: u32) -> u32 {
        let step = self.script.call(Call::ContextSynchronize);
        self.script.program.steps[step as usize].device = device;
        step
    }

    fn idle(&mut self) {
        self.synchronize(0);
        self.synchronize(1);
    }

    fn copy(&mut self, from: u32, stream: StreamId, bytes: u64) -> u32 {
        let end =
            |device| Place::Device(Range { block: BlockId::on(device, 50), offset: 0, bytes });
        let (source, target) = (end(from), end(1 - from));
        self.script.call(Call::Copy { stream, mode: Mode::Asynchronous, source, target, bytes })
    }

    /// A stream waits for what another holds.
    fn wait(&mut self, stream: StreamId, other: StreamId) {
        let event = EventId(900 + self.events);
        self.events += 1;
        self.script.call(Call::EventCreate { event, timing: Timing::Disabled });
        self.script.call(Call::EventRecord { event, stream: other });
        self.script.call(Call::StreamWait { stream, event });
    }

    fn kernel(&mut self, stream: StreamId) -> u32 {
        self.script.kernel(stream, 1, 20)
    }

    /// From the first of these calls to the end of the last, in µs.
    fn us(&mut self, calls: impl FnOnce(&mut Self)) -> f64 {
        let first = self.script.program.steps.len() as u32;
        calls(self);
        let last = self.script.program.steps.len() as u32 - 1;
        let timeline = self.script.run();
        let call = |step| timeline.host.iter().find(|call| call.step == step).expect("a call");
        (call(last).end_ns - call(first).start_ns) as f64 / 1e3
    }
}

fn is_near(what: &str, simulated: f64, measured: f64, within: f64) {
    let off = simulated / measured - 1.0;
    assert!(off.abs() <= within, "{what}: {simulated:.1} µs, measured {measured:.1}");
}

#[test]
fn a_copy_over_the_link_takes_what_it_took_between_two_h200_to_a_twentieth() {
    let measured = [
        (4, [8.2, 11.1]),
        (64, [8.4, 11.4]),
        (KIB, [11.0, 14.5]),
        (4 * KIB, [19.2, 22.1]),
        (16 * KIB, [52.4, 56.0]),
        (64 * KIB, [180.0, 182.0]),
    ];
    for (kib, measured) in measured {
        for (device, measured) in (0..).zip(measured) {
            let mut two = Two::new(&[0, 1]);
            let stream = two.streams[device as usize];
            let simulated = two.us(|two| {
                two.copy(0, stream, kib * KIB);
                two.script.call(Call::StreamSynchronize { stream });
            });
            is_near(&format!("{kib} KiB in a stream of {device}"), simulated, measured, 0.05);
        }
    }
}

#[test]
fn a_copy_through_the_host_takes_what_it_took_between_two_h200_and_so_does_its_call() {
    let measured = [
        (4, 16.6, 9.1),
        (64, 18.5, 8.7),
        (KIB, 54.7, 8.5),
        (4 * KIB, 140.0, 27.0),
        (16 * KIB, 465.0, 98.7),
        (64 * KIB, 1785.0, 396.0),
    ];
    for (kib, measured, call) in measured {
        let mut two = Two::new(&[]);
        let stream = two.streams[0];
        let simulated = two.us(|two| {
            two.copy(0, stream, kib * KIB);
            two.script.call(Call::StreamSynchronize { stream });
        });
        is_near(&format!("{kib} KiB"), simulated, measured, 0.1);
        let mut two = Two::new(&[]);
        let asked = two.us(|two| _ = two.copy(0, stream, kib * KIB));
        is_near(&format!("the call for {kib} KiB"), asked, call, 0.1);
    }
}

#[test]
fn access_of_either_is_a_way_for_both_directions_and_the_device_with_access_does_the_copies() {
    // 16 MiB: who has access, from where, in whose stream.
    let measured = [
        (0, 0, 0, 51.0),
        (0, 0, 1, 53.0),
        (0, 1, 0, 51.0),
        (0, 1, 1, 54.0),
        (1, 0, 0, 54.0),
        (1, 0, 1, 51.0),
        (1, 1, 0, 53.0),
        (1, 1, 1, 50.0),
    ];
    for (by, from, stream, measured) in measured {
        let mut two = Two::new(&[by]);
        let stream = two.streams[stream];
        let simulated = two.us(|two| {
            two.copy(from, stream, 16 * MIB);
            two.script.call(Call::StreamSynchronize { stream });
        });
        is_near(
            &format!("{by} has access, {from} has the data, {stream}"),
            simulated,
            measured,
            0.05,
        );
    }
}

#[test]
fn both_directions_of_the_link_are_free_of_each_other_and_of_transfers_and_one_is_not_of_itself() {
    let many = |calls: &dyn Fn(&mut Two)| {
        let mut two = Two::new(&[0, 1]);
        two.us(|two| {
            calls(two);
            two.idle();
        })
    };
    let one = many(&|two| _ = two.copy(0, two.streams[0], 256 * MIB));
    is_near("one way", one, 684.0, 0.05);
    let both = many(&|two| {
        two.copy(0, two.streams[0], 256 * MIB);
        two.copy(1, two.streams[1], 256 * MIB);
    });
    is_near("both ways", both, 690.0, 0.05);
    let twice = many(&|two| {
        two.copy(0, two.streams[0], 256 * MIB);
        two.copy(0, two.streams[1], 256 * MIB);
    });
    is_near("twice one way", twice, 1380.0, 0.05);
    let beside = many(&|two| {
        two.copy(0, two.streams[0], 256 * MIB);
        let up = two.script.stream(StreamKind::NonBlocking);
        // The first number was taken by the stream of the test's own.
        assert_eq!(up, two.streams[0]);
        let other = two.script.stream(StreamKind::NonBlocking);
        two.script.copy(other, Way::Up(Host::Pinned), 256 * MIB);
    });
    is_near("beside an upload", beside, 4900.0, 0.05);
}

#[test]
fn kernels_and_copies_in_turn_take_what_they_took_between_two_h200_to_a_twentieth() {
    const ROUNDS: u32 = 20;
    let chain = |round: &dyn Fn(&mut Two, [StreamId; 2])| {
        let mut two = Two::new(&[0, 1]);
        let streams = two.streams;
        two.us(|two| {
            for _ in 0..ROUNDS {
                round(two, streams);
            }
            two.idle();
        }) / f64::from(ROUNDS)
    };
    let kernel = chain(&|two, [here, _]| _ = two.kernel(here));
    // With kernels that take what those of the measurements took.
    let is_near = |what: &str, simulated: f64, kernels: f64, measured: f64| {
        is_near(what, simulated + kernels * (KERNEL_US - kernel), measured, 0.05);
    };
    let in_turn = chain(&|two, [here, there]| {
        two.kernel(here);
        two.wait(there, here);
        two.kernel(there);
        two.wait(here, there);
    });
    is_near("a kernel on each", in_turn, 2.0, 53.5);
    for (bytes, sent, pulled, alone) in [(64 * KIB, 64.0, 68.7, 32.4), (4 * MIB, 74.0, 78.8, 41.0)]
    {
        let simulated = chain(&|two, [here, there]| {
            two.kernel(here);
            two.copy(0, here, bytes);
            two.wait(there, here);
            two.kernel(there);
            two.wait(here, there);
        });
        is_near(&format!("{bytes} B sent between them"), simulated, 2.0, sent);
        let simulated = chain(&|two, [here, there]| {
            two.kernel(here);
            two.wait(there, here);
            two.copy(0, there, bytes);
            two.kernel(there);
            two.wait(here, there);
        });
        is_near(&format!("{bytes} B pulled between them"), simulated, 2.0, pulled);
        let simulated = chain(&|two, [here, _]| {
            two.kernel(here);
            two.copy(0, here, bytes);
        });
        is_near(&format!("a kernel and {bytes} B"), simulated, 1.0, alone);
    }
}

#[test]
fn what_one_device_does_holds_nothing_of_the_other() {
    let mut two = Two::new(&[]);
    let streams = two.streams;
    let kernels = streams.map(|stream| two.script.kernel(stream, 132 * 8, 100));
    let waited = two.synchronize(1);
    let timeline = two.script.run();
    let [first, second] = kernels.map(|step| span(&timeline, step).clone());
    assert!(second.start_ns < first.end_ns, "kernels that fill both devices run side by side");
    assert_eq!(first.end_ns - first.start_ns, second.end_ns - second.start_ns);
    let call = timeline.host.iter().find(|call| call.step == waited).expect("the call");
    assert!(call.blocked_ns > 0 && call.end_ns >= second.end_ns);
}

#[test]
fn a_copy_through_the_host_keeps_an_engine_of_each_device_busy() {
    let mut two = Two::new(&[]);
    let streams = two.streams;
    two.copy(0, streams[0], 64 * MIB);
    // Up to the second device, and down from it: one of them is in the way.
    let ends = [0, 1].map(|number| {
        let stream = StreamId::on(1, StreamId::FIRST_CREATED + 1 + number);
        two.script.call(Call::StreamCreate { stream, kind: StreamKind::NonBlocking, priority: 0 });
        let device = Place::Device(Range { block: BlockId::on(1, 50), offset: 0, bytes: MIB });
        let host = Place::Pinned(Range { block: BlockId(70), offset: 0, bytes: MIB });
        let (source, target) = if number == 0 { (host, device) } else { (device, host) };
        let mode = Mode::Asynchronous;
        two.script.call(Call::Copy { stream, mode, source, target, bytes: MIB })
    });
    two.idle();
    let timeline = two.script.run();
    let peer = timeline.spans.iter().find(|span| span.kind == SpanKind::PeerToPeer).expect("it");
    let [up, down] = ends.map(|step| span(&timeline, step).clone());
    assert!(up.start_ns >= peer.end_ns, "{up:?} {peer:?}");
    assert!(down.end_ns < peer.end_ns, "{down:?} {peer:?}");
    assert_eq!(timeline.spans.iter().filter(|it| it.kind == SpanKind::PeerToPeer).count(), 1);
}

#[test]
fn programs_of_two_devices_read_back_as_they_were_written() {
    let mut two = Two::new(&[1]);
    let streams = two.streams;
    two.copy(1, streams[1], MIB);
    two.idle();
    let text = serde_json::to_string(&two.script.program).expect("a program");
    let read: trace::Program = serde_json::from_str(&text).expect("the same");
    assert_eq!(read, two.script.program);
    let on_second = |step: &&Step| step.device == 1;
    assert_eq!(read.steps.iter().filter(on_second).count(), 2);
}

/// A random program on both devices, and its waits: which step must not start before which others have ended.
fn random(seed: u64) -> (trace::Program, Vec<(u32, u32)>) {
    let mut dice = Dice(seed);
    let mut two = Two::new([&[][..], &[0], &[1], &[0, 1]][(seed % 4) as usize]);
    let mut streams = vec![StreamId::LEGACY, StreamId::on(1, 0), two.streams[0], two.streams[1]];
    for number in 1..1 + dice.below(3) as u32 {
        let stream = StreamId::on(dice.below(2) as u32, StreamId::FIRST_CREATED + number);
        let kind = match dice.below(2) {
            0 => StreamKind::Blocking,
            _ => StreamKind::NonBlocking,
        };
        two.script.call(Call::StreamCreate { stream, kind, priority: 0 });
        streams.push(stream);
    }
    let (mut last, mut order) = (BTreeMap::new(), Vec::new());
    let mut waiting: BTreeMap<StreamId, Vec<u32>> = BTreeMap::new();
    two.script.call(Call::RegionBegin);
    for _ in 0..4 + dice.below(40) {
        let stream = streams[dice.below(streams.len() as u64) as usize];
        let other = streams[dice.below(streams.len() as u64) as usize];
        let bytes = 1 + dice.below(16 * MIB);
        let range = |block| Range { block, offset: 0, bytes };
        let device = Place::Device(range(BlockId::on(stream.device(), 50)));
        let pinned = Place::Pinned(range(BlockId(70)));
        let mode = Mode::Asynchronous;
        let step = match dice.below(8) {
            0 => {
                let (source, target) = (pinned, device);
                two.script.call(Call::Copy { stream, mode, source, target, bytes })
            }
            1 => {
                let (source, target) = (device, pinned);
                two.script.call(Call::Copy { stream, mode, source, target, bytes })
            }
            2..=4 => two.copy(dice.below(2) as u32, stream, bytes),
            5 => two.script.kernel(stream, 1 + dice.below(2000) as u32, 1 + dice.below(300)),
            6 => {
                two.synchronize(dice.below(2) as u32);
                continue;
            }
            _ => {
                two.wait(stream, other);
                waiting.entry(stream).or_default().extend(last.get(&other).copied());
                continue;
            }
        };
        order.extend(last.insert(stream, step).map(|before| (before, step)));
        let waited = waiting.remove(&stream).unwrap_or_default();
        order.extend(waited.into_iter().map(|before| (before, step)));
    }
    two.idle();
    two.script.call(Call::RegionEnd);
    (two.script.program, order)
}

#[test]
fn order_and_engines_hold_for_random_programs_of_two_devices_and_whatever_reads_them_reads_them() {
    let mut given = 0;
    for seed in 0..2000 {
        let (program, order) = random(seed);
        let mut schedules = vec![Schedule::Exact, Schedule::Perturbed(seed), Schedule::InOrder];
        // One that was asked for early waits for one that was asked for late, where nothing orders the two.
        if let (Some(first), Some(second)) = (order.first(), order.last()) {
            let at = |step| At { step, node: 0 };
            schedules.push(Schedule::Reversed { first: at(first.0), second: at(second.1) });
        }
        for schedule in schedules {
            let timeline = replay(&program, &h200(), schedule);
            for &(before, after) in &order {
                let (before, after) = (span(&timeline, before), span(&timeline, after));
                assert!(before.end_ns <= after.start_ns, "seed {seed}: {before:?} {after:?}");
            }
            for device in 0..2 {
                for kind in [SpanKind::HostToDevice, SpanKind::DeviceToHost] {
                    let of = |it: &&Span| it.kind == kind && it.stream.device() == device;
                    let mut copies: Vec<_> = timeline.spans.iter().filter(of).collect();
                    copies.sort_by_key(|span| span.start_ns);
                    for pair in copies.windows(2) {
                        assert!(pair[0].end_ns <= pair[1].start_ns, "seed {seed}: {pair:?}");
                    }
                }
            }
            let asked = program
                .steps
                .iter()
                .filter(|step| matches!(step.call, Call::Copy { .. } | Call::Launch(_)));
            assert_eq!(timeline.spans.len(), asked.count(), "seed {seed}: each ran, once");
            trace::metrics::Metrics::of(&timeline);
        }
        let timeline = replay(&program, &h200(), Schedule::Exact);
        let found = advise(&program, causes::find(&program, &timeline), &h200(), &|_| true);
        // Whatever would make a stream, or wait for a device, is not tried: it would have to be the right one.
        let is_tried = |it: &Advice| matches!(it.change, Change::AllowAccess | Change::DropWait);
        assert!(found.advice.iter().all(is_tried), "seed {seed}: {:?}", found.advice);
        given += found.advice.len();
    }
    assert!(given > 0, "some of them have a copy that goes through the host");
}

#[test]
fn what_a_task_sends_between_two_devices_is_a_copy_over_the_link_in_serial_and_its_bytes_in_the_floor()
 {
    let bytes = 64 * MIB;
    let work = TaskWork { between_bytes: bytes, ..TaskWork::default() };
    let ends = bounds(&work, &h200().into()).expect("there is no rate to know");
    assert_eq!(ends.floor_ns, bytes * 1000 / h200().peers.bytes_per_us.value);
    let mut two = Two::new(&[1]);
    two.script.call(Call::RegionBegin);
    two.copy(1, StreamId::LEGACY, bytes);
    two.synchronize(0);
    two.script.call(Call::RegionEnd);
    assert_eq!(ends.serial_ns, two.script.run().region.expect("a region").ns());
}

/// Something on each device, and copies both ways.
fn both_at_work() -> (trace::Program, Timeline) {
    let mut two = Two::new(&[0, 1]);
    let [here, there] = two.streams;
    two.script.call(Call::RegionBegin);
    two.script.copy(here, Way::Up(Host::Pinned), 4 * MIB);
    two.script.kernel(here, 132, 200);
    two.copy(0, here, 16 * MIB);
    two.wait(there, here);
    two.script.kernel(there, 132, 200);
    two.copy(1, there, 16 * MIB);
    two.idle();
    two.script.call(Call::RegionEnd);
    (two.script.program.clone(), two.script.run())
}

#[test]
fn what_is_exported_of_two_devices_reads_back_as_two() {
    let (program, timeline) = both_at_work();
    let observed = Observed::of_program(timeline.clone(), &program, &[]);
    let mut written = Vec::new();
    chrome(&[Device { index: 0, observed: &observed }], &mut written).expect("memory takes all");
    let read = Trace::read(&mut written.as_slice(), u64::MAX).expect("it is a trace");
    let found: Vec<_> = read.devices.iter().map(|it| (it.index, it.operations)).collect();
    let on = |device| timeline.spans.iter().filter(|it| it.stream.device() == device).count();
    assert_eq!(found, [(0, on(0)), (1, on(1))]);
    assert_eq!(read.devices[0].name, read.devices[1].name);
}

#[test]
fn a_timeline_of_two_devices_names_the_device_of_each_row() {
    let (program, timeline) = both_at_work();
    let drawn = [draw::Lanes::Streams, draw::Lanes::Engines].map(|lanes| {
        let panel = Panel { title: "two", timeline: &timeline, program: Some(&program) };
        let layout = Layout::new(&[panel], lanes);
        assert!(svg(&layout, "two").contains("dev 1"));
        terminal(&layout, 80, Style::Plain)
    });
    insta::assert_snapshot!(drawn.join("\n"));
}

#[test]
fn each_device_has_lanes_of_its_own_where_causes_are_looked_for() {
    let (_, timeline) = both_at_work();
    let lanes = Lanes::of(&timeline);
    for device in 0..2 {
        let kernels = timeline
            .spans
            .iter()
            .filter(|it| it.kind == SpanKind::Kernel && it.stream.device() == device);
        let own: u64 = kernels.map(|it| it.end_ns - it.start_ns).sum();
        assert!(own > 0);
        assert_eq!(lanes.busy(device, Lane::Kernels, timeline.extent()), own, "{device}");
    }
}

#[test]
fn no_chain_of_operations_goes_from_one_device_to_the_other() {
    let file = "../../exercises/21_peers/recorded/reference.json";
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read(file).expect("a recorded program");
    let program: trace::Program = serde_json::from_slice(&text).expect("a program");
    let chains = causes::chains::chains(&program);
    assert!(chains.len() >= 2, "{chains:?}");
    for chain in chains {
        let device = |step: u32| match &program.steps[step as usize].call {
            Call::Launch(launch) => launch.stream.device(),
            other => panic!("{other:?} is no stage"),
        };
        assert!(chain.iter().all(|step| device(*step) == device(chain[0])), "{chain:?}");
    }
}
