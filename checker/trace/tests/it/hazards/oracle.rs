//! The same question asked in another way: a graph of everything that happens, all paths in it, and
//! all pairs. It is slow, has no clocks and keeps no state of memory, and shares nothing with what it
//! checks but the types of a program.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{
    AccessKind, Call, ChannelEnd, ChannelId, Direction, EventId, Extent, GraphNode, Launch, Mode,
    Place, Program, Range, Step, StreamId, StreamKind,
};

/// Whether freeing memory and loading a module wait for the device.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Frees {
    Return,
    Wait,
}

/// Everything that happens in a program, and which of it comes before which. A step has four nodes: the
/// call is made, the operation starts and ends, the call has returned. What is in a graph has one for
/// each operation, between the start and the end of the launch.
pub(crate) struct Oracle<'a> {
    program: &'a Program,
    /// By node, the nodes that it comes directly before.
    edges: Vec<Vec<usize>>,
    /// By step, the stream that it queues something in, if it succeeded.
    queues: Vec<Option<(StreamId, u32)>>,
    /// By step, the last one before it in each stream.
    last: Vec<BTreeMap<(StreamId, u32), usize>>,
    /// Whoever uses memory.
    users: Vec<User>,
    /// By block, the step that ends it first.
    ends: BTreeMap<u32, usize>,
}

/// Who uses memory.
struct User {
    step: usize,
    /// What has to come before, for it to be after something; and what comes after it, if it is ever
    /// known to be over.
    from: usize,
    to: Option<usize>,
    /// Whether it is not known which bytes of its ranges it uses.
    is_vague: bool,
    deeds: Vec<(Deed, Range)>,
}

fn made(step: usize) -> usize {
    4 * step
}

fn starts(step: usize) -> usize {
    4 * step + 1
}

fn runs(step: usize) -> usize {
    4 * step + 2
}

fn returned(step: usize) -> usize {
    4 * step + 3
}

