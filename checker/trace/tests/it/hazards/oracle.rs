//! The same question asked in another way: a graph of everything that happens, all paths in it, and
//! all pairs. It is slow, has no clocks and keeps no state of memory, and shares nothing with what it
//! checks but the types of a program.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{
    AccessKind, Call, Direction, Extent, Launch, Mode, Place, Program, Range, Step, StreamId,
    StreamKind,
};

/// Whether freeing memory and loading a module wait for the device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frees {
    Return,
    Wait,
}

/// Everything that happens in a program, and which of it comes before which. A step has three nodes:
/// the call is made, the operation runs, the call has returned.
pub(crate) struct Oracle<'a> {
    program: &'a Program,
    /// By node, the nodes that it comes directly before.
    edges: Vec<BTreeSet<usize>>,
}

fn made(step: usize) -> usize {
    3 * step
}

fn runs(step: usize) -> usize {
    3 * step + 1
}

fn returned(step: usize) -> usize {
    3 * step + 2
}

/// What a step does to some bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deed {
    Read,
    Write,
    Allocate,
    Free,
}

/// Two steps, and what is wrong between them.
pub(crate) type Pairs = BTreeMap<(u32, u32), BTreeSet<&'static str>>;

impl<'a> Oracle<'a> {
    pub(crate) fn new(program: &'a Program, frees: Frees) -> Self {
        let mut oracle = Self { program, edges: vec![BTreeSet::new(); 3 * program.steps.len()] };
        for index in 0..program.steps.len() {
            oracle.add(index, frees);
        }
        oracle
    }

    /// One more edge: from the operation of one step to that of another, or to its call.
    pub(crate) fn connect(&mut self, first: u32, second: u32) {
        let (first, second) = (first as usize, second as usize);
        let to = if self.stream(second).is_some() { runs(second) } else { made(second) };
        self.edge(self.acts(first).unwrap_or(runs(first)), to);
        // The edge is a wait that is queued before the second step. This copy returns when what was
        // queued before it is over, and not only when it is over itself.
        if let Call::Copy { mode: Mode::Synchronous, source: Place::Pageable, .. } =
            &self.program.steps[second].call
        {
            self.edge(runs(first), returned(second));
        }
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.edges[from].insert(to);
    }

