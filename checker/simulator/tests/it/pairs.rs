//! Two kernels beside each other, against what two devices took for them: how much of each other's time they hide.
//!
//! `figures/pairs.tsv` has the medians, in µs: each kernel alone, both in one stream, both in two streams that begin
//! together. They were measured by `figures/pairs.cu` with `exercises/lab/kernels/cuda`, on an H100 80GB HBM3 and an
//! H200 with 132 multiprocessors each (driver 580.159.04, 2026-11-26).

use std::fmt::Write as _;

use simulator::advice::{Change, advise};
use simulator::bounds::{TaskKernel, TaskWork, bounds};
use simulator::{Profile, Schedule, replay};
use trace::causes::{self, Cause, Code};
use trace::program::StreamKind::NonBlocking;
use trace::program::{Call, Items, KernelId, Launch, Loop, Pipe, Program, StreamId};

use crate::program::*;

const MEASURED: &str = include_str!("../figures/pairs.tsv");

#[derive(Clone, PartialEq)]
struct Kernel {
    rate: String,
    blocks: u32,
    threads: u32,
    words: u64,
    rounds: u64,
}

impl Kernel {
    fn read(columns: &[&str]) -> Self {
        let number = |at: usize| columns[at].parse::<u64>().expect("a number");
        Self {
            rate: columns[0].to_owned(),
            blocks: number(1) as u32,
            threads: number(2) as u32,
            words: number(3),
            rounds: number(4),
        }
    }

    fn known(&self, kernel: KernelId) -> Call {
        Call::FunctionGet {
            kernel,
            name: self.rate.clone(),
            rate: self.rate.clone(),
            registers: if self.rate == "chain" { 16 } else { 32 },
            shared_bytes: 0,
            items: None,
            inner_loop: self.inner_loop(),
        }
    }

    /// As `exercises/lab/kernels` has them.
    fn inner_loop(&self) -> Option<Loop> {
        let (pipe, each_turn, chains, others) = match self.rate.as_str() {
            "fma" => (Pipe::Floats, 128, 8, 3),
            "chain" => (Pipe::Floats, 16, 1, 3),
            "stream" => (Pipe::Memory, 1, 1, 51),
            "tensor" => (Pipe::Tensor, 16, 4, 5),
            "map" => (Pipe::Integers, 64, 4, 3),
            _ => return None,
        };
        Some(Loop { pipe, each_turn, chains, others })
    }

    fn launch(&self, kernel: KernelId, stream: StreamId) -> Call {
        Call::Launch(Launch {
            kernel,
            stream,
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            shared_bytes: 0,
            units: self.words * self.rounds,
            bytes: 8 * self.words * if self.rate == "stream" { self.rounds } else { 1 },
            accesses: Vec::new(),
        })
    }

    fn words(&self) -> String {
        format!("{} {}x{}", self.rate, self.blocks, self.threads)
    }
}

struct Pair {
    a: Kernel,
    b: Kernel,
    /// Of an H200, in µs: a alone, b alone, in one stream, in two.
    measured: [f64; 4],
}

fn pairs() -> Vec<Pair> {
    let read = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let us = |at: usize| columns[at].parse().expect("a time");
        let (a, b) = (Kernel::read(&columns[..5]), Kernel::read(&columns[5..10]));
        Pair { a, b, measured: [us(14), us(15), us(16), us(17)] }
    };
    MEASURED.lines().skip(1).map(read).collect()
}

/// From the start of the first to the end of the last, in µs, of kernels in the streams with these numbers.
fn simulated_us(profile: &Profile, kernels: &[(&Kernel, usize)]) -> f64 {
    us_of(profile, &program(kernels))
}

fn us_of(profile: &Profile, program: &Program) -> f64 {
    let spans = replay(program, profile, Schedule::Exact).spans;
    let from = spans.iter().map(|span| span.start_ns).min().expect("they ran");
    let to = spans.iter().map(|span| span.end_ns).max().expect("they ran");
    (to - from) as f64 / 1000.0
}

fn program(kernels: &[(&Kernel, usize)]) -> Program {
    let mut script = Script::new();
    let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
    // 0 is the map that every script has.
    let first = |kernel: &Kernel| kernels.iter().position(|(it, _)| *it == kernel).expect("itself");
    let kernels: Vec<_> = kernels
        .iter()
        .map(|&(kernel, stream)| (KernelId(10 + first(kernel) as u32), kernel, stream))
        .collect();
    for (at, (id, kernel, _)) in kernels.iter().enumerate() {
        if id.0 == 10 + at as u32 {
            script.call(kernel.known(*id));
        }
    }
    for (id, kernel, stream) in kernels {
        script.call(kernel.launch(id, streams[stream]));
    }
    script.call(Call::ContextSynchronize);
    script.program
}

