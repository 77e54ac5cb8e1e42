//! The ends of the scale of a program without a task.

use simulator::bounds::{Request, Share, TaskKernel, TaskWork, bounds, bounds_of_program};
use simulator::machine::{Task, shortfalls};
use trace::Timeline;
use trace::metrics::{Bounds, Metrics};
use trace::program::StreamKind::NonBlocking;
use trace::program::{Call, StreamId};

use crate::program::*;

const CHUNK: u64 = 16 * MIB;

/// Four chunks up, mapped for as long, and down, in `streams` streams; the overlap efficiency, and the ends.
fn chunks(streams: usize, host: Host, also: impl Fn(&mut Script)) -> (f64, Bounds) {
    let mut script = Script::new();
    let streams: Vec<_> = (0..streams).map(|_| script.stream(NonBlocking)).collect();
    script.call(Call::RegionBegin);
    for chunk in 0..16 {
        let stream = streams[chunk % streams.len()];
        script.copy(stream, Way::Up(host), CHUNK);
        script.kernel(stream, 1056, 600);
        script.copy(stream, Way::Down(host), CHUNK);
        also(&mut script);
    }
    script.synchronize();
    script.call(Call::RegionEnd);
    let bounds = bounds_of_program(&script.program, &h200().into());
    let region = script.run().region.expect("the region ended");
    (bounds.overlap_efficiency(region.ns()).expect("there is something to overlap"), bounds)
}

#[test]
fn one_thing_after_the_other_stands_at_0_whatever_memory_its_copies_use() {
    for host in [Host::Pinned, Host::Pageable] {
        let (efficiency, _) = chunks(1, host, |_| ());
        // What is missing to 0 are the gaps between operations of two engines.
        assert!(efficiency.abs() < 0.03, "{host:?}: {efficiency}");
    }
}

#[test]
fn copies_and_kernels_side_by_side_stand_near_1() {
    let (efficiency, bounds) = chunks(4, Host::Pinned, |_| ());
    assert!(efficiency > 0.85, "{efficiency}");
    // 16 kernels of 600 µs, and copies of 16 MiB at 55 bytes per ns.
    assert!((9_600_000..9_800_000).contains(&bounds.floor_ns), "{bounds:?}");
    let copies_ns = bounds.serial_ns - bounds.floor_ns;
    assert!((9_650_000..9_900_000).contains(&copies_ns), "{bounds:?}");
}

#[test]
fn what_the_host_does_between_longer_operations_moves_neither_end() {
    let (_, bare) = chunks(4, Host::Pinned, |_| ());
    // Declared work is shorter than each of the operations that it lies between.
    let (_, worked) = chunks(4, Host::Pinned, |script| {
        script.call(Call::HostWork { ns: 100_000, target: None });
    });
    // A copy that is asked for later may begin right after the one before it, or a gap later.
    assert_eq!(bare.floor_ns, worked.floor_ns);
    assert!(bare.serial_ns.abs_diff(worked.serial_ns) < 10_000, "{bare:?}, {worked:?}");
}

/// Kernels of a task with as much work for its host, and how the host waits for each of them.
const KERNELS: u32 = 16;
const KERNEL_US: u64 = 100;

#[derive(Clone, Copy, PartialEq)]
enum Wait {
    Never,
    InACall,
    ByAsking,
    LookingBusy,
}

fn kept_from_work(wait: Wait) -> (Timeline, Bounds) {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    script.call(Call::RegionBegin);
    let mut work =
        TaskWork { host_ns: u64::from(KERNELS) * KERNEL_US * 1000, ..TaskWork::default() };
    for _ in 0..KERNELS {
        let step = script.kernel(stream, 1056, KERNEL_US);
        if let Call::Launch(launch) = &script.program.steps[step as usize].call {
            let rate = "map".to_owned();
            work.kernels.push(TaskKernel { rate, units: launch.units, ..TaskKernel::default() });
        }
        match wait {
            Wait::Never => {}
            Wait::InACall => _ = script.call(Call::StreamSynchronize { stream }),
            Wait::ByAsking => (0..1500).for_each(|_| _ = script.call(Call::StreamQuery { stream })),
            Wait::LookingBusy => {
                _ = script.call(Call::HostWork { ns: (KERNEL_US + 20) * 1000, target: None })
            }
        }
        script.call(Call::HostWork { ns: KERNEL_US * 1000, target: None });
    }
    script.synchronize();
    script.call(Call::RegionEnd);
    (script.run(), bounds(&work, &h200().into()).expect("it knows the rate"))
}

