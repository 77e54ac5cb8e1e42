//! The orders that the device plays, held against what the oracle of the hazard search says of the same
//! programs: no documented order is ever broken, whatever the schedule; and of two uses of memory that
//! nothing orders, either can come first.

use std::collections::{BTreeMap, BTreeSet};

use simulator::Schedule;
use simulator::device::{Answer, At, Device, Effects};
use simulator::machine::Watch;
use trace::Program;
use trace::hazards::{self, Hazard, Usage};
use trace::program::{Call, KernelId};

use crate::program::h200;
use crate::script;

#[path = "../../../trace/tests/it/hazards/correct.rs"]
mod correct;
#[path = "../../../trace/tests/it/hazards/oracle.rs"]
#[expect(dead_code, reason = "the tests of `trace` use all of it")]
mod oracle;
#[path = "../../../trace/tests/it/hazards/racy.rs"]
mod racy;

use oracle::{Frees, Oracle};

/// When everything happened, as places in one sequence.
#[derive(Default)]
struct Played {
    next: u32,
    calls: BTreeMap<u32, u32>,
    starts: BTreeMap<(u32, u32), u32>,
    ends: BTreeMap<(u32, u32), u32>,
}

impl Played {
    fn now(&mut self) -> u32 {
        self.next += 1;
        self.next
    }
}

impl Effects for Played {
    fn start(&mut self, step: u32, node: u32) {
        let now = self.now();
        self.starts.insert((step, node), now);
    }
    fn end(&mut self, step: u32, node: u32) {
        let now = self.now();
        self.ends.insert((step, node), now);
    }
}

/// Far more than it takes: the longest operation of a script takes microseconds.
const MOST_QUERIES: u32 = 10_000;

fn asks(call: &Call) -> bool {
    matches!(call, Call::StreamQuery { .. } | Call::EventQuery { .. } | Call::EventElapsed { .. })
}

/// Plays a program of one host thread; whether its pair came the other way round.
fn play(program: &Program, schedule: Schedule) -> (Played, bool) {
    let mut device = Device::new(h200(), schedule);
    let mut played = Played::default();
    let map = Call::FunctionGet {
        kernel: KernelId(0),
        name: "map".to_owned(),
        rate: "map".to_owned(),
        registers: 32,
        shared_bytes: 0,
        items: None,
        inner_loop: None,
    };
    device.call(u32::MAX, &map, &mut played);
    for (index, step) in (0..).zip(&program.steps) {
        if step.result == 0 {
            let now = played.now();
            played.calls.insert(index, now);
            // What was found to be over is asked about until it is.
            let is_over = |answer: Option<Answer>| {
                answer.is_some_and(|it| match step.call {
                    Call::EventElapsed { .. } => it.elapsed_ns.is_some(),
                    _ => it.yes,
                })
            };
            for _ in 0..MOST_QUERIES {
                if is_over(device.call(index, &step.call, &mut played)) || !asks(&step.call) {
                    break;
                }
                device.call(u32::MAX, &Call::HostWork { ns: 1000, target: None }, &mut played);
            }
        }
    }
    device.run_to_idle(&mut played);
    assert!(device.is_idle() && !device.is_at_work());
    (played, device.is_reversed())
}

/// The first documented order that was not kept.
fn broken(program: &Program, played: &Played) -> Option<String> {
    let oracle = Oracle::new(program, Frees::Return);
    let orders = oracle.orders();
    let ends = |step| {
        let of_step = played.ends.range((step, 0)..=(step, u32::MAX));
        of_step.map(|(_, &at)| at).max()
    };
    let starts = |step| {
        let of_step = played.starts.range((step, 0)..=(step, u32::MAX));
        of_step.map(|(_, &at)| at).min().or_else(|| ends(step))
    };
    for second in 0..program.steps.len() as u32 {
        for first in 0..second {
            let (before_call, before_start) = orders(first, second);
            let Some(over) = ends(first) else { continue };
            let called = played.calls.get(&second).copied();
            if before_call && called.is_some_and(|at| at < over) {
                return Some(format!("step {second} was called before step {first} was over"));
            }
            if before_start && starts(second).is_some_and(|at| at < over) {
                return Some(format!("step {second} started before step {first} was over"));
            }
        }
    }
    None
}

fn has_threads(program: &Program) -> bool {
    program.steps.iter().any(|step| step.thread != 0)
}

/// The corpus of the hazard search: name, program.
fn corpus() -> impl Iterator<Item = (&'static str, Program)> {
    let racy = racy::all().map(|&(name, script, _)| (name, script));
    let all = correct::PROGRAMS.iter().copied().chain(racy);
    all.map(|(name, script)| (name, script::program(script))).filter(|it| !has_threads(&it.1))
}

