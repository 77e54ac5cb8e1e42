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
//! | `clock` | vector clocks |
//! | `happens_before` | what comes before what |
//! | `graph` | what is wrong inside a graph |
//! | `threads` | what host threads tell one another |
//! | `event_clocks` | the records of an event and the launches of a graph, by several threads perhaps |
//! | `memory` | who used which bytes last |
//! | `range_tree` | who used some of a range, it is not known which bytes |
//! | `search` | going through a program, call by call |
//! | [`near_misses`] | what comes close to ordering two uses, and why it does not |
//! | `unsynchronised` | what nothing had waited for when a region ended |
//! | `overwritten` | events of a wrapper that it recorded again too early |
//! | `uses` | what each call does to memory |
//! | `words` | what is said about a hazard |

mod clock;
mod event_clocks;
mod graph;
mod happens_before;
mod memory;
pub mod near_misses;
mod overwritten;
mod range_tree;
mod search;
mod threads;
mod unsynchronised;
mod uses;
mod words;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::{Serialize, Serializer};

use crate::program::{
    AccessKind, BlockId, Call, GraphId, GraphNode, KernelId, Program, Range, Site, StreamId,
};
use near_misses::{Attempts, NearMiss, Turn};
use overwritten::overwritten;
use search::{At, Pair, Trust};
pub use search::{MOST_EFFORT, TooMuch, effort};
pub use unsynchronised::{Unsynchronised, Wait, unwaited_within};
pub use uses::accesses;
use uses::accesses_of_node;
pub(crate) use words::named;
pub use words::{StreamNames, Told};

/// Two uses of the same memory that nothing orders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Hazard {
    /// Its kind, by its code.
    pub code: Code,
    /// The kind that it would have if no call waited beyond what is promised: the same, but for
    /// [`Code::UnspecifiedBlocking`].
    pub kind: Kind,
    /// How bad it is.
    pub severity: Severity,
    /// The use that the host issued first.
    pub first: AccessAt,
    /// The other one.
    pub second: AccessAt,
    /// The bytes that both use, or some of them. Of size 0 where a block is freed that was never
    /// used.
    pub overlap: Range,
    /// The smallest change that orders the two.
    pub missing: Edge,
    /// The near miss, where there is one; found out for the first few hazards of a program.
    pub near: Option<NearMiss>,
    /// Whether the second use is of a later turn of a loop than the first.
    pub turn: Turn,
    /// How many turns later it is, where that is known to be more than one: so many pieces of
    /// memory are used by turns. Else 1, or 0 in the same turn.
    #[serde(skip_serializing_if = "is_few")]
    pub laps: u32,
    /// For [`Code::UnspecifiedBlocking`]: the call that was seen to wait.
    pub through: Option<CallAt>,
    /// Where a wrapper recorded again the event that stood for the first use, before the second
    /// waited for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overwritten: Option<CallAt>,
    /// How many pairs of steps there are with this code at these two places in the source.
    pub count: u32,
}

/// Kinds of hazards. The codes never change their meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Code {
    /// `SWIM-H01`
    ReadAfterWrite,
    /// `SWIM-H02`
    WriteAfterRead,
    /// `SWIM-H03`
    WriteAfterWrite,
    /// `SWIM-H04`
    UseAfterFree,
    /// `SWIM-H05`
    UseBeforeAllocation,
    /// `SWIM-H06`
    UnspecifiedBlocking,
}

impl Code {
    /// All codes, in order.
    pub const ALL: [Code; 6] = [
        Self::ReadAfterWrite,
        Self::WriteAfterRead,
        Self::WriteAfterWrite,
        Self::UseAfterFree,
        Self::UseBeforeAllocation,
        Self::UnspecifiedBlocking,
    ];

