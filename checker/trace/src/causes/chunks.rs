//! How jobs are cut into chunks, and in which order the host issues them.

use std::collections::{HashMap, HashSet};

use crate::hazards::accesses;
use crate::program::{AccessKind, BlockId, StreamId};

use super::chains::{self, Job};
use super::engines::Lane;
use super::region::{Op, View};
use super::{Code, Found, is_under};

/// Filling and draining a pipeline of three equal stages in n chunks takes 2 / (n + 2) of its time:
/// under this share, in thousandths, there are 18 and more, and cutting further gains little.
const FILL_PERMILLE: u64 = 100;

/// An operation shorter than this is not long against what each costs, in ns: up to 7 µs to get
/// from one engine to the next on an H200.
const SHORT_NS: u64 = 20_000;

/// With fewer chunks than this a job is not cut too finely.
const MANY: usize = 8;

/// The share of the time, in thousandths, that the host is in the calls of a job, and not blocked,
/// for these to set the pace of the program. The rest is too little for the device to be the
/// reason.
const CALLS_PERMILLE: u64 = 750;

/// With so many kernels in a chunk it is not the chunks that are cut too finely, where the kernels
/// are shorter than their launches.
const MANY_KERNELS: usize = 4;

/// Launches of chunks that are many kernels each, and shorter than the calls that launch them.
pub(super) fn shorter_than_their_launches(view: &View<'_>) -> HashSet<u32> {
    let mut launches = HashSet::new();
    for job in chains::jobs(view.program).into_iter().filter(|job| job.chains.len() >= MANY) {
        let ops = operations(view, &job);
        let kernels = || ops.iter().flatten().filter(|op| op.lane == Lane::Kernels);
        let steps: Vec<u32> = kernels().map(|op| op.step).collect();
        if steps.len() >= MANY_KERNELS * job.chains.len() && own_ns(view, &steps) > sum(kernels()) {
            launches.extend(steps);
        }
    }
    launches
}

pub(super) fn look(view: &View<'_>, short: &HashSet<u32>, found: &mut Found) {
    let Some((_, busiest_ns)) = view.lanes.busiest() else { return };
    let idle_ns = view.region.ns().saturating_sub(busiest_ns);
    for job in chains::jobs(view.program) {
        let ops = operations(view, &job);
        if ops.iter().any(Vec::is_empty) {
            continue;
        }
        // Where each needs what the one before has made, as steps of a training do, they are no
        // parts of one whole.
        let is_cut = !is_carried_on(view, &job);
        if let Some(cost_ns) = filling(view, &ops).filter(|_| is_cut) {
            charge(view, found, Code::TooFewChunks, &job.chains, cost_ns);
        }
        let all = || ops.iter().flatten();
        let work_ns = sum(all());
        let is_launch_bound = job.chains[0].iter().any(|step| short.contains(step));
        if job.chains.len() >= MANY && !is_launch_bound {
            let calls_ns = own_ns(view, job.chains.iter().flatten());
            let are_short = work_ns / (all().count() as u64) < SHORT_NS;
            // A lane counts as busy while a single block runs there.
            let set_the_pace = !is_under(calls_ns, CALLS_PERMILLE, view.region.ns());
            let cost_ns = match set_the_pace {
                true => calls_ns,
                false => idle_ns,
            };
            if are_short && is_cut || set_the_pace {
                charge(view, found, Code::TooManyChunks, &job.chains, cost_ns);
            }
        }
        let streams: HashSet<StreamId> = all().map(|op| op.stream).collect();
        if streams.len() >= 2 && is_breadth_first(&job) {
            charge(view, found, Code::IssueOrder, &most_begun(&job), idle_ns);
        }
    }
}

/// The cost of a job is told once, at its first line.
fn charge(view: &View<'_>, found: &mut Found, code: Code, chains: &[Vec<u32>], cost_ns: u64) {
    for (index, chain) in chains.iter().enumerate() {
        let cost_ns = if index == 0 { cost_ns } else { 0 };
        found.charge(view, code, chain[0], cost_ns).other = chain.last().copied();
    }
}

fn operations(view: &View<'_>, job: &Job) -> Vec<Vec<Op>> {
    let find = |step: &u32| {
        let index = view.ops.binary_search_by_key(step, |op| op.step).ok()?;
        Some(view.ops[index])
    };
    job.chains.iter().map(|chain| chain.iter().filter_map(find).collect()).collect()
}