    fn ok(&self) -> impl Iterator<Item = (usize, &'a Step)> + use<'a> {
        self.program.steps.iter().enumerate().filter(|(_, step)| step.result == 0)
    }

    /// The stream that the step queues something in, if it succeeded.
    fn stream(&self, index: usize) -> Option<(StreamId, u32)> {
        let step = &self.program.steps[index];
        let stream = match &step.call {
            _ if step.result != 0 => return None,
            Call::StreamWait { stream, event } => {
                self.recorded(index, *event)?;
                *stream
            }
            Call::EventRecord { stream, .. }
            | Call::AllocAsync { stream, .. }
            | Call::FreeAsync { stream, .. }
            | Call::Copy { stream, .. }
            | Call::Memset { stream, .. }
            | Call::HostFunction { stream, .. } => *stream,
            Call::Launch(launch) => launch.stream,
            _ => return None,
        };
        Some((stream, if stream == StreamId::PER_THREAD { step.thread } else { 0 }))
    }

    fn blocking(&self, stream: StreamId) -> bool {
        let created = self.program.steps.iter().find_map(|step| match &step.call {
            Call::StreamCreate { stream: new, kind, .. } if *new == stream => Some(*kind),
            _ => None,
        });
        stream == StreamId::PER_THREAD || created == Some(StreamKind::Blocking)
    }

    /// The step that recorded `event` last before `index`.
    fn recorded(&self, index: usize, event: trace::program::EventId) -> Option<usize> {
        let mut last = None;
        for (at, step) in self.ok().take_while(|(at, _)| *at < index) {
            match &step.call {
                Call::EventRecord { event: of, .. } if *of == event => last = Some(at),
                Call::EventDestroy { event: of } if *of == event => last = None,
                _ => {}
            }
        }
        last
    }

    /// Steps before `index` that queued something that a wait for `stream` waits for.
    fn queued(&self, index: usize, stream: (StreamId, u32)) -> Vec<usize> {
        let counts = |other: (StreamId, u32)| {
            other == stream || stream.0 == StreamId::LEGACY && self.blocking(other.0)
        };
        (0..index).filter(|&at| self.stream(at).is_some_and(counts)).collect()
    }

    fn everything(&self, index: usize) -> Vec<usize> {
        (0..index).filter(|&at| self.stream(at).is_some()).collect()
    }

    fn add(&mut self, index: usize, frees: Frees) {
        let step = &self.program.steps[index];
        self.edge(made(index), runs(index));
        self.edge(made(index), returned(index));
        let earlier = &self.program.steps[..index];
        match earlier.iter().rposition(|other| other.thread == step.thread) {
            Some(before) => self.edge(returned(before), made(index)),
            // A thread knows what all the others knew when it made its first call.
            None => (0..index).for_each(|before| self.edge(returned(before), made(index))),
        }
        if step.result != 0 {
            return;
        }
        if let Some(stream) = self.stream(index) {
            for before in self.queued(index, stream) {
                self.edge(runs(before), runs(index));
            }
            if self.blocking(stream.0) {
                for before in self.queued(index, (StreamId::LEGACY, 0)) {
                    if self.stream(before) == Some((StreamId::LEGACY, 0)) {
                        self.edge(runs(before), runs(index));
                    }
                }
            }
        }
        let mut over = Vec::new();
        match &step.call {
            Call::StreamWait { event, .. } => {
                if let Some(record) = self.recorded(index, *event) {
                    self.edge(runs(record), runs(index));
                }
            }
            Call::EventSynchronize { event } | Call::EventQuery { event } => {
                over.extend(self.recorded(index, *event));
            }
            Call::EventElapsed { start, end } => {
                over.extend(self.recorded(index, *start));
                over.extend(self.recorded(index, *end));
            }
            Call::StreamSynchronize { stream } | Call::StreamQuery { stream } => {
                let thread = if *stream == StreamId::PER_THREAD { step.thread } else { 0 };
                over = self.queued(index, (*stream, thread));
            }
            Call::ContextSynchronize => over = self.everything(index),
            Call::RegionBegin => {
                over = self.everything(index);
                for before in &over {
                    for later in index + 1..self.program.steps.len() {
                        self.edge(runs(*before), made(later));
                    }
                }
            }
            Call::Copy { stream, mode, source, .. } => {
                let direction = step.call.direction();
                let pageable = *source == Place::Pageable;
                match (mode, direction) {
                    (_, Some(Direction::HostToHost)) => over.push(index),
                    (Mode::Asynchronous, _) | (_, Some(Direction::DeviceToDevice)) => {}
                    (_, Some(Direction::HostToDevice)) if pageable => {
                        over = self.queued(index, (*stream, 0));
                    }
                    _ => over.push(index),
                }
            }
            Call::Memset { mode: Mode::Synchronous, target, .. } => {
                let pinned = self.ok().any(|(_, other)| {
                    matches!(&other.call, Call::AllocHost { block, .. } if *block == target.block)
                });
                if pinned {
                    over.push(index);
                }
            }
            Call::Free { .. } | Call::FreeHost { .. } | Call::ModuleLoad
                if frees == Frees::Wait =>
            {
                let stream_ordered = self.ok().any(|(_, other)| match (&other.call, &step.call) {
                    (Call::AllocAsync { block, .. }, Call::Free { block: freed }) => block == freed,
                    _ => false,
                });
                if !stream_ordered {
                    for before in self.everything(index) {
                        self.edge(runs(before), made(index));
                    }
                }
            }
            _ => {}
        }
        over.iter().for_each(|&before| self.edge(runs(before), returned(index)));
    }

    /// Which nodes each node comes before, over any number of edges.
    fn closure(&self) -> Vec<Vec<bool>> {
        let mut reach: Vec<Vec<bool>> = Vec::new();
        for start in 0..self.edges.len() {
            let mut seen = vec![false; self.edges.len()];
            let mut open = vec![start];
            while let Some(node) = open.pop() {
                for &next in &self.edges[node] {
                    if !std::mem::replace(&mut seen[next], true) {
                        open.push(next);
                    }
                }
            }
            reach.push(seen);
        }
        reach
    }

    /// The node at which a step does to memory what it does.
    fn acts(&self, index: usize) -> Option<usize> {
        match &self.program.steps[index].call {
            Call::HostAccess { .. } => Some(made(index)),
            _ => self.stream(index).map(|_| runs(index)),
        }
    }

    /// Whether it is not known which bytes of its ranges a step uses.
    fn is_vague(&self, index: usize) -> bool {
        matches!(
            &self.program.steps[index].call,
            Call::HostFunction { .. } | Call::HostAccess { extent: Extent::Part, .. }
        )
    }

    /// Whether two steps are sure to use the same bytes of these ranges.
    fn meet(&self, first: (usize, &Range), second: (usize, &Range)) -> bool {
        let ((first, a), (second, b)) = (first, second);
        let holds = |outer: &Range, inner: &Range| {
            outer.offset <= inner.offset
                && inner.offset + inner.bytes <= outer.offset.saturating_add(outer.bytes)
        };
        a.block == b.block
            && match (self.is_vague(first), self.is_vague(second)) {
                (false, false) => {
                    a.offset < b.offset.saturating_add(b.bytes)
                        && b.offset < a.offset.saturating_add(a.bytes)
                }
                (true, false) => holds(b, a),
                (false, true) => holds(a, b),
                (true, true) => false,
            }
    }

    fn deeds(&self, index: usize) -> Vec<(Deed, Range)> {
        let whole = |block| Range { block, offset: 0, bytes: u64::MAX };
        let mut deeds = Vec::new();
        let step = &self.program.steps[index];
        match &step.call {
            _ if step.result != 0 => {}
            Call::AllocAsync { block, .. } => deeds.push((Deed::Allocate, whole(*block))),
            Call::Free { block } | Call::FreeHost { block } | Call::FreeAsync { block, .. } => {
                deeds.push((Deed::Free, whole(*block)));
            }
            Call::Copy { source, target, .. } => {
                for (deed, place) in [(Deed::Read, source), (Deed::Write, target)] {
                    if let Place::Device(range) | Place::Pinned(range) = place {
                        deeds.push((deed, *range));
                    }
                }
            }
            Call::Memset { target, .. } => deeds.push((Deed::Write, *target)),
            Call::Launch(Launch { accesses, .. })
            | Call::HostFunction { accesses, .. }
            | Call::HostAccess { accesses, .. } => deeds.extend(accesses.iter().map(|access| {
                let write = access.kind == AccessKind::Write;
                (if write { Deed::Write } else { Deed::Read }, access.range)
            })),
            _ => {}
        }
        deeds.retain(|(_, range)| range.bytes > 0);
        deeds
    }

    /// All pairs of steps with a conflict that no path orders, by the names of what is wrong.
    pub(crate) fn pairs(&self) -> Pairs {
        let reach = self.closure();
        let mut pairs = Pairs::new();
        let deeds: Vec<_> = (0..self.program.steps.len()).map(|step| self.deeds(step)).collect();
        for second in 0..deeds.len() {
            for first in 0..second {
                let to = match self.stream(second) {
                    Some(_) => runs(second),
                    None => made(second),
                };
                let ordered = self.acts(first).is_some_and(|from| reach[from][to]);
                let mut wrong = BTreeSet::new();
                for (did, a) in &deeds[first] {
                    for (does, b) in &deeds[second] {
                        let meet = self.meet((first, a), (second, b));
                        // Of memory that is gone there is only one thing to say: that it is.
                        let ends = |(deed, range): &(Deed, Range)| {
                            *deed == Deed::Free && range.block == a.block
                        };
                        let end = deeds[..second].iter().position(|of| of.iter().any(ends));
                        let meet = meet && end.is_none_or(|end| end == first);
                        if meet {
                            wrong.extend(conflict(*did, *does, ordered));
                        }
                    }
                }
                if !wrong.is_empty() {
                    pairs.insert((first as u32, second as u32), wrong);
                }
            }
        }
        pairs
    }

    /// Whether the first of a pair ends the memory that the second uses: no order helps there.
    pub(crate) fn is_freed_first(&self, first: u32) -> bool {
        self.deeds(first as usize).iter().any(|(deed, _)| *deed == Deed::Free)
    }
}

fn conflict(first: Deed, second: Deed, ordered: bool) -> Option<&'static str> {
    match (first, second) {
        (Deed::Free, Deed::Allocate) => None,
        (Deed::Free, _) => Some("use-after-free"),
        _ if ordered => None,
        (Deed::Write, Deed::Read) => Some("read-after-write"),
        (Deed::Write, Deed::Write) => Some("write-after-write"),
        (Deed::Read, Deed::Write) => Some("write-after-read"),
        (Deed::Read, Deed::Read) => None,
        (Deed::Read | Deed::Write, Deed::Free) => Some("use-after-free"),
        (Deed::Allocate, _) => Some("use-before-allocation"),
        (_, Deed::Allocate) => None,
    }
}
