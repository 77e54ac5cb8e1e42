//! Random small programs of several host threads. The oracle plays every order of their calls that messages, spawns
//! and joins allow: two uses are in order only where they are so, and the same way round, in all of them.

use std::collections::{BTreeMap, BTreeSet};

use trace::Program;
use trace::hazards;
use trace::program::{Call, ChannelId, EventId, Extent, Step, StreamId, Timing};

use super::oracle::{Frees, Oracle};
use super::random::{
    Blocks, Dice, copy, launch, listing, on_two_devices, push, stream_create, vague,
};

/// Orders that are played of one program; where there are more, so many are drawn by lot.
const MOST_ORDERS: usize = 300;

/// A program of two to four threads, in one order of its calls.
fn random(seed: u64) -> Program {
    let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1);
    for _ in 0..4 {
        dice.below(2);
    }
    let mut program = Program::new(1);
    let mut streams = vec![StreamId::LEGACY, StreamId::PER_THREAD];
    for number in 0..1 + dice.below(2) as u32 {
        let stream = StreamId(StreamId::FIRST_CREATED + number);
        push(&mut program, stream_create(&mut dice, stream.0), 0, 0);
        streams.push(stream);
    }
    if dice.below(2) == 0 {
        streams.drain(..2);
    }
    let events = [EventId(0), EventId(1)];
    for event in events {
        push(&mut program, Call::EventCreate { event, timing: Timing::Enabled }, 0, 0);
    }
    let mut blocks = Blocks { device: Vec::new(), host: Vec::new(), next: 0 };
    for _ in 0..1 + dice.below(2) {
        let block = blocks.add();
        blocks.device.push(block);
        push(&mut program, Call::Alloc { block, bytes: 64 }, 0, 0);
    }
    let block = blocks.add();
    blocks.host.push(block);
    push(&mut program, Call::AllocHost { block, bytes: 64 }, 0, 0);

    let threads = 2 + dice.below(3) as u32;
    let channels = threads * threads;
    for channel in 0..channels {
        let channel = ChannelId(channel);
        push(&mut program, Call::ChannelCreate { channel, capacity: None }, 0, 0);
    }
    if dice.below(2) == 0 {
        operation(&mut program, &mut dice, &blocks, &streams, &events, 0);
    }
    for thread in 1..threads {
        push(&mut program, Call::ThreadSpawn { thread }, 0, 0);
    }
    let mut alive: Vec<u32> = (0..threads).collect();
    let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
    let mut on_the_way: Vec<(u32, u32, u32)> = Vec::new(); // channel, message, to whom
    let length = if threads == 2 { 5 + dice.below(5) } else { 4 + dice.below(4) };
    for _ in 0..length {
        let thread = dice.of(&alive);
        match dice.below(7) {
            0 | 1 if threads > 1 => {
                let to = dice.of(&alive);
                if to != thread {
                    let channel = thread * threads + to;
                    let message = sent.entry(channel).or_default();
                    let call =
                        Call::ChannelSend { channel: ChannelId(channel), message: Some(*message) };
                    on_the_way.push((channel, *message, to));
                    *message += 1;
                    push(&mut program, call, thread, 0);
                }
            }
            2 | 3 if on_the_way.iter().any(|it| alive.contains(&it.2)) => {
                let at = on_the_way.iter().position(|it| alive.contains(&it.2)).expect("one");
                let (channel, message, to) = on_the_way.remove(at);
                let (channel, message) = (ChannelId(channel), Some(message));
                push(&mut program, Call::ChannelReceive { channel, message }, to, 0);
            }
            4 if thread > 0 && dice.below(3) == 0 => {
                push(&mut program, Call::ThreadEnd, thread, 0);
                alive.retain(|it| *it != thread);
                if dice.below(2) == 0 {
                    push(&mut program, Call::ThreadJoin { thread }, 0, 0);
                }
            }
            _ => operation(&mut program, &mut dice, &blocks, &streams, &events, thread),
        }
    }
    if seed.is_multiple_of(2) {
        on_two_devices(&mut program, &mut dice);
    }
    program
}

fn operation(
    program: &mut Program,
    dice: &mut Dice,
    blocks: &Blocks,
    streams: &[StreamId],
    events: &[EventId],
    thread: u32,
) {
    let (stream, event) = (dice.of(streams), dice.of(events));
    let call = match dice.below(16) {
        0..=4 => launch(dice, blocks, stream),
        5 | 6 => copy(dice, blocks, stream),
        7 | 8 => Call::EventRecord { event, stream },
        9..=11 => Call::StreamWait { stream, event },
        12 => Call::StreamSynchronize { stream },
        13 => Call::EventSynchronize { event },
        14 => Call::ContextSynchronize,
        _ => Call::HostAccess { accesses: vague(dice, blocks), extent: Extent::Whole },
    };
    push(program, call, thread, 0);
}