/// In percent of what was measured.
fn off_by(simulated: f64, measured: f64) -> f64 {
    100.0 * (simulated - measured) / measured
}

#[test]
fn each_kernel_alone_and_both_in_one_stream_take_what_an_h200_took_to_a_tenth() {
    let profile = h200();
    for Pair { a, b, measured } in pairs() {
        let simulated = [
            simulated_us(&profile, &[(&a, 0)]),
            simulated_us(&profile, &[(&b, 0)]),
            simulated_us(&profile, &[(&a, 0), (&b, 0)]),
        ];
        for (simulated, measured) in simulated.into_iter().zip(measured) {
            let off = off_by(simulated, measured);
            assert!(
                off.abs() <= 10.0,
                "{}, {}: {simulated:.0} and {measured:.0} µs, {off:.1} % off",
                a.words(),
                b.words()
            );
        }
    }
}

/// Today's answers, right and wrong: what is off by more than a tenth stands on the page of limits (`src/lib.rs`).
#[test]
fn what_two_streams_gain_is_told_pair_by_pair_against_an_h200() {
    let profile = h200();
    let mut table = String::new();
    for Pair { a, b, measured: [alone_a, alone_b, one, two] } in pairs() {
        let simulated = simulated_us(&profile, &[(&a, 0), (&b, 1)]);
        let gain = |us: f64| one / us;
        let _ = writeln!(
            table,
            "{:<16} {:<16} one stream {one:>5.0}, two {two:>5.0}, simulated {simulated:>5.0}: off by {:>6.1} %, gain {:.2} of {:.2}",
            a.words(),
            b.words(),
            off_by(simulated, two),
            gain(two),
            one / alone_a.max(alone_b),
        );
    }
    insta::assert_snapshot!(table);
}

/// One of 132 blocks for each `blocks`, with the work that 132 do in 600 µs.
fn tensor(blocks: u32) -> Kernel {
    let (threads, words, rounds) = (256, 540_672, 22_400);
    Kernel { rate: "tensor".to_owned(), blocks, threads, words, rounds }
}

fn stream(blocks: u32) -> Kernel {
    let (threads, words, rounds) = (256, 1 << 28, 1);
    Kernel { rate: "stream".to_owned(), blocks, threads, words, rounds }
}

fn fma(blocks: u32) -> Kernel {
    let (threads, words, rounds) = (256, 270_336, 72_000);
    Kernel { rate: "fma".to_owned(), blocks, threads, words, rounds }
}

#[test]
fn who_finds_the_device_full_gets_few_multiprocessors_and_who_comes_first_leaves_them_all() {
    let profile = h200();
    let us = |first: &Kernel, second: &Kernel| simulated_us(&profile, &[(first, 0), (second, 1)]);
    let alone = simulated_us(&profile, &[(&tensor(132), 0)]);
    // Seven or eight of its blocks share a multiprocessor, and the others are empty.
    let late = us(&stream(1056), &tensor(132));
    assert!((7.0..9.0).contains(&(late / alone)), "{late} and {alone}");
    for (first, second) in
        [(tensor(132), stream(1056)), (tensor(132), stream(924)), (stream(528), tensor(132))]
    {
        let both = us(&first, &second);
        assert!(both < 1.25 * alone, "{} {}: {both} and {alone}", first.words(), second.words());
    }
}

#[test]
fn grids_of_half_the_device_lie_side_by_side() {
    let profile = h200();
    let alone = simulated_us(&profile, &[(&tensor(66), 0)]);
    let both = simulated_us(&profile, &[(&tensor(66), 0), (&fma(66), 1)]);
    assert!(both < 1.1 * alone, "{both} and {alone}");
}

#[test]
fn beside_a_kernel_that_says_nothing_those_that_do_share_the_device_as_if_they_did_not() {
    let profile = h200();
    let map = Kernel { rate: "map".to_owned(), rounds: 80_000, ..fma(528) };
    for other in [tensor(264), stream(528), fma(132)] {
        let silence = |mut program: Program, all: bool| {
            for step in &mut program.steps {
                if let Call::FunctionGet { inner_loop, rate, .. } = &mut step.call
                    && (all || rate == "map")
                {
                    *inner_loop = None;
                }
            }
            program
        };
        let saying = silence(program(&[(&other, 0), (&map, 1)]), false);
        let silent = silence(saying.clone(), true);
        let ends = |program: &Program| {
            let spans = replay(program, &profile, Schedule::Exact).spans;
            spans.iter().map(|span| span.end_ns).collect::<Vec<_>>()
        };
        for (saying, silent) in ends(&saying).into_iter().zip(ends(&silent)) {
            assert!(saying.abs_diff(silent) * 100 < silent, "{}: {saying} {silent}", other.words());
        }
    }
}