    /// The code itself, such as `SWIM-H01`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadAfterWrite => "SWIM-H01",
            Self::WriteAfterRead => "SWIM-H02",
            Self::WriteAfterWrite => "SWIM-H03",
            Self::UseAfterFree => "SWIM-H04",
            Self::UseBeforeAllocation => "SWIM-H05",
            Self::UnspecifiedBlocking => "SWIM-H06",
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadAfterWrite => "read-after-write",
            Self::WriteAfterRead => "write-after-read",
            Self::WriteAfterWrite => "write-after-write",
            Self::UseAfterFree => "use-after-free",
            Self::UseBeforeAllocation => "use-before-allocation",
            Self::UnspecifiedBlocking => "relies-on-unspecified-blocking",
        }
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        match self {
            Self::UnspecifiedBlocking => Severity::Warning,
            _ => Severity::Error,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How two uses conflict. Where two operations conflict in several ways the first of this order is
/// named: a value that is not there yet says more than one that is overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A write, then a read.
    ReadAfterWrite,
    /// Two writes.
    WriteAfterWrite,
    /// A read, then a write.
    WriteAfterRead,
    /// A use and the block's end, in either order.
    UseAfterFree,
    /// Memory comes to be in one stream's order and is used in another's.
    UseBeforeAllocation,
}

impl Kind {
    fn of(earlier: AccessKind, later: AccessKind) -> Self {
        match (earlier, later) {
            (AccessKind::Write, AccessKind::Read) => Self::ReadAfterWrite,
            (AccessKind::Write, AccessKind::Write) => Self::WriteAfterWrite,
            (AccessKind::Read, _) => Self::WriteAfterRead,
        }
    }

    fn code(self) -> Code {
        match self {
            Self::ReadAfterWrite => Code::ReadAfterWrite,
            Self::WriteAfterWrite => Code::WriteAfterWrite,
            Self::WriteAfterRead => Code::WriteAfterRead,
            Self::UseAfterFree => Code::UseAfterFree,
            Self::UseBeforeAllocation => Code::UseBeforeAllocation,
        }
    }
}

/// How bad a hazard is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The data can be wrong.
    Error,
    /// The data is right as long as a call does more than it promises.
    Warning,
}

/// A call, and where it was made. An operation of a graph was issued by the launch; its line is the
/// one where it was captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallAt {
    /// Index into the program's steps.
    pub step: u32,
    /// Which node of the graph that the step launches, from 1; 0 for the step itself.
    #[serde(skip_serializing_if = "is_zero")]
    pub node: u32,
    /// The line; none for calls that the lab or a library makes on its own.
    pub site: Option<Site>,
    /// For an operation of a graph, the line of the launch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub launched: Option<Site>,
    /// Its name in words: "kernel `map_a`", "the copy to the device", "`cuMemFree`".
    pub what: String,
    /// Whose it is, for a call to do with a per-thread default stream in a program of several
    /// threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread: Option<u32>,
}

fn is_zero(value: &u32) -> bool {
    *value == 0
}

fn is_few(laps: &u32) -> bool {
    *laps < 2
}

/// A use of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AccessAt {
    /// The call that issued it.
    #[serde(flatten)]
    pub call: CallAt,
    /// The stream it is queued in; none for what the host does itself. Of an operation of a graph,
    /// that of the launch, where the other use is not of the same launch.
    pub stream: Option<StreamId>,
    /// Its use of the memory.
    pub usage: Usage,
    /// The bytes that it uses, more than the other does perhaps.
    pub range: Range,
}

/// Kinds of uses of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Usage {
    /// Reads it.
    Read,
    /// Writes it.
    Write,
    /// Makes it.
    Allocate,
    /// Ends it.
    Free,
}

/// An order that is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Edge {
    /// Record an event after one step, and let another stream wait for it before another step.
    Wait {
        /// Record after this step,
        record_after: u32,
        /// in its stream;
        record_in: StreamId,
        /// wait before this step,
        wait_before: u32,
        /// in its stream.
        wait_in: StreamId,
    },
    /// Synchronise the host with a stream before a step.
    Synchronise {
        /// With this stream, at the latest after
        stream: StreamId,
        /// this step,
        after: u32,
        /// and before this one.
        before: u32,
    },
    /// Let one host thread hear of another before a step.
    Handover {
        /// Of the thread that makes this step,
        after: u32,
        /// before this one.
        before: u32,
    },
    /// Free later.
    FreeLater {
        /// This call has to come after
        free: u32,
        /// this step.
        after: u32,
    },
}