#[test]
fn whoever_waits_without_a_call_that_waits_is_no_freer() {
    let freedom = |wait| {
        let (timeline, bounds) = kept_from_work(wait);
        let metrics = Metrics::of(&timeline);
        let freedom = bounds.host_freedom(metrics.makespan_ns).expect("its host has work");
        // What a trace shows of waiting is part of what is counted, and here it may be nothing at all.
        let shown = 1.0 - metrics.host_blocked_ns as f64 / metrics.makespan_ns as f64;
        assert!(freedom <= shown, "{freedom} {shown}");
        (freedom, shown)
    };
    assert!(freedom(Wait::Never).0 > 0.9, "{:?}", freedom(Wait::Never));
    let (waits, _) = freedom(Wait::InACall);
    assert!((0.4..0.5).contains(&waits), "{waits}");
    for wait in [Wait::ByAsking, Wait::LookingBusy] {
        let (freedom, shown) = freedom(wait);
        assert!(freedom <= waits, "{freedom} against {waits}");
        assert!(shown > 0.95, "{shown}");
    }
}

#[test]
fn work_that_the_host_leaves_undone_is_missing() {
    struct Writes;
    impl Task for Writes {
        fn work(&self) -> TaskWork {
            TaskWork { host_ns: 1000, ..TaskWork::default() }
        }
        fn kernel_units(&self) -> Vec<(String, u64)> {
            Vec::new()
        }
        fn input(&self, _: u32, _: u64, _: u64, _: &mut [u32]) {}
        fn expected(&self, _: u32, _: u64, _: u64, _: &mut [u32]) {}
    }

    let missing = |inside: &[u64]| {
        let mut script = Script::new();
        script.call(Call::HostWork { ns: 5000, target: None }); // before the region it does not count
        let begin = script.call(Call::RegionBegin) as usize;
        inside.iter().for_each(|&ns| _ = script.call(Call::HostWork { ns, target: None }));
        shortfalls(&script.program, begin, &Writes)
    };
    assert_eq!(missing(&[600, 400]), []);
    let [short] = &missing(&[600])[..] else { panic!("one thing is missing") };
    assert_eq!((short.what.as_str(), short.needed, short.found), ("ns of host work", 1000, 600));
}

#[test]
fn what_the_host_does_counts_once() {
    let mut script = Script::new();
    let stream = script.stream(NonBlocking);
    script.call(Call::RegionBegin);
    for _ in 0..10 {
        for part in 0..3 {
            _ = match part {
                0 => script.copy(stream, Way::Up(Host::Pinned), MIB / 2),
                1 => script.kernel(stream, 1056, 4),
                _ => script.copy(stream, Way::Down(Host::Pinned), MIB / 2),
            };
            script.call(Call::HostWork { ns: 100_000, target: None });
        }
        script.synchronize();
    }
    script.call(Call::RegionEnd);
    let bounds = bounds_of_program(&script.program, &h200().into());
    // Thirty times 100 µs, and ten times the three operations of some 10 µs, each with what a call costs. A share
    // ends with its last operation, whatever the host does after that.
    assert!((2_700_000..3_000_000).contains(&bounds.floor_ns), "{bounds:?}");
    assert!((3_200_000..3_600_000).contains(&bounds.serial_ns), "{bounds:?}");
}

#[test]
fn calls_that_ask_the_device_for_nothing_are_in_every_share() {
    let kept = |call: &Call| Share::ALL.map(|share| share.keeps(call));
    assert_eq!(kept(&Call::ContextSynchronize), [true; 3]);
    assert_eq!(kept(&Call::HostWork { ns: 5, target: None }), [true; 3]);
}

#[test]
fn serial_is_a_copy_a_kernel_and_a_copy_that_the_host_waits_for_one_by_one() {
    let (up, down, units) = (64 * MIB, 32 * MIB, 1 << 36);
    let (threads, registers) = (256, 32);
    let kernel = TaskKernel { rate: "map".into(), units, threads, registers, ..Default::default() };
    let work = TaskWork {
        host_to_device_bytes: up,
        device_to_host_bytes: down,
        kernels: vec![kernel],
        host_ns: 7,
        ..TaskWork::default()
    };
    let alone = |add: &dyn Fn(&mut Script, StreamId)| {
        let mut script = Script::new();
        script.call(Call::RegionBegin);
        add(&mut script, StreamId::LEGACY);
        script.synchronize();
        script.call(Call::RegionEnd);
        script.run().region.expect("there is one").ns()
    };
    let us = units / (h200().rates["map"].units_per_us_multiprocessor.value * 132);
    let shares = [
        alone(&|script, stream| _ = script.copy(stream, Way::Up(Host::Pinned), up)),
        alone(&|script, stream| _ = script.kernel(stream, 1056, us)),
        alone(&|script, stream| _ = script.copy(stream, Way::Down(Host::Pinned), down)),
    ];
    let serial_ns = bounds(&work, &h200().into()).expect("the rate is known").serial_ns;
    // The script's kernel takes whole microseconds.
    assert!(serial_ns.abs_diff(shares.iter().sum::<u64>() + 7) <= 1000, "{serial_ns} {shares:?}");
}