/// The orders of the steps that the threads allow, each as a list of steps, and whether these are all.
fn orders(program: &Program, dice: &mut Dice) -> (Vec<Vec<usize>>, bool) {
    let mut by_thread: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (index, step) in program.steps.iter().enumerate() {
        by_thread.entry(step.thread).or_default().push(index);
    }
    let lists: Vec<Vec<usize>> = by_thread.into_values().collect();
    let mut found = Vec::new();
    let mut so_far = Vec::new();
    let is_all = all_orders(program, &lists, &mut vec![0; lists.len()], &mut so_far, &mut found);
    if !is_all {
        found.truncate(MOST_ORDERS / 10);
        while found.len() < MOST_ORDERS {
            let mut next = vec![0; lists.len()];
            let mut order = Vec::new();
            while order.len() < program.steps.len() {
                let can: Vec<usize> = (0..lists.len())
                    .filter(|&list| may_be_next(program, &lists[list], next[list], &order))
                    .collect();
                let list = dice.of(&can);
                order.push(lists[list][next[list]]);
                next[list] += 1;
            }
            found.push(order);
        }
    }
    (found, is_all)
}

/// Whether there are no more than can be played.
fn all_orders(
    program: &Program,
    lists: &[Vec<usize>],
    next: &mut [usize],
    so_far: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) -> bool {
    if so_far.len() == program.steps.len() {
        found.push(so_far.clone());
        return found.len() <= MOST_ORDERS;
    }
    for list in 0..lists.len() {
        if may_be_next(program, &lists[list], next[list], so_far) {
            so_far.push(lists[list][next[list]]);
            next[list] += 1;
            let goes_on = all_orders(program, lists, next, so_far, found);
            next[list] -= 1;
            so_far.pop();
            if !goes_on {
                return false;
            }
        }
    }
    true
}

fn may_be_next(program: &Program, list: &[usize], next: usize, so_far: &[usize]) -> bool {
    let Some(&index) = list.get(next) else { return false };
    let step = &program.steps[index];
    let has_been =
        |wanted: &dyn Fn(&Step) -> bool| so_far.iter().any(|&it| wanted(&program.steps[it]));
    let is_started = next > 0
        || step.thread == 0
        || has_been(&|it| it.call == Call::ThreadSpawn { thread: step.thread });
    is_started
        && match step.call {
            Call::ChannelReceive { channel, message } => {
                has_been(&|it| it.call == Call::ChannelSend { channel, message })
            }
            Call::ThreadJoin { thread } => {
                has_been(&|it| it.thread == thread && it.call == Call::ThreadEnd)
            }
            _ => true,
        }
}

/// The pairs of steps that are not in the same order however the threads run.
fn racing(program: &Program, orders: &[Vec<usize>]) -> BTreeSet<(u32, u32)> {
    let mut racing = BTreeSet::new();
    let mut directions: BTreeMap<(u32, u32), bool> = BTreeMap::new();
    for order in orders {
        let steps = order.iter().map(|&index| program.steps[index].clone()).collect();
        let played = Program { steps, ..program.clone() };
        let oracle = Oracle::new(&played, Frees::Return);
        let pair = |(first, second): (u32, u32)| {
            let (first, second) = (order[first as usize] as u32, order[second as usize] as u32);
            ((first.min(second), first.max(second)), first < second)
        };
        racing.extend(oracle.pairs().into_keys().map(|it| pair(it).0));
        for (pair, direction) in oracle.conflicts().into_keys().map(pair) {
            if *directions.entry(pair).or_insert(direction) != direction {
                racing.insert(pair);
            }
        }
    }
    racing
}

fn check(seeds: std::ops::RangeInclusive<u64>) {
    let (mut racy, mut clean, mut whole) = (0, 0, 0);
    for seed in seeds.clone() {
        let program = random(seed);
        let (orders, is_all) = orders(&program, &mut Dice(seed | 1));
        let racing = racing(&program, &orders);
        let found: BTreeSet<(u32, u32)> = hazards::find(&program)
            .iter()
            .map(|it| (it.first.call.step, it.second.call.step))
            .collect();
        let context = || {
            format!(
                "seed {seed}, {} orders\n{}\nfound {found:?}\nracing {racing:?}",
                orders.len(),
                listing(&program)
            )
        };
        let second = |pairs: &BTreeSet<(u32, u32)>| pairs.iter().map(|pair| pair.1).min();
        if is_all {
            assert!(found.is_subset(&racing), "a false report: {}", context());
            assert_eq!(second(&found), second(&racing), "a miss: {}", context());
            whole += 1;
        } else if !racing.is_empty() {
            assert!(!found.is_empty(), "a miss: {}", context());
        }
        racy += u64::from(!racing.is_empty());
        clean += u64::from(racing.is_empty());
    }
    let all = seeds.count() as u64;
    assert!(
        racy > all / 5 && clean > all / 10 && whole > all / 3,
        "{racy} {clean} {whole} of {all}"
    );
}

#[test]
fn random_programs_of_several_threads_are_judged_by_all_orders_of_their_calls() {
    check(1..=150);
}

#[test]
#[ignore = "nightly: minutes"]
fn thousands_of_programs_of_several_threads_are_judged_by_all_orders_of_their_calls() {
    check(1..=4000);
}