/// No program of a page has graphs or several host threads, and each kB of its wasm counts.
const FOLLOWS_ALL: bool = !crate::IS_PLAYGROUND;

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

/// The names of the kernels.
pub(crate) fn kernels(program: &Program) -> BTreeMap<KernelId, &str> {
    let named = program.steps.iter().filter_map(|step| match &step.call {
        Call::FunctionGet { kernel, name, .. } => Some((*kernel, name.as_str())),
        _ => None,
    });
    by_number(named)
}

/// A map of few entries. `collect` would sort them first, and each sort is several kB of a page's
/// wasm.
fn by_number<K: Ord, V>(entries: impl Iterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut map = BTreeMap::new();
    entries.for_each(|(key, value)| _ = map.insert(key, value));
    map
}

fn graphs(program: &Program) -> BTreeMap<GraphId, &[GraphNode]> {
    let made = program.steps.iter().filter_map(|step| match &step.call {
        Call::GraphCreate { graph, nodes } => Some((*graph, nodes.as_slice())),
        _ => None,
    });
    by_number(made)
}

/// A step, and where it comes from.
pub fn call(program: &Program, step: u32) -> CallAt {
    call_at(program, step, &kernels(program))
}

pub(crate) fn call_at(program: &Program, step: u32, kernels: &BTreeMap<KernelId, &str>) -> CallAt {
    let made = &program.steps[step as usize];
    let site = program.site(made).cloned();
    let what = words::what(&made.call, kernels);
    let thread = whose(program, step, stream_named(&made.call));
    CallAt { step, node: 0, site, launched: None, what, thread }
}

/// The thread of a step that has to do with a per-thread default stream, in a program of several
/// threads.
fn whose(program: &Program, step: u32, stream: Option<StreamId>) -> Option<u32> {
    let are_many = || program.steps.iter().any(|step| step.thread > 0);
    let is_it = stream.is_some_and(StreamId::is_per_thread) && are_many();
    is_it.then(|| program.steps[step as usize].thread)
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

/// Makes hazards of pairs of steps.
struct Narrator<'a> {
    program: &'a Program,
    kernels: BTreeMap<KernelId, &'a str>,
    graphs: BTreeMap<GraphId, &'a [GraphNode]>,
    blocking: Vec<u32>,
}

