//! Hazards: two uses of the same memory, at least one of them a write, that nothing orders.
//!
//! [`find`] goes through a [`Program`] and never looks at a time, so a program that came out right
//! by luck is found out like one that did not. An order counts where NVIDIA's documentation
//! promises it; that a call was seen to wait is no promise. Memory is followed by the byte.
//!
//! # What remains unchecked
//! - What happens inside a kernel, and memory that it uses beside the ranges that it states.
//! - A branch on a query that was not taken in this run, and the order of host threads that
//!   something else than `lab::thread` keeps.
//! - Ordinary host memory: a copy is taken to have finished with it when the call returns, which is
//!   not promised for an asynchronous copy to it.
//! - What happens after the last measured region: the record ends there.
//! - On the simulated device, what the host itself does to pinned memory, where a copy in flight
//!   uses less than a whole page of it. Pages are watched, so the bytes before the first page
//!   boundary in a copy's range and after the last one are not, unless the block ends there. Of a
//!   page it is known that some of it was used, not which bytes.
//! - A system call that is handed such a page (`read`, `write`, …) is not told of. The kernel
//!   refuses it with `EFAULT`, "bad address", and the program goes on with that: an error of this
//!   kind from memory that is there means that a copy still uses it.
//! - What the host does through a second mapping of pinned memory, which a program has to make
//!   for itself (`mremap`, `/proc/self/fd`): the one that it was given is watched.
//! - On a GPU, all that the host itself does to pinned memory but through the lab, and other
//!   memory than that which was there when a graph was captured.
//!
//! # What is found
//! | code | name | severity | what it is |
//! | --- | --- | --- | --- |
//! | `SWIM-H01` | `read-after-write` | error | a read may come before the write that it needs |
//! | `SWIM-H02` | `write-after-read` | error | a write may come before a read of what was there |
//! | `SWIM-H03` | `write-after-write` | error | two writes may land in either order |
//! | `SWIM-H04` | `use-after-free` | error | memory may be freed, or was, before it is used |
//! | `SWIM-H05` | `use-before-allocation` | error | stream-ordered memory may be used before it is there |
//! | `SWIM-H06` | `relies-on-unspecified-blocking` | warning | one of the above, but for a call that was seen to wait for the device and need not |
//!
//! These orders count. Streams are in order, as far as the host threads that queue into them know
//! of one another's calls. The legacy default stream is in order with the blocking streams, of
//! which the per-thread default streams are some. A wait comes after what its event stood for when
//! the wait was made. Synchronisation of streams, events and the context counts, and so do queries
//! that found the work done, and the synchronous copies, as far as they are documented to be. So do
//! the start of a measured region, the start of a host thread, its end for those that join it, and
//! messages between threads. Freeing memory and loading a module give none.
//!
//! What the host itself and its host functions do to pinned memory counts as far as the program
//! holds it. Where no more is known than that they used some of a range, only a use of all of the
//! range is sure to meet it; two of that kind never count as a hazard.
//!
//! A search costs about as much for each use of memory as there are streams, however many pieces
//! the memory was used in. [`find_within`] gives up where that is too much: counted in what is
//! looked at, and not in time, so that it gives up at the same call on every machine.
//!
//! A pair is reported once, and from there on taken for ordered: with all reported edges put in,
//! the program has no hazard left but the use of memory that is gone. A pair is a warning where it
//! would be in order if freeing and loading waited, and the errors were put right.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `model` | hazards as plain data |
//! | `narrator` | from a pair of steps to a hazard |
//! | `clock` | vector clocks |
//! | `happens_before` | what comes before what |
//! | `graph` | what is wrong inside a graph |
//! | `threads` | what host threads tell one another |
//! | `event_clocks` | the records of an event and the launches of a graph, by several threads perhaps |
//! | `memory` | who used which bytes last |
//! | `range_tree` | who used some of a range, it is not known which bytes |
//! | `search` | going through a program, call by call |
//! | `near_misses` | what comes close to ordering two uses, and why it does not |
//! | `unsynchronised` | what nothing had waited for when a region ended |
//! | `overwritten` | events of a wrapper that it recorded again too early |
//! | `uses` | what each call does to memory, and in which stream |
//! | `words` | what is said about a hazard |

mod clock;
mod event_clocks;
mod graph;
mod happens_before;
mod memory;
mod model;
mod narrator;
mod near_misses;
mod overwritten;
mod range_tree;
mod search;
mod threads;
mod unsynchronised;
mod uses;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::program::{Call, Program};
pub use model::{
    AccessAt, CallAt, Code, Edge, Hazard, Kind, NearMiss, Severity, Slip, Turn, Usage, Waiter,
};
pub use narrator::call;
use narrator::{Narrator, graphs};
pub(crate) use narrator::{call_at, kernels};
use near_misses::Attempts;
use overwritten::overwritten;
use search::{At, Trust};
pub use search::{MOST_EFFORT, TooMuch, effort};
pub use unsynchronised::{Unsynchronised, Wait, unwaited_within};
pub(crate) use uses::stream_named;
pub use uses::{accesses, stream};
pub(crate) use words::named;
pub use words::{StreamNames, Told};