/// Blocks of a map with so many elements for each thread.
fn map(blocks: u32, each: u64, rounds: u64) -> Kernel {
    Kernel {
        rate: "map".to_owned(),
        blocks,
        threads: 256,
        words: u64::from(blocks) * 256 * each,
        rounds,
    }
}

#[test]
fn young_blocks_of_a_map_wait_for_old_ones_where_they_share_a_multiprocessor() {
    // `figures/maps.txt` has what an H200 did: 152 and 274 us.
    let [old, young] = [map(64, 256, 260), map(512, 16, 1000)];
    let spans = replay(&program(&[(&old, 0), (&young, 1)]), &h200(), Schedule::Exact).spans;
    let [old, young] = [0, 1].map(|at: usize| (spans[at].end_ns - spans[0].start_ns) as f64 / 1e3);
    assert!((135.0..155.0).contains(&old), "{old}");
    assert!((260.0..290.0).contains(&young), "{young}");
    // Alone, the young ones take as long as four of them on each multiprocessor.
    let alone = simulated_us(&h200(), &[(&map(512, 16, 1000), 0)]);
    assert!((130.0..150.0).contains(&alone), "{alone}");
}

#[test]
fn a_streaming_map_on_few_multiprocessors_has_more_than_their_part_of_the_bandwidth() {
    // `figures/streams.txt` has what an H200 did.
    let us = |blocks| simulated_us(&h200(), &[(&Kernel { words: 64 << 20, ..stream(blocks) }, 0)]);
    for (blocks, measured) in [
        (1, 9647.4),
        (4, 2542.7),
        (16, 685.3),
        (33, 371.4),
        (66, 218.8),
        (80, 192.8),
        (99, 174.0),
        (116, 164.6),
        (132, 159.7),
    ] {
        let off = off_by(us(blocks), measured);
        assert!(
            off.abs() < 8.0,
            "{blocks} blocks: {:.0} and {measured} us, {off:.1} %",
            us(blocks)
        );
    }
    // So it has beside a small kernel that does not say what its warps issue.
    let map = Kernel { words: 64 << 20, ..stream(66) };
    let silent = Kernel { rate: "normalise".to_owned(), words: 1 << 18, ..stream(1) };
    let spans = replay(&program(&[(&silent, 1), (&map, 0)]), &h200(), Schedule::Exact).spans;
    let [beside, silent] = [1, 0].map(|at: usize| spans[at].interval().ns() as f64 / 1000.0);
    assert!(silent > beside && beside < 1.05 * us(66), "{beside} and {}, {silent}", us(66));
}

/// From its start to its end, in µs, of a product with so many rounds that starts right after a map that lasts.
fn product_amid_a_map(each: u32, rounds: u64) -> f64 {
    let map = Kernel { rounds: 64, words: 1 << 24, ..stream(each * 132) };
    let product = Kernel { rounds, ..tensor(132) };
    let program = sharing_items(program(&[(&map, 0), (&product, 1)]));
    let spans = replay(&program, &h200(), Schedule::Exact).spans;
    assert!(spans[1].end_ns < spans[0].end_ns);
    spans[1].interval().ns() as f64 / 1000.0
}

#[test]
fn a_product_amid_a_streaming_map_waits_for_memory_and_its_loop_is_an_eighth_slower() {
    // Means of the two medians in `figures/beside.txt`: of a product that began before the map and after it.
    for (each, short, long) in [
        (1, 176.1, 1200.8),
        (2, 185.0, 1233.2),
        (3, 193.2, 1231.5),
        (4, 201.1, 1231.6),
        (6, 219.5, 1249.2),
        (7, 237.6, 1261.3),
    ] {
        for (rounds, measured) in [(5600, short), (40_000, long)] {
            let us = product_amid_a_map(each, rounds);
            let off = off_by(us, measured);
            assert!(
                off.abs() < 8.0,
                "{each} a SM, {rounds} rounds: {us:.1} and {measured} us, {off:.1} %"
            );
        }
    }
}