impl Narrator<'_> {
    /// Where the step comes from; all that have no line count as one place.
    fn place(&self, at: At) -> Option<u32> {
        self.node(at).map_or(self.program.steps[at.step as usize].site, |node| node.site)
    }

    /// The node of a graph that is meant.
    fn node(&self, at: At) -> Option<&GraphNode> {
        let Call::GraphLaunch { graph, .. } = &self.program.steps[at.step as usize].call else {
            return None;
        };
        let nodes = self.graphs.get(graph)?;
        nodes.get((at.node as usize).checked_sub(1)?)
    }

    /// The memory that it uses.
    fn uses(&self, at: At, tell: impl FnMut(AccessKind, Range)) {
        let moved = match &self.program.steps[at.step as usize].call {
            Call::GraphLaunch { accesses, .. } => &accesses[..],
            _ => &[],
        };
        accesses_of_node(self.made(at), at.node, moved, tell);
    }

    fn made(&self, at: At) -> &Call {
        self.node(at).map_or(&self.program.steps[at.step as usize].call, |node| &node.call)
    }

    fn hazard(&self, pair: &Pair, code: Code) -> Hazard {
        let Pair { first, second, kind, overlap, is_unheard } = *pair;
        // What each of the two does follows from how they conflict.
        let (first_use, second_use) = match kind {
            Kind::ReadAfterWrite => (Usage::Write, Usage::Read),
            Kind::WriteAfterWrite => (Usage::Write, Usage::Write),
            Kind::WriteAfterRead => (Usage::Read, Usage::Write),
            Kind::UseAfterFree | Kind::UseBeforeAllocation => {
                (self.usage(first, overlap.block), self.usage(second, overlap.block))
            }
        };
        let of_one_launch = first.step == second.step;
        let first = self.access(first, first_use, overlap, of_one_launch);
        let second = self.access(second, second_use, overlap, of_one_launch);
        let (before, after) = (first.call.step, second.call.step);
        let missing = match (first.usage, first.stream, second.stream) {
            (Usage::Free, ..) => Edge::FreeLater { free: before, after },
            (_, None, _) => Edge::Handover { after: before, before: after },
            _ if is_unheard => Edge::Handover { after: before, before: after },
            (_, Some(stream), None) => Edge::Synchronise { stream, after: before, before: after },
            (_, Some(record_in), Some(wait_in)) => {
                Edge::Wait { record_after: before, record_in, wait_before: after, wait_in }
            }
        };
        let next = self.blocking.partition_point(|&step| step <= before);
        let through = match code {
            Code::UnspecifiedBlocking => {
                self.blocking.get(next).map(|&step| self.call(At { step, node: 0 }))
            }
            _ => None,
        };
        let severity = code.severity();
        let (near, turn, laps) = (None, Turn::Same, 0);
        Hazard {
            code,
            kind,
            severity,
            first,
            second,
            overlap,
            missing,
            near,
            turn,
            laps,
            through,
            overwritten: None,
            count: 1,
        }
    }

    fn call(&self, at: At) -> CallAt {
        let site = self.place(at).and_then(|site| self.program.sites.get(site as usize)).cloned();
        let At { step, node } = at;
        let launch = &self.program.steps[step as usize];
        let launched = (node > 0).then(|| self.program.site(launch).cloned()).flatten();
        let what = words::what(self.made(at), &self.kernels);
        let thread = whose(self.program, step, stream_named(&launch.call));
        CallAt { step, node, site, launched, what, thread }
    }

    fn usage(&self, at: At, block: BlockId) -> Usage {
        match self.made(at) {
            Call::AllocAsync { .. } => Usage::Allocate,
            Call::Free { .. } | Call::FreeAsync { .. } | Call::FreeHost { .. } => Usage::Free,
            _ => {
                let mut usage = Usage::Read;
                self.uses(at, |kind, range| {
                    if range.block == block && kind == AccessKind::Write {
                        usage = Usage::Write;
                    }
                });
                usage
            }
        }
    }

    fn access(&self, at: At, usage: Usage, overlap: Range, of_one_launch: bool) -> AccessAt {
        let step = &self.program.steps[at.step as usize];
        let stream = match &step.call {
            Call::GraphLaunch { stream, .. } if !of_one_launch => Some(*stream),
            _ => stream(self.made(at)),
        };
        let mut call = self.call(at);
        call.thread = whose(self.program, at.step, stream);
        let mut range = overlap;
        let meets = |other: &Range| {
            other.block == overlap.block
                && other.offset < overlap.offset.saturating_add(overlap.bytes)
                && overlap.offset < other.offset.saturating_add(other.bytes)
        };
        self.uses(at, |kind, used| {
            let same = matches!(
                (kind, usage),
                (AccessKind::Read, Usage::Read) | (AccessKind::Write, Usage::Write)
            );
            if same && range == overlap && meets(&used) {
                range = used;
            }
        });
        AccessAt { call, stream, usage, range }
    }
}

/// The stream that an operation is queued in.
pub fn stream(call: &Call) -> Option<StreamId> {
    match call {
        Call::AllocAsync { stream, .. }
        | Call::FreeAsync { stream, .. }
        | Call::Copy { stream, .. }
        | Call::Memset { stream, .. }
        | Call::HostFunction { stream, .. } => Some(*stream),
        Call::Launch(launch) => Some(launch.stream),
        _ => None,
    }
}

/// The stream that a call has to do with.
pub(crate) fn stream_named(call: &Call) -> Option<StreamId> {
    match call {
        Call::StreamSynchronize { stream }
        | Call::StreamQuery { stream }
        | Call::StreamWait { stream, .. }
        | Call::EventRecord { stream, .. }
        | Call::GraphLaunch { stream, .. } => Some(*stream),
        call => stream(call),
    }
}