/// What is done to some bytes.
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
        let steps = program.steps.len();
        let mut oracle = Self {
            program,
            edges: vec![Vec::new(); 4 * steps],
            queues: Vec::new(),
            last: Vec::new(),
            users: Vec::new(),
            ends: BTreeMap::new(),
        };
        let mut last = BTreeMap::new();
        for index in 0..steps {
            let queue = oracle.find_queue(index);
            oracle.last.push(last.clone());
            oracle.queues.push(queue);
            last.extend(queue.map(|queue| (queue, index)));
            last.extend(queue.and_then(|_| Self::met(&program.steps[index])).map(|it| (it, index)));
        }
        for index in 0..steps {
            oracle.add(index, frees);
            oracle.add_users(index);
        }
        for user in &oracle.users {
            for (deed, range) in &user.deeds {
                if *deed == Deed::Free {
                    oracle.ends.entry(range.block.0).or_insert(user.step);
                }
            }
        }
        oracle
    }

    /// One more edge: from the operation of one step to that of another, or to its call.
    pub(crate) fn connect(&mut self, first: u32, second: u32) {
        let (first, second) = (first as usize, second as usize);
        let to = if self.queues[second].is_some() { starts(second) } else { made(second) };
        let from = match &self.program.steps[first].call {
            Call::HostAccess { .. } => made(first),
            _ => runs(first),
        };
        self.edge(from, to);
        // The edge is a wait that is queued before the second step. This copy returns when what was
        // queued before it is over, and not only when it is over itself.
        if let Call::Copy { mode: Mode::Synchronous, source: Place::Pageable, .. } =
            &self.program.steps[second].call
        {
            self.edge(runs(first), returned(second));
        }
    }

    fn edge(&mut self, from: usize, to: usize) {
        self.edges[from].push(to);
    }

    fn ok(&self) -> impl Iterator<Item = (usize, &'a Step)> + use<'a> {
        self.program.steps.iter().enumerate().filter(|(_, step)| step.result == 0)
    }

    fn find_queue(&self, index: usize) -> Option<(StreamId, u32)> {
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
            | Call::GraphLaunch { stream, .. }
            | Call::HostFunction { stream, .. } => *stream,
            Call::Launch(launch) => launch.stream,
            _ => return None,
        };
        Some((stream, if stream.is_per_thread() { step.thread } else { 0 }))
    }

    fn blocking(&self, stream: StreamId) -> bool {
        let created = self.program.steps.iter().find_map(|step| match &step.call {
            Call::StreamCreate { stream: new, kind, .. } if *new == stream => Some(*kind),
            _ => None,
        });
        stream.is_per_thread() || created == Some(StreamKind::Blocking)
    }

    /// The step that recorded `event` last before `index`.
    fn recorded(&self, index: usize, event: EventId) -> Option<usize> {
        let earlier = self.program.steps[..index].iter().enumerate().rev();
        let mut about = earlier.filter(|(_, step)| step.result == 0).filter_map(|(at, step)| {
            match &step.call {
                Call::EventRecord { event: of, .. } if *of == event => Some(Some(at)),
                Call::EventDestroy { event: of } if *of == event => Some(None),
                _ => None,
            }
        });
        about.next().flatten()
    }

    /// The last step before `index` in each stream that a wait for `stream` waits for: what was queued
    /// in the same stream before comes before that one.
    fn queued(&self, index: usize, stream: (StreamId, u32)) -> Vec<usize> {
        let legacy = stream.0.is_legacy();
        let mut last = self.last[index].clone();
        let is_before = |other: StreamId| other.legacy() == stream.0 && self.blocking(other);
        last.retain(|&other, _| other == stream || legacy && is_before(other.0));
        last.into_values().collect()
    }

    fn everything(&self, index: usize) -> Vec<usize> {
        self.last[index].values().copied().collect()
    }

    /// The last step before `index` in each stream of a device.
    fn all_on(&self, index: usize, device: u32) -> Vec<usize> {
        let last = self.last[index].iter();
        last.filter(|((stream, _), _)| stream.device() == device).map(|(_, &at)| at).collect()
    }

    /// The default stream of the other device, where a copy between the two is in that of its own.
    fn met(step: &Step) -> Option<(StreamId, u32)> {
        let Call::Copy { stream, .. } = &step.call else { return None };
        let is_met = stream.is_legacy() && step.call.direction() == Some(Direction::PeerToPeer);
        is_met.then(|| (StreamId::on(1 - stream.device(), 0), 0))
    }

    /// The first step that `wanted` is true of.
    fn find(&self, wanted: impl Fn(&Step) -> bool) -> Option<usize> {
        self.program.steps.iter().position(wanted)
    }

    fn add(&mut self, index: usize, frees: Frees) {
        let step = &self.program.steps[index];
        self.edge(made(index), starts(index));
        self.edge(starts(index), runs(index));
        self.edge(made(index), returned(index));
        let earlier = &self.program.steps[..index];
        let spawned = |other: &Step| other.call == Call::ThreadSpawn { thread: step.thread };
        match earlier.iter().rposition(|other| other.thread == step.thread) {
            Some(before) => self.edge(returned(before), made(index)),
            None => match earlier.iter().position(spawned) {
                Some(spawn) => self.edge(made(spawn), made(index)),
                // A thread knows what all the others knew when it made its first call.
                None => (0..index).for_each(|before| self.edge(returned(before), made(index))),
            },
        }
        if step.result != 0 {
            return;
        }
        if let Some(stream) = self.queues[index] {
            for before in self.queued(index, stream) {
                self.edge(runs(before), starts(index));
            }
            if self.blocking(stream.0)
                && let Some(&before) = self.last[index].get(&(stream.0.legacy(), 0))
            {
                self.edge(runs(before), starts(index));
            }
            if let Some(other) = Self::met(step) {
                for before in self.queued(index, other) {
                    self.edge(runs(before), starts(index));
                }
            }
        }
        let mut over = Vec::new();
        match &step.call {
            Call::StreamWait { event, .. } => {
                if let Some(record) = self.recorded(index, *event) {
                    self.edge(runs(record), starts(index));
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
                let thread = if stream.is_per_thread() { step.thread } else { 0 };
                over = self.queued(index, (*stream, thread));
            }
            Call::ContextSynchronize => over = self.all_on(index, step.device),
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
                    (Mode::Asynchronous, _)
                    | (_, Some(Direction::DeviceToDevice | Direction::PeerToPeer)) => {}
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
            Call::Free { .. } | Call::FreeHost { .. } | Call::ModuleLoad | Call::ModuleUnload
                if frees == Frees::Wait =>
            {
                let stream_ordered = self.ok().any(|(_, other)| match (&other.call, &step.call) {
                    (Call::AllocAsync { block, .. }, Call::Free { block: freed }) => block == freed,
                    _ => false,
                });
                if !stream_ordered {
                    let device = match &step.call {
                        Call::Free { block } => block.device(),
                        _ => step.device,
                    };
                    for before in self.all_on(index, device) {
                        self.edge(runs(before), made(index));
                    }
                }
            }
            Call::GraphLaunch { graph, copy, .. } => {
                let launches = |step: &Step| {
                    step.result == 0
                        && matches!(&step.call, Call::GraphLaunch { graph: of, copy: which, .. }
                            if (of, which) == (graph, copy))
                };
                // Launches of one executable copy take turns.
                if let Some(before) = earlier.iter().rposition(launches) {
                    self.edge(runs(before), starts(index));
                }
            }
            Call::ThreadJoin { thread } => {
                let end = |it: &Step| it.thread == *thread && it.call == Call::ThreadEnd;
                if let Some(end) = self.find(end) {
                    self.edge(made(end), returned(index));
                }
            }
            Call::ChannelSend { channel, message: Some(message) } => {
                let capacity = self.ok().find_map(|(_, step)| match &step.call {
                    Call::ChannelCreate { channel: of, capacity } if of == channel => *capacity,
                    _ => None,
                });
                let room = capacity.and_then(|capacity| message.checked_sub(capacity.max(1)));
                let takes = |it: &Step| {
                    it.call == Call::ChannelReceive { channel: *channel, message: room }
                };
                if room.is_some()
                    && let Some(taken) = self.find(takes)
                {
                    self.edge(returned(taken), returned(index));
                }
            }
            Call::ChannelReceive { channel, message: Some(message) } => {
                let (channel, message) = (*channel, Some(*message));
                let sends = |it: &Step| it.call == Call::ChannelSend { channel, message };
                if let Some(sent) = self.find(sends) {
                    // A send that waits for room has put nothing in when it is made.
                    self.edge(returned(sent), returned(index));
                }
            }
            Call::ChannelReceive { channel, message: None } => {
                self.outlast(index, *channel, ChannelEnd::Sender);
            }
            Call::ChannelSend { channel, message: None } => {
                self.outlast(index, *channel, ChannelEnd::Receiver);
            }
            _ => {}
        }
        over.iter().for_each(|&before| self.edge(runs(before), returned(index)));
    }

    /// A call that comes back because nobody holds one end of a channel any more.
    fn outlast(&mut self, index: usize, of: ChannelId, gone: ChannelEnd) {
        let closes = |(_, step): &(usize, &Step)| matches!(&step.call, Call::ChannelClose { channel, end, .. } if (*channel, *end) == (of, gone));
        let closed: Vec<usize> = self.ok().filter(closes).map(|(index, _)| index).collect();
        closed.iter().for_each(|&closed| self.edge(made(closed), returned(index)));
    }

    /// Whoever uses memory in a step.
    fn add_users(&mut self, index: usize) {
        let step = &self.program.steps[index];
        let is_queued = self.queues[index].is_some();
        if let Call::GraphLaunch { graph, .. } = &step.call
            && is_queued
        {
            let made_by = self.ok().find_map(|(_, step)| match &step.call {
                Call::GraphCreate { graph: of, nodes } if of == graph => Some(nodes),
                _ => None,
            });
            let first = self.edges.len();
            for GraphNode { call, after, .. } in made_by.into_iter().flatten() {
                let node = self.edges.len();
                self.edges.push(Vec::new());
                self.edge(starts(index), node);
                self.edge(node, runs(index));
                after.iter().for_each(|&before| self.edge(first + before as usize, node));
                let is_vague = matches!(call, Call::HostFunction { .. });
                let deeds = deeds(call);
                self.users.push(User { step: index, from: node, to: Some(node), is_vague, deeds });
            }
            return;
        }
        if step.result != 0 {
            return;
        }
        let (from, to) = match &step.call {
            Call::HostAccess { .. } => (made(index), Some(made(index))),
            _ if is_queued => (runs(index), Some(runs(index))),
            _ => (made(index), None),
        };
        let is_vague = matches!(
            &step.call,
            Call::HostFunction { .. } | Call::HostAccess { extent: Extent::Part, .. }
        );
        let deeds = deeds(&step.call);
        if !deeds.is_empty() {
            self.users.push(User { step: index, from, to, is_vague, deeds });
        }
    }

    /// Which nodes each node comes before, over any number of edges: a bit for each.
    fn closure(&self) -> Vec<Vec<u64>> {
        let words = self.edges.len().div_ceil(64);
        let mut reach: Vec<Vec<u64>> = vec![Vec::new(); self.edges.len()];
        // Each node after all those that it leads to.
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut seen = vec![false; self.edges.len()];
        for root in 0..self.edges.len() {
            if !std::mem::replace(&mut seen[root], true) {
                open.push((root, 0));
            }
            while let Some((node, next)) = open.pop() {
                if let Some(&to) = self.edges[node].get(next) {
                    open.push((node, next + 1));
                    if !std::mem::replace(&mut seen[to], true) {
                        open.push((to, 0));
                    }
                    continue;
                }
                let mut own = vec![0; words];
                for &to in &self.edges[node] {
                    if own[to / 64] >> (to % 64) & 1 == 0 {
                        own.iter_mut().zip(&reach[to]).for_each(|(own, theirs)| *own |= theirs);
                        own[to / 64] |= 1 << (to % 64);
                    }
                }
                reach[node] = own;
            }
        }
        reach
    }

    /// For each two steps, whether what the first queues is over before the call of the second is made,
    /// and before what the second queues starts.
    #[allow(dead_code, reason = "the tests of `simulator` use it")]
    pub(crate) fn orders(&self) -> impl Fn(u32, u32) -> (bool, bool) {
        let reach = self.closure();
        let leads = move |from: usize, to: usize| reach[from][to / 64] >> (to % 64) & 1 == 1;
        move |first, second| {
            let (first, second) = (first as usize, second as usize);
            (leads(runs(first), made(second)), leads(runs(first), starts(second)))
        }
    }

    /// The steps that give the device work which no path leads from to the last end of a region, made before it.
    #[allow(dead_code, reason = "the tests of `simulator` do not use it")]
    pub(crate) fn unwaited(&self) -> BTreeSet<u32> {
        let mut oracle = Self::new(self.program, Frees::Return);
        for (index, step) in self.ok() {
            // Taken to have ended when it returns: nothing else would let the host use what it brought.
            let is_brought = matches!(step.call, Call::Copy { target: Place::Pageable, .. });
            if is_brought && step.call.direction() == Some(Direction::DeviceToHost) {
                oracle.edge(runs(index), returned(index));
            }
        }
        let reach = oracle.closure();
        // Of several regions the last: those before are tries.
        let ends = |step: &Step| step.call == Call::RegionEnd;
        let Some(end) = self.program.steps.iter().rposition(ends) else {
            return BTreeSet::new();
        };
        let is_over = |step: usize| reach[runs(step)][made(end) / 64] >> (made(end) % 64) & 1 == 1;
        let is_work = |call: &Call| {
            matches!(
                call,
                Call::Copy { .. }
                    | Call::Memset { .. }
                    | Call::Launch(_)
                    | Call::HostFunction { .. }
                    | Call::GraphLaunch { .. }
            )
        };
        let work = self.ok().filter(|(index, step)| *index < end && is_work(&step.call));
        work.filter(|(index, _)| !is_over(*index)).map(|(index, _)| index as u32).collect()
    }

    /// All pairs of steps with a conflict that no path orders, by the names of what is wrong.
    pub(crate) fn pairs(&self) -> Pairs {
        self.pairs_in(&self.closure())
    }

    /// All pairs of steps with a conflict, ordered or not.
    #[allow(dead_code, reason = "the tests of `simulator` do not use it")]
    pub(crate) fn conflicts(&self) -> Pairs {
        self.pairs_in(&vec![vec![0; self.edges.len().div_ceil(64)]; self.edges.len()])
    }

    fn pairs_in(&self, reach: &[Vec<u64>]) -> Pairs {
        let mut pairs = Pairs::new();
        let mut by_block: BTreeMap<u32, BTreeSet<usize>> = BTreeMap::new();
        for (number, user) in self.users.iter().enumerate() {
            for (_, range) in &user.deeds {
                by_block.entry(range.block.0).or_default().insert(number);
            }
        }
        for users in by_block.values() {
            for &b in users {
                for &a in users.range(..b) {
                    let (first, second) = (&self.users[a], &self.users[b]);
                    let wrong = self.between(first, second, reach);
                    if !wrong.is_empty() {
                        let steps = (first.step as u32, second.step as u32);
                        pairs.entry(steps).or_default().extend(wrong);
                    }
                }
            }
        }
        pairs
    }

    fn between(&self, first: &User, second: &User, reach: &[Vec<u64>]) -> BTreeSet<&'static str> {
        let to = second.from;
        let ordered = first.to.is_some_and(|from| reach[from][to / 64] >> (to % 64) & 1 == 1);
        let mut wrong = BTreeSet::new();
        for (did, a) in &first.deeds {
            for (does, b) in &second.deeds {
                // Of memory that is gone there is only one thing to say: that it is.
                let end = self.ends.get(&a.block.0).filter(|&&end| end < second.step);
                if meet((first, a), (second, b)) && end.is_none_or(|&end| end == first.step) {
                    wrong.extend(conflict(*did, *does, ordered));
                }
            }
        }
        wrong
    }

    /// Whether the first of a pair ends the memory that the second uses: no order helps there.
    pub(crate) fn is_freed_first(&self, first: u32) -> bool {
        let own = self.users.iter().filter(|user| user.step == first as usize);
        own.flat_map(|user| &user.deeds).any(|(deed, _)| *deed == Deed::Free)
    }
}

/// Whether two are sure to use the same bytes of these ranges.
fn meet((first, a): (&User, &Range), (second, b): (&User, &Range)) -> bool {
    let holds = |outer: &Range, inner: &Range| {
        outer.offset <= inner.offset
            && inner.offset + inner.bytes <= outer.offset.saturating_add(outer.bytes)
    };
    a.block == b.block
        && match (first.is_vague, second.is_vague) {
            (false, false) => {
                a.offset < b.offset.saturating_add(b.bytes)
                    && b.offset < a.offset.saturating_add(a.bytes)
            }
            (true, false) => holds(b, a),
            (false, true) => holds(a, b),
            (true, true) => false,
        }
}

fn deeds(call: &Call) -> Vec<(Deed, Range)> {
    let whole = |block| Range { block, offset: 0, bytes: u64::MAX };
    let mut deeds = Vec::new();
    match call {
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