#[test]
fn a_kernel_of_however_many_items_waits_for_memory_and_comes_to_its_end() {
    let map = Kernel { rounds: u64::MAX >> 33, words: 1 << 24, ..stream(132) };
    let product = Kernel { words: u64::MAX >> 4, rounds: 1, ..tensor(132) };
    let program = sharing_items(program(&[(&product, 0), (&map, 1)]));
    assert_eq!(replay(&program, &h200(), Schedule::Exact).spans.len(), 2);
}

#[test]
fn the_next_product_amid_a_streaming_map_starts_later_because_its_launch_waits_for_memory_too() {
    // From one start to the next: the first two products of `figures/steps.txt`.
    for (each, measured) in [(6, 236.0), (7, 238.9)] {
        let map = Kernel { rounds: 64, words: 1 << 24, ..stream(each * 132) };
        let product = Kernel { rounds: 5600, ..tensor(132) };
        let program = sharing_items(program(&[(&product, 0), (&map, 1), (&product, 0)]));
        let spans = replay(&program, &h200(), Schedule::Exact).spans;
        let us = (spans[2].start_ns - spans[0].start_ns) as f64 / 1000.0;
        assert!(off_by(us, measured).abs() < 4.0, "{us} and {measured} us");
    }
}

#[test]
fn blocks_of_a_streaming_map_end_early_where_they_are_old_and_near_to_memory() {
    // When a product finds room. In `figures/beside.txt` the first multiprocessors are done after 0.72 of a map of eight
    // blocks on each, and the first block of one ends after 0.86 of that: 0.62.
    let first = |map: &Kernel| {
        let spans =
            replay(&program(&[(map, 0), (&tensor(132), 1)]), &h200(), Schedule::Exact).spans;
        let [map, product] = [&spans[0], &spans[1]];
        (product.start_ns - map.start_ns) as f64 / map.interval().ns() as f64
    };
    let part = first(&stream(1056));
    assert!((0.55..0.66).contains(&part), "{part}");
}

#[test]
fn with_room_for_all_a_product_is_still_crowded_where_some_multiprocessors_are_emptier() {
    // `figures/steps.txt` has what an H200 did.
    let profile = h200();
    let us = |each: u32| {
        let map = Kernel { rounds: 4, words: 1 << 24, ..stream(each * 132) };
        let product = Kernel { rounds: 5600, ..tensor(132) };
        let pairs = [(&product, 0), (&map, 1)];
        simulated_us(&profile, &pairs.repeat(6))
    };
    assert!(us(7) > 1.15 * us(1), "{} and {}", us(7), us(1));
}

#[test]
fn blocks_after_the_last_item_have_nothing_to_do_but_the_others_come_to_fewer_multiprocessors() {
    let profile = h200();
    let with_items = |blocks| us_of(&profile, &sharing_items(program(&[(&tensor(blocks), 0)])));
    let (exact, more, fewer) = (with_items(132), with_items(1056), with_items(66));
    assert_eq!(exact.to_bits(), with_items(198).to_bits());
    for twice in [more, fewer] {
        assert!((1.9..2.1).contains(&(twice / exact)), "{twice} and {exact}");
    }
}

#[test]
fn the_floor_of_kernels_that_need_different_pipes_is_that_of_the_longest() {
    let floor = |pipes: [Option<Pipe>; 2]| {
        let kernel = |(rate, pipe): (&str, Option<Pipe>)| {
            let (rate, units) = (rate.to_owned(), 1 << 33);
            let inner_loop = pipe.map(|pipe| Loop { pipe, each_turn: 1, chains: 1, others: 0 });
            TaskKernel {
                rate,
                units,
                inner_loop,
                threads: 256,
                registers: 32,
                ..Default::default()
            }
        };
        let kernels = ["tensor", "fma"].into_iter().zip(pipes).map(kernel).collect();
        let work = TaskWork { kernels, ..TaskWork::default() };
        bounds(&work, &h200().into()).expect("the rates are known")
    };
    let apart = floor([Some(Pipe::Tensor), Some(Pipe::Floats)]);
    let alike = floor([None, None]);
    assert!(apart.serial_ns.abs_diff(alike.serial_ns) <= 1, "rounded");
    assert!(apart.floor_ns < alike.floor_ns && 2 * apart.floor_ns > alike.floor_ns);
}