/// Hazards for which it is found out what comes close: a report shows fewer, and each costs a few
/// searches of the whole program.
const MOST_NEAR: usize = 8;
/// Programs of which a search looks at no more than this, in the unit of [`MOST_EFFORT`], are
/// searched again for what comes close: four times for each of those hazards, and once more.
const NEAR_EFFORT: u64 = MOST_EFFORT / 40;

/// All hazards of `program`, by the step of the second use and then of the first, of which the
/// latest comes first. The same program gives the same hazards, however long anything in it took.
pub fn find(program: &Program) -> Vec<Hazard> {
    find_within(program, u64::MAX).unwrap_or_default()
}

/// The same, unless more than `most` would have to be looked at: then nothing is known of the
/// program. For one that was handed in, [`MOST_EFFORT`] is enough; it is the same on every machine.
pub fn find_within(program: &Program, most: u64) -> Result<Vec<Hazard>, TooMuch> {
    found(program, most, |attempts, missing, call| attempts.nearest(missing, call))
}

/// The same without what comes close, which is a third of the code of a search.
pub fn find_alone(program: &Program, most: u64) -> Result<Vec<Hazard>, TooMuch> {
    found(program, most, |_, _, _| None)
}

fn found(
    program: &Program,
    most: u64,
    nearest: impl Fn(&Attempts<'_>, &Edge, &dyn Fn(u32) -> CallAt) -> Option<NearMiss>,
) -> Result<Vec<Hazard>, TooMuch> {
    let (pairs, effort) = search::search(program, Trust::Documented, most)?;
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let blocking = blocking_steps(program);
    let left: Option<HashSet<(At, At)>> = match blocking.is_empty() {
        true => None,
        false => {
            let (left, _) = search::search(program, Trust::Blocking, most)?;
            Some(left.iter().map(|pair| (pair.first, pair.second)).collect())
        }
    };
    let narrator =
        Narrator { program, kernels: kernels(program), graphs: graphs(program), blocking };
    let attempts = Attempts::new(program);
    let mut places: HashMap<_, usize> = HashMap::new();
    let mut hazards: Vec<Hazard> = Vec::new();
    for pair in &pairs {
        let vanishes = left.as_ref().is_some_and(|left| !left.contains(&(pair.first, pair.second)));
        let code = if vanishes { Code::UnspecifiedBlocking } else { pair.kind.code() };
        let key = (code, narrator.place(pair.first), narrator.place(pair.second));
        match places.get(&key) {
            Some(&known) => hazards[known].count += 1,
            None => {
                places.insert(key, hazards.len());
                let mut hazard = narrator.hazard(pair, code);
                let call = |step| narrator.call(At { step, node: 0 });
                if hazards.len() < MOST_NEAR && effort <= NEAR_EFFORT {
                    hazard.near = nearest(&attempts, &hazard.missing, &call);
                    let again = overwritten(program, pair.first.step, pair.second.step);
                    hazard.overwritten = again.map(&call);
                }
                // Two uses inside one launch of a graph are of one turn.
                let is_again = pair.first.step != pair.second.step;
                let is_one_line = narrator.place(pair.first).is_some()
                    && narrator.place(pair.first) == narrator.place(pair.second);
                hazard.laps = attempts.laps(pair.first.step, pair.second.step);
                if is_again && is_one_line {
                    hazard.laps = hazard.laps.max(1);
                }
                hazard.turn = if hazard.laps > 0 { Turn::Later } else { Turn::Same };
                hazards.push(hazard);
            }
        }
    }
    Ok(hazards)
}

/// Steps that were seen to wait for the device although no documentation promises that they do.
fn blocking_steps(program: &Program) -> Vec<u32> {
    let mut stream_ordered = HashSet::new();
    let mut blocking = Vec::new();
    for (index, step) in (0u32..).zip(&program.steps).filter(|(_, step)| step.result == 0) {
        if let Call::AllocAsync { block, .. } = &step.call {
            stream_ordered.insert(*block);
        }
        if uses::blocks_unasked(&step.call, |block| stream_ordered.contains(&block)) {
            blocking.push(index);
        }
    }
    blocking
}

/// The smallest change that orders each pair of uses that nothing orders: all of them, where
/// [`find`] tells those of one line once.
pub fn missing(program: &Program) -> Vec<Edge> {
    missing_within(program, u64::MAX).unwrap_or_default()
}

/// The same, unless more than `most` would have to be looked at.
pub fn missing_within(program: &Program, most: u64) -> Result<Vec<Edge>, TooMuch> {
    let (pairs, _) = search::search(program, Trust::Documented, most)?;
    let narrator = Narrator {
        program,
        kernels: BTreeMap::new(),
        graphs: graphs(program),
        blocking: Vec::new(),
    };
    Ok(pairs.iter().map(|pair| narrator.hazard(pair, pair.kind.code()).missing).collect())
}