#[test]
fn a_hundred_schedules_break_no_documented_order() {
    let mut orders = 0;
    for (name, program) in corpus() {
        let mut different = BTreeSet::new();
        for seed in 0..100 {
            let (played, _) = play(&program, Schedule::Perturbed(seed));
            assert_eq!(broken(&program, &played), None, "{name}, seed {seed}");
            different.insert(played.ends.into_iter().collect::<Vec<_>>());
        }
        orders += different.len();
    }
    // One of each would show nothing.
    assert!(orders > 300, "{orders}");
}

fn pair(hazard: &Hazard) -> (At, At) {
    let at = |call: &hazards::CallAt| At { step: call.step, node: call.node };
    (at(&hazard.first.call), at(&hazard.second.call))
}

#[test]
fn of_two_uses_that_nothing_orders_the_later_can_come_first() {
    let (mut tried, mut not_played) = (0, Vec::new());
    for (name, program) in corpus() {
        for hazard in hazards::find(&program) {
            // What the host has done, and memory that is gone, cannot wait for anything.
            if hazard.first.usage == Usage::Free || hazard.first.stream.is_none() {
                continue;
            }
            tried += 1;
            let (first, second) = pair(&hazard);
            let (played, is_reversed) = play(&program, Schedule::Reversed { first, second });
            assert_eq!(broken(&program, &played), None, "{name}");
            if !is_reversed {
                not_played.push(name);
                continue;
            }
            let over = played.ends.get(&(second.step, second.node));
            let over = over.or(played.calls.get(&second.step)).expect("it took place");
            let began = played.starts.get(&(first.step, first.node));
            let began = began.or(played.ends.get(&(first.step, first.node)));
            assert!(over < began.expect("it took place"), "{name}");
            // Played in the order of the calls, it comes as it was asked for.
            let (meant, _) = play(&program, Schedule::InOrder);
            assert_eq!(broken(&program, &meant), None, "{name}");
        }
    }
    assert!(tried > 80, "{tried}");
    // In turn: a driver refuses that wait; and this copy holds the host here, where it need not.
    insta::assert_snapshot!(not_played.join("\n"), @r"
    the event was destroyed before the wait
    an asynchronous copy to pageable memory holds nobody
    ");
}

#[test]
fn what_comes_after_an_upload_that_waits_goes_first_only_if_the_source_is_pageable() {
    let goes_first = |script: &str| {
        let program = script::program(script);
        let kernel = program.steps.len() as u32 - 1;
        let [first, second] = [kernel - 1, kernel].map(|step| At { step, node: 0 });
        play(&program, Schedule::Reversed { first, second }).1
    };
    // Of pageable memory the call has read its source, and the documentation promises no more.
    assert_eq!(["up! h x; k b x > y", "upp a x; k b x > y"].map(goes_first), [false, true]);
}

#[test]
fn in_the_order_that_the_host_meant_the_nodes_of_a_launch_take_turns() {
    let program = script::program(
        "cap a; rec e a; wait b e; k a > x; k b x > y; rec f b; wait a f; endcap; inst; go a",
    );
    let launch = program.steps.len() as u32 - 1;
    let follows = |schedule| {
        let (played, _) = play(&program, schedule);
        played.ends[&(launch, 1)] < played.starts[&(launch, 2)]
    };
    // Nothing orders the two branches.
    assert_eq!([Schedule::Exact, Schedule::InOrder].map(follows), [false, true]);
}

#[test]
fn schedules_and_watches_are_told_from_process_to_process() {
    let (first, second) = (At { step: 12, node: 0 }, At { step: 15, node: 3 });
    for (schedule, text) in [
        (Schedule::Exact, "exact"),
        (Schedule::Perturbed(17), "17"),
        (Schedule::InOrder, "in-order"),
        (Schedule::Reversed { first, second }, "15.3<12.0"),
    ] {
        assert_eq!(schedule.to_string(), text);
        assert_eq!(text.parse(), Ok(schedule));
    }
    for wrong in ["", "-1", "inorder", "1<2", "1.0<", "1.0<2.x"] {
        assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
    }
    let range = trace::program::Range { block: trace::program::BlockId(4), offset: 64, bytes: 32 };
    let watch = Watch { first, second, range };
    assert_eq!(watch.to_string(), "12.0,15.3,4,64,32");
    assert_eq!(watch.to_string().parse(), Ok(watch));
    assert!("12.0,15.3,4,64".parse::<Watch>().is_err());
}