/// The same, whose kernels say what their threads share out.
fn sharing_items(mut program: Program) -> Program {
    for step in &mut program.steps {
        if let Call::FunctionGet { items, rate, .. } = &mut step.call {
            // Of a product what a thread has of four tiles: 132 blocks have one for each of their threads.
            let (bytes, waits) = if rate == "tensor" { (128, 17) } else { (8, 1) };
            *items = Some(Items { bytes, together: 1, waits });
        }
    }
    program
}

fn found(program: &Program) -> Vec<Cause> {
    causes::find(program, &replay(program, &h200(), Schedule::Exact))
}

#[test]
fn two_kernels_that_need_different_parts_of_a_multiprocessor_need_not_share_a_stream() {
    let codes = |first: &Kernel, second: &Kernel| {
        found(&program(&[(first, 0), (second, 0)])).iter().map(|it| it.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&stream(1056), &tensor(132)), [Code::SharedStream]);
    assert_eq!(codes(&fma(132), &tensor(132)), []);
    assert_eq!(codes(&stream(1056), &stream(132)), []);
}

#[test]
fn a_small_kernel_that_would_find_no_room_is_advised_to_come_first() {
    let program = program(&[(&stream(1056), 0), (&tensor(132), 0)]);
    let advised = advise(&program, found(&program), &h200(), &|_| true);
    let [advice] = &advised.advice[..] else { panic!("{:?}", advised.advice) };
    assert_eq!(advice.change, Change::OwnStreamFirst);
    assert!(advice.after_ns * 100 < advice.before_ns * 60, "{advice:?}");
}

#[test]
fn a_kernel_that_fills_the_device_is_advised_to_leave_room_if_its_blocks_share_out_items() {
    let full = program(&[(&stream(1056), 0), (&tensor(132), 1)]);
    assert_eq!(advise(&full, found(&full), &h200(), &|_| true).advice, []);
    let full = sharing_items(full);
    let advised = advise(&full, found(&full), &h200(), &|_| true);
    let [advice] = &advised.advice[..] else { panic!("{:?}", advised.advice) };
    assert_eq!(advice.change, Change::LeaveRoom { now: 132, before: 1056 });
    assert!(advice.after_ns * 5 < advice.before_ns, "{advice:?}");
}

#[test]
fn a_kernel_that_finds_room_on_a_few_multiprocessors_only_is_advised_to_be_left_more() {
    let map = Kernel { rounds: 4, words: 1 << 24, ..stream(7 * 132) };
    let product = Kernel { rounds: 5600, ..tensor(132) };
    let program = sharing_items(program(&[(&product, 0), (&map, 1)].repeat(6)));
    let advised = advise(&program, found(&program), &h200(), &|_| true);
    let [cause] = &advised.causes[..] else { panic!("{:?}", advised.causes) };
    assert_eq!(cause.code, Code::FullDevice);
    let [advice] = &advised.advice[..] else { panic!("{:?}", advised.advice) };
    assert_eq!(advice.change, Change::LeaveRoom { now: 132, before: 924 });
    assert!(advice.after_ns * 100 < advice.before_ns * 60, "{advice:?}");
}

#[test]
fn a_stream_that_gains_nothing_alone_is_a_cause_for_what_it_opens_the_way_to() {
    let (map, product) = (stream(1056), tensor(132));
    let program = sharing_items(program(&[(&map, 0), (&product, 0)].repeat(3)));
    let advised = advise(&program, found(&program), &h200(), &|_| true);
    let [first, second] = &advised.advice[..] else { panic!("{:?}", advised.advice) };
    assert_eq!((first.change, first.gain_ns()), (Change::StreamForEachBranch, 0));
    assert_eq!(second.change, Change::LeaveRoom { now: 132, before: 1056 });
    let [cause] = &advised.causes[..] else { panic!("{:?}", advised.causes) };
    assert_eq!(cause.code, Code::SharedStream);
    assert_eq!(cause.cost_ns, first.before_ns - second.after_ns);
}

#[test]
fn a_small_kernel_that_waits_for_a_full_device_loses_its_own_time_too() {
    let cause = |first: &Kernel, second: &Kernel| {
        let found = found(&program(&[(first, 0), (second, 1)]));
        found.into_iter().find(|it| it.code == Code::FullDevice).map(|it| it.cost_ns)
    };
    // It waits for 0.5 of 5.4 ms, and is alone on few multiprocessors in the rest.
    let cost_ns = cause(&stream(1056), &tensor(132)).expect("it finds no room");
    assert!(cost_ns > 4_000_000, "{cost_ns}");
    assert_eq!(cause(&tensor(132), &stream(1056)), None);
}
