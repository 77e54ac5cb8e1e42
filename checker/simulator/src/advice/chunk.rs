//! Cutting a job into more or fewer chunks.
//!
//! Whether a kernel's work can be cut is not known; it is taken to be, where the job is a chain in
//! which each operation uses what the one before it made. Each part gets its share of the bytes and
//! the units, and of the blocks as far as they still fill the device.

use std::collections::{HashMap, HashSet};

use serde::Serialize;
use trace::Program;
use trace::causes::chains::{Job, jobs, lane};
use trace::program::{Call, Place, Range, Step, StreamId};

use super::edit::{moved, rewrite, split_by_engine, stream_of};

/// Which streams the chunks pass through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Streams {
    /// Those of the program.
    Same,
    /// One for each engine, where the program had one for all.
    OneForEachEngine,
}

/// A program whose job is in another number of chunks.
pub(super) struct Cut {
    pub(super) now: u32,
    pub(super) before: u32,
    pub(super) streams: Streams,
    pub(super) program: Program,
}

/// With more chunks than this, what each costs outweighs anything.
const MOST: usize = 256;

/// Blocks that fill any device: 16 on each of 132 multiprocessors. Who cuts the work still lets the
/// grid fill the device, and gives each block less.
const WIDE: u32 = 2048;

/// The program with its job that begins at `at` in twice as many chunks, in four times, and so on.
pub(super) fn more(program: &Program, at: &[u32]) -> Vec<Cut> {
    let Some(job) = job(program, at) else { return Vec::new() };
    let streams: HashSet<StreamId> = job
        .chains
        .iter()
        .flatten()
        .filter_map(|&step| stream_of(&program.steps[step as usize].call))
        .collect();
    let alone = match streams.len() {
        1 => streams.into_iter().next(),
        _ => None,
    };
    let before = job.chains.len();
    let parts = std::iter::successors(Some(2), |parts| Some(parts * 2));
    parts
        .take_while(|parts| parts * before <= MOST)
        .map(|parts| {
            let cut = cut(program, &job, parts as u64);
            let (program, streams) = match alone {
                Some(stream) => (split_by_engine(&cut, stream), Streams::OneForEachEngine),
                None => (cut, Streams::Same),
            };
            let (now, before) = ((parts * before) as u32, before as u32);
            Cut { now, before, streams, program }
        })
        .collect()
}

/// The program with its job that begins at `at` in half as many chunks, in a quarter, and so on.
pub(super) fn fewer(program: &Program, at: &[u32]) -> Vec<Cut> {
    let Some(job) = job(program, at) else { return Vec::new() };
    let before = job.chains.len();
    let parts = std::iter::successors(Some(2), |parts| Some(parts * 2));
    parts
        .take_while(|&parts| parts <= before && before.is_multiple_of(parts))
        .map(|parts| {
            let (now, before) = ((before / parts) as u32, before as u32);
            let (streams, program) = (Streams::Same, join(program, &job, parts));
            Cut { now, before, streams, program }
        })
        .collect()
}

fn job(program: &Program, at: &[u32]) -> Option<Job> {
    let first = at.first()?;
    jobs(program).into_iter().find(|job| job.chains.iter().any(|chain| chain.contains(first)))
}

/// From the first operation of each chain to its last, where nothing of another chain is between.
fn bodies(program: &Program, job: &Job) -> Option<Vec<std::ops::RangeInclusive<u32>>> {
    job.chains
        .iter()
        .map(|chain| {
            let own: HashSet<u32> = chain.iter().copied().collect();
            let body = *chain.first()?..=*chain.last()?;
            let foreign = |step: u32| {
                lane(&program.steps[step as usize].call).is_some() && !own.contains(&step)
            };
            (!body.clone().any(foreign)).then_some(body)
        })
        .collect()
}

fn cut(program: &Program, job: &Job, parts: u64) -> Program {
    let own: HashSet<u32> = job.chains.iter().flatten().copied().collect();
    let part = |index: u32, step: &Step, number: u64| match own.contains(&index) {
        true => Step { call: part(&step.call, number, parts), ..step.clone() },
        false => step.clone(),
    };
    let Some(bodies) = bodies(program, job) else {
        // The order is by lines, so each line's operations stay together.
        return rewrite(program, |index, step, out| match own.contains(&index) {
            true => out.extend((0..parts).map(|number| part(index, step, number))),
            false => out.push(step.clone()),
        });
    };
    let ends: HashMap<u32, u32> = bodies.iter().map(|body| (*body.end(), *body.start())).collect();
    let inside: HashSet<u32> = bodies.into_iter().flatten().collect();
    rewrite(program, |index, step, out| {
        if !inside.contains(&index) {
            out.push(step.clone());
        } else if let Some(&start) = ends.get(&index) {
            for number in 0..parts {
                let steps = &program.steps;
                out.extend((start..=index).map(|i| part(i, &steps[i as usize], number)));
            }
        }
    })
}

