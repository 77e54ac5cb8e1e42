//! From pairs of steps to hazards: their places in the source, what they do, and what would order
//! them.

use std::collections::BTreeMap;

use super::model::{AccessAt, CallAt, Code, Edge, Hazard, Kind, Turn, Usage};
use super::search::{At, Pair};
use super::uses::{accesses_of_node, stream, stream_named};
use super::words;
use crate::program::{
    AccessKind, BlockId, Call, GraphId, GraphNode, KernelId, Program, Range, StreamId,
};

/// Makes hazards of pairs of steps.
pub(super) struct Narrator<'a> {
    pub(super) program: &'a Program,
    pub(super) kernels: BTreeMap<KernelId, &'a str>,
    pub(super) graphs: BTreeMap<GraphId, &'a [GraphNode]>,
    pub(super) blocking: Vec<u32>,
}

impl Narrator<'_> {
    /// Where the step comes from; all that have no line count as one place.
    pub(super) fn place(&self, at: At) -> Option<u32> {
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

    pub(super) fn hazard(&self, pair: &Pair, code: Code) -> Hazard {
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

    pub(super) fn call(&self, at: At) -> CallAt {
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

pub(super) fn graphs(program: &Program) -> BTreeMap<GraphId, &[GraphNode]> {
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