#[test]
fn small_kernels_are_alone_in_serial_and_leave_nothing_empty_in_the_floor() {
    let ends = |blocks| {
        let kernel = TaskKernel {
            rate: "map".to_owned(),
            units: 1 << 36,
            threads: 256,
            registers: 32,
            blocks,
            ..TaskKernel::default()
        };
        let work = TaskWork { kernels: vec![kernel], ..TaskWork::default() };
        bounds(&work, &h200().into()).expect("the rate is known")
    };
    let (whole, quarter) = (ends(None), ends(Some(33)));
    assert_eq!(quarter.floor_ns, whole.floor_ns);
    // One block on each leaves a multiprocessor idle now and then, eight do not.
    let ratio = quarter.serial_ns as f64 / whole.serial_ns as f64;
    assert!((4.0..4.1).contains(&ratio), "{ratio}");
    assert_eq!(ends(Some(0)), ends(Some(1)));
}

#[test]
fn a_task_of_many_launches_pays_in_serial_for_each_of_them() {
    let ends = |launches| {
        let kernel = TaskKernel {
            rate: "map".to_owned(),
            units: 1 << 36,
            threads: 256,
            registers: 32,
            launches,
            ..TaskKernel::default()
        };
        let work = TaskWork { kernels: vec![kernel], ..TaskWork::default() };
        bounds(&work, &h200().into()).expect("the rate is known")
    };
    let (one, many) = (ends(None), ends(Some(101)));
    assert_eq!((one, one.floor_ns), (ends(Some(1)), many.floor_ns));
    let h200 = h200();
    let rate = &h200.rates["map"];
    // Each of a hundred more: the gap before it, what is fixed in it, and in each of a multiprocessor's blocks.
    let each = h200.gaps.kernel_ns.value + rate.fixed_ns.value + 8 * rate.block_ns.value;
    let more = many.serial_ns - one.serial_ns;
    assert!((99 * each..102 * each).contains(&more), "{more} against {each} each");
}

#[test]
fn a_request_alone_takes_what_its_copy_up_its_kernel_and_its_copy_down_take_in_one_stream() {
    let (up, down, units, blocks) = (256 << 10, 128 << 10, 1 << 26, 64);
    let (threads, registers) = (256, 32);
    let kernel = TaskKernel {
        rate: "map".into(),
        units,
        threads,
        registers,
        blocks: Some(blocks),
        ..Default::default()
    };
    let request = Request { host_to_device_bytes: up, device_to_host_bytes: down, kernel };
    let work = TaskWork { request: Some(request), ..TaskWork::default() };
    let bounds = bounds(&work, &h200().into()).expect("the rate is known");
    let share = |up, down, units| {
        let kernel = TaskKernel {
            rate: "map".into(),
            units,
            threads,
            registers,
            blocks: Some(blocks),
            ..Default::default()
        };
        let kernels = if units > 0 { vec![kernel] } else { Vec::new() };
        let (host_to_device_bytes, device_to_host_bytes) = (up, down);
        let work =
            TaskWork { host_to_device_bytes, device_to_host_bytes, kernels, ..TaskWork::default() };
        simulator::bounds::bounds(&work, &h200().into()).expect("the rate is known").serial_ns
    };
    // One after the other with a wait after each takes longer than in one stream, and each of them is in it.
    let each = [share(up, 0, 0), share(0, 0, units), share(0, down, 0)];
    assert!(bounds.request_ns < each.iter().sum(), "{} {each:?}", bounds.request_ns);
    assert!(each.iter().all(|alone| bounds.request_ns > *alone), "{} {each:?}", bounds.request_ns);
    // It is no part of the two ends: what all requests take is in the task's work already.
    assert_eq!((bounds.serial_ns, bounds.floor_ns), (0, 0));
}