/// The first `number` of `parts` equal parts of so many bytes.
fn share(bytes: u64, number: u64, parts: u64) -> u64 {
    (u128::from(bytes) * u128::from(number) / u128::from(parts)) as u64
}

/// One of `parts` equal parts of an operation.
fn part(call: &Call, number: u64, parts: u64) -> Call {
    let cut = |range: &mut Range| {
        let (from, to) = (share(range.bytes, number, parts), share(range.bytes, number + 1, parts));
        range.offset = range.offset.saturating_add(from);
        range.bytes = to - from;
    };
    let mut call = call.clone();
    match &mut call {
        Call::Copy { source, target, bytes, .. } => {
            for place in [source, target] {
                if let Place::Device(range) | Place::Pinned(range) = place {
                    cut(range);
                }
            }
            *bytes = share(*bytes, number + 1, parts) - share(*bytes, number, parts);
        }
        Call::Memset { target, .. } => cut(target),
        Call::Launch(launch) => {
            let longest = launch.grid.iter_mut().max().expect("three numbers");
            let share = u64::from(*longest).div_ceil(parts) as u32;
            *longest = share.max((*longest).min(WIDE));
            launch.units = launch.units.div_ceil(parts);
            launch.bytes = launch.bytes.div_ceil(parts);
            launch.accesses.iter_mut().for_each(|access| cut(&mut access.range));
        }
        _ => {}
    }
    call
}

fn join(program: &Program, job: &Job, parts: usize) -> Program {
    let kept: HashSet<u32> = job.chains.iter().step_by(parts).flatten().copied().collect();
    let own: HashSet<u32> = job.chains.iter().flatten().copied().collect();
    // What lies between the operations of a chain that goes, goes with it.
    let gone: HashSet<u32> = match bodies(program, job) {
        Some(bodies) => bodies
            .into_iter()
            .enumerate()
            .filter(|(number, _)| number % parts != 0)
            .flat_map(|(_, body)| body)
            .collect(),
        None => own.difference(&kept).copied().collect(),
    };
    let dealt = dealt(program, job, parts);
    rewrite(program, |index, step, out| {
        if kept.contains(&index) {
            let call = grown(&step.call, parts as u64);
            let call = match dealt.get(&index) {
                Some(&stream) if stream_of(&call) != Some(stream) => moved(&call, stream),
                _ => call,
            };
            out.push(Step { call, ..step.clone() });
        } else if !gone.contains(&index) {
            out.push(step.clone());
        }
    })
}

/// The streams of the chains that stay, where streams take the chains in turn: those that stay are
/// dealt out anew, so that no stream is left without. Empty where a chain changes its stream.
fn dealt(program: &Program, job: &Job, parts: usize) -> HashMap<u32, StreamId> {
    let stream = |&step: &u32| stream_of(&program.steps[step as usize].call);
    let of_chain = |chain: &Vec<u32>| {
        let first = chain.first().and_then(stream)?;
        chain.iter().all(|step| stream(step) == Some(first)).then_some(first)
    };
    let streams: Option<Vec<StreamId>> = job.chains.iter().map(of_chain).collect();
    let Some(streams) = streams else { return HashMap::new() };
    let kept = job.chains.iter().step_by(parts).zip(streams);
    kept.flat_map(|(chain, stream)| chain.iter().map(move |&step| (step, stream))).collect()
}

/// An operation of so many times the work.
fn grown(call: &Call, times: u64) -> Call {
    let mut call = call.clone();
    match &mut call {
        Call::Copy { source, target, bytes, .. } => {
            for place in [source, target] {
                if let Place::Device(range) | Place::Pinned(range) = place {
                    range.bytes = range.bytes.saturating_mul(times);
                }
            }
            *bytes = bytes.saturating_mul(times);
        }
        Call::Memset { target, .. } => target.bytes = target.bytes.saturating_mul(times),
        Call::Launch(launch) => {
            let longest = launch.grid.iter_mut().max().expect("three numbers");
            let all = u64::from(*longest).saturating_mul(times).min(WIDE.into()) as u32;
            *longest = all.max(*longest);
            launch.units = launch.units.saturating_mul(times);
            launch.bytes = launch.bytes.saturating_mul(times);
            for access in &mut launch.accesses {
                access.range.bytes = access.range.bytes.saturating_mul(times);
            }
        }
        _ => {}
    }
    call
}