/// Whether some chain of a job reads what an earlier one has written last. A buffer that is used
/// again does not count: a chain writes to it before it reads.
fn is_carried_on(view: &View<'_>, job: &Job) -> bool {
    let mut written: HashMap<BlockId, Vec<(u64, u64, usize)>> = HashMap::new();
    for (number, chain) in job.chains.iter().enumerate() {
        for &step in chain {
            let (mut is_carried, mut writes) = (false, Vec::new());
            accesses(&view.program.steps[step as usize].call, |kind, range| {
                let end = range.offset.saturating_add(range.bytes);
                if kind == AccessKind::Write {
                    writes.push((range.block, range.offset, end));
                    return;
                }
                let all = written.get(&range.block).into_iter().flatten().rev();
                let mut last = all.filter(|it| it.0 < end && range.offset < it.1);
                is_carried |= last.next().is_some_and(|it| it.2 != number);
            });
            if is_carried {
                return true;
            }
            for (block, offset, end) in writes {
                let all = written.entry(block).or_default();
                // What is written over again is not looked at any more.
                all.retain(|it| !(offset <= it.0 && it.1 <= end));
                all.push((offset, end, number));
            }
        }
    }
    false
}

/// How long the busiest lane of a job had not begun yet or was already done while others were at
/// it; none where that is little.
fn filling(view: &View<'_>, ops: &[Vec<Op>]) -> Option<u64> {
    let of = |lane: Lane| ops.iter().flatten().filter(move |op| op.lane == lane);
    let busy_ns = |lane| sum(of(lane));
    let lanes: HashSet<Lane> = ops.iter().flatten().map(|op| op.lane).collect();
    let busiest = lanes.into_iter().max_by_key(|&lane| (busy_ns(lane), lane))?;
    let start_ns = of(busiest).map(|op| op.start_ns).min()?;
    let end_ns = of(busiest).map(|op| op.end_ns).max()?;
    let all = || ops.iter().flatten();
    let before_ns = start_ns - all().map(|op| op.start_ns).min()?;
    let after_ns = all().map(|op| op.end_ns).max()? - end_ns;
    let cost_ns = before_ns.saturating_add(after_ns);
    (!is_under(cost_ns, FILL_PERMILLE, view.region.ns())).then_some(cost_ns)
}

/// How long the host was in calls without being blocked.
fn own_ns<'a>(view: &View<'_>, steps: impl IntoIterator<Item = &'a u32>) -> u64 {
    let spans = steps.into_iter().filter_map(|&step| view.host(step));
    let own_ns = spans.map(|span| (span.end_ns - span.start_ns).saturating_sub(span.blocked_ns));
    own_ns.fold(0, u64::saturating_add)
}

/// How long operations ran, all together.
fn sum<'a>(ops: impl Iterator<Item = &'a Op>) -> u64 {
    ops.fold(0, |sum: u64, op| sum.saturating_add(op.end_ns.saturating_sub(op.start_ns)))
}

/// Whether the host mostly began with the next chunk before it issued the second step of one.
fn is_breadth_first(job: &Job) -> bool {
    let pairs = job.chains.windows(2).filter(|pair| pair[0].len() >= 2);
    let (mut before, mut all) = (0, 0);
    for pair in pairs {
        all += 1;
        before += usize::from(pair[0][1] > pair[1][0]);
    }
    before * 2 > all
}

/// The most chunks that the host had begun at one time without having issued the last step of any
/// of them.
fn most_begun(job: &Job) -> Vec<Vec<u32>> {
    let mut ends: Vec<u32> = job.chains.iter().map(|chain| chain[chain.len() - 1]).collect();
    ends.sort_unstable();
    let open = |(index, chain): &(usize, &Vec<u32>)| {
        let ended = ends.partition_point(|&end| end < chain[0]);
        (index + 1 - ended, std::cmp::Reverse(chain[0]))
    };
    let Some((index, at)) = job.chains.iter().enumerate().max_by_key(open) else {
        return Vec::new();
    };
    let begun = job.chains[..=index].iter();
    begun.filter(|chain| chain[chain.len() - 1] >= at[0]).cloned().collect()
}
