//! Two kernels beside each other, against what two devices took for them: how much of each other's time they hide.
//!
//! `figures/pairs.tsv` has the medians, in µs: each kernel alone, both in one stream, both in two streams that begin
//! together. They were measured by `figures/pairs.cu` with `exercises/lab/kernels/cuda`, on an H100 80GB HBM3 and an
//! H200 with 132 multiprocessors each (driver 580.159.04, 2026-11-26).

use std::fmt::Write as _;

use simulator::{Profile, Schedule, replay};
use trace::program::StreamKind::NonBlocking;
use trace::program::{Call, KernelId, Launch, Loop, Pipe, StreamId};

use crate::program::*;

const MEASURED: &str = include_str!("../figures/pairs.tsv");

#[derive(Clone)]
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

    /// As `exercises/lab/kernels/src/pipes.rs` has them.
    fn inner_loop(&self) -> Option<Loop> {
        let (pipe, each_turn, chains, others) = match self.rate.as_str() {
            "fma" => (Pipe::Floats, 128, 8, 3),
            "chain" => (Pipe::Floats, 16, 1, 3),
            "stream" => (Pipe::Memory, 1, 1, 51),
            "tensor" => (Pipe::Tensor, 16, 4, 5),
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
            bytes: 8 * self.words,
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
    let mut script = Script::new();
    let streams = [script.stream(NonBlocking), script.stream(NonBlocking)];
    // 0 is the map that every script has.
    let kernels: Vec<_> = (10..)
        .map(KernelId)
        .zip(kernels)
        .map(|(id, &(kernel, stream))| (id, kernel, stream))
        .collect();
    for (id, kernel, _) in &kernels {
        script.call(kernel.known(*id));
    }
    for (id, kernel, stream) in kernels {
        script.call(kernel.launch(id, streams[stream]));
    }
    let spans = replay(&script.program, profile, Schedule::Exact).spans;
    let from = spans.iter().map(|span| span.start_ns).min().expect("they ran");
    let to = spans.iter().map(|span| span.end_ns).max().expect("they ran");
    (to - from) as f64 / 1000.0
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
