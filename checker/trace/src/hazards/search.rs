//! Going through a program once, and noting each pair of uses that nothing orders.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::program::{
    Access, AccessKind, BlockId, Call, DEVICES, Direction, Extent, GraphId, Mode, NodeAccesses,
    Place, Program, Range, Step, StreamId,
};

use crate::timeline::in_order;

use super::clock::Clock;
use super::graph::{Graph, Inside};
use super::happens_before::{Actor, Epoch, Mark, Order};
use super::memory::{Block, Conflict, Origin};
use super::model::Kind;
use super::uses::{accesses, accesses_of_node, blocks_unasked};

/// No program of a page has graphs or several host threads, and each kB of its wasm counts.
const FOLLOWS_ALL: bool = !crate::IS_PLAYGROUND;

/// Which orders count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trust {
    /// Those that are documented.
    Documented,
    /// Also that freeing memory and loading a module wait for the device, as they were seen to do.
    Blocking,
}

/// A step, and which node of the graph that it launches, from 1; 0 for the step itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct At {
    pub(super) step: u32,
    pub(super) node: u32,
}

impl Mark {
    fn at(&self) -> At {
        At { step: self.step, node: self.node }
    }
}

/// Two uses that nothing orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) first: At,
    pub(super) second: At,
    pub(super) kind: Kind,
    pub(super) overlap: Range,
    /// The host thread of the second has not heard that the first was issued, so which of them
    /// comes first even in the same stream is up to the threads.
    pub(super) is_unheard: bool,
}

/// The most effort of a search, in entries of clocks and pieces of memory: a search that takes
/// longer is not worth its time, and needs too much memory. Two seconds or so.
pub const MOST_EFFORT: u64 = 1_000_000_000;

/// A program in which more would have to be looked at than [`MOST_EFFORT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMuch {
    /// The step at which it was too much.
    pub step: u32,
}

/// All pairs, in the order of their second steps.
pub(super) fn search(
    program: &Program,
    trust: Trust,
    most: u64,
) -> Result<(Vec<Pair>, u64), TooMuch> {
    let mut search = Search::new(trust);
    for (index, step) in (0u32..).zip(&program.steps) {
        search.make_within(index, step, most)?;
    }
    let effort = search.effort();
    Ok((search.pairs, effort))
}

/// The effort of a search of the whole program, in the unit of [`MOST_EFFORT`].
pub fn effort(program: &Program) -> u64 {
    let mut search = Search::new(Trust::Documented);
    for (index, step) in (0u32..).zip(&program.steps) {
        search.make(index, step);
    }
    search.effort()
}

/// A program, as far as it has been gone through.
pub(super) struct Search<'a> {
    trust: Trust,
    graphs: HashMap<GraphId, Graph<'a>>,
    order: Order,
    blocks: HashMap<BlockId, Block>,
    /// The uses from which the step at hand lacks an edge.
    missing: BTreeMap<u32, Missing>,
    pub(super) pairs: Vec<Pair>,
    /// Whether uses of memory are looked at. Without them no order is ever taken for granted.
    follows_memory: bool,
    /// By slot, the last operation that is work for the device.
    work: BTreeMap<u32, Mark>,
    /// The effort so far beside the orders.
    effort: u64,
}

/// Who uses memory, and how the use is remembered.
#[derive(Clone, Copy)]
struct User {
    actor: Actor,
    mark: Mark,
    thread: u32,
}

#[derive(Clone, Copy)]
struct Missing {
    earlier: Mark,
    kind: Kind,
    overlap: Range,
}

impl<'a> Search<'a> {
    pub(super) fn new(trust: Trust) -> Self {
        Self {
            graphs: HashMap::new(),
            trust,
            order: Order::new(),
            blocks: HashMap::new(),
            missing: BTreeMap::new(),
            pairs: Vec::new(),
            follows_memory: true,
            work: BTreeMap::new(),
            effort: 0,
        }
    }

    /// A search that only learns what comes before what, as it is documented.
    pub(super) fn of_order() -> Self {
        Self { follows_memory: false, ..Self::new(Trust::Documented) }
    }

    fn effort(&self) -> u64 {
        self.effort.saturating_add(self.order.effort)
    }

    /// The next call is made.
    pub(super) fn make(&mut self, index: u32, step: &'a Step) {
        self.order.arrive(step.thread);
        // A call that failed did nothing; a query's 600 says that the work still runs.
        if step.result == 0 {
            self.step(index, step);
        }
    }

    /// The next call is made, unless more than `most` was looked at then.
    pub(super) fn make_within(
        &mut self,
        index: u32,
        step: &'a Step,
        most: u64,
    ) -> Result<(), TooMuch> {
        self.make(index, step);
        if self.effort() > most { Err(TooMuch { step: index }) } else { Ok(()) }
    }

    /// The last operation of each stream that a host thread does not know to be over, by its step.
    pub(super) fn unfinished(&self, thread: u32) -> Vec<u32> {
        let knows = |mark: &&Mark| self.order.knows(Actor::Host(thread), mark.epoch);
        let mut steps: Vec<u32> =
            self.work.values().filter(|mark| !knows(mark)).map(|mark| mark.step).collect();
        steps.sort_unstable();
        steps
    }

    /// How many blocks of memory there are.
    pub(super) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// The uses of memory that may still go on, as far as a host thread knows: of pinned
    /// memory, or of all.
    pub(super) fn going_on(&self, thread: u32, all: bool) -> impl Iterator<Item = At> {
        let blocks = self.blocks.values();
        let blocks = blocks.filter(move |block| all || block.origin == Origin::PinnedHost);
        let knows = move |mark: &Mark| self.order.knows(Actor::Host(thread), mark.epoch);
        blocks.flat_map(Block::uses).filter(move |mark| !knows(mark)).map(|mark| mark.at())
    }

    fn step(&mut self, index: u32, step: &'a Step) {
        let Step { call, thread, .. } = step;
        let thread = *thread;
        if self.trust == Trust::Blocking {
            let blocks = &self.blocks;
            let stream_ordered = |block| {
                let block: Option<&Block> = blocks.get(&block);
                block.is_some_and(|block| matches!(block.origin, Origin::StreamOrdered(_)))
            };
            if blocks_unasked(call, stream_ordered) {
                let device = match call {
                    _ if DEVICES == 1 => 0,
                    Call::Free { block } => block.device(),
                    _ => step.device,
                };
                self.order.finish_device(thread, device);
            }
        }
        match call {
            // The lab waits for the device, and says so.
            Call::RegionBegin => self.order.finish_all_for_everyone(thread),
            Call::ContextSynchronize => self.order.finish_device(thread, step.device),
            Call::StreamSynchronize { stream } | Call::StreamQuery { stream } => {
                self.order.finish_stream(thread, *stream);
            }
            Call::EventSynchronize { event } | Call::EventQuery { event } => {
                self.order.finish_event(thread, *event);
            }
            Call::EventElapsed { start, end } => {
                self.order.finish_event(thread, *start);
                self.order.finish_event(thread, *end);
            }

            Call::StreamCreate { stream, kind, .. } => self.order.create(*stream, *kind),
            Call::StreamDestroy { stream } => self.order.destroy(*stream),
            Call::StreamWait { stream, event } => self.order.wait(thread, *stream, *event),
            Call::EventRecord { event, stream } => self.order.record(thread, *stream, *event),
            Call::EventDestroy { event } => self.order.forget_event(*event),

            Call::Alloc { block, .. } => self.allocate(*block, Origin::Device),
            Call::AllocHost { block, .. } => self.allocate(*block, Origin::PinnedHost),
            Call::AllocAsync { block, stream, .. } => {
                let epoch = self.order.operate(thread, *stream);
                self.allocate(*block, Origin::StreamOrdered(Mark { epoch, step: index, node: 0 }));
            }
            Call::Free { block } | Call::FreeHost { block } => {
                self.free(*block, index, (Actor::Host(thread), thread));
            }
            Call::FreeAsync { block, stream } => {
                let epoch = self.order.operate(thread, *stream);
                self.free(*block, index, (Actor::Stream(epoch.slot), thread));
            }

            Call::Copy { stream, .. } | Call::Memset { stream, .. } => {
                let epoch = self.order.operate(thread, *stream);
                self.works(index, epoch);
                if DEVICES > 1
                    && stream.is_legacy()
                    && call.direction() == Some(Direction::PeerToPeer)
                {
                    self.order.meet(thread, epoch, StreamId::on(1 - stream.device(), 0));
                }
                self.operation((index, thread), call, epoch);
                self.release_host(call, thread, epoch);
            }
            Call::Launch(launch) => {
                let epoch = self.order.operate(thread, launch.stream);
                self.works(index, epoch);
                self.operation((index, thread), call, epoch);
            }
            Call::HostFunction { stream, accesses } => {
                let epoch = self.order.operate(thread, *stream);
                self.works(index, epoch);
                let user = User {
                    actor: Actor::Stream(epoch.slot),
                    mark: Mark { epoch, step: index, node: 0 },
                    thread,
                };
                self.use_all(user, accesses, Extent::Part);
            }
            Call::HostAccess { accesses, extent } => {
                let epoch = self.order.use_by_host(thread);
                let mark = Mark { epoch, step: index, node: 0 };
                let user = User { actor: Actor::Host(thread), mark, thread };
                self.use_all(user, accesses, *extent);
            }
            Call::GraphCreate { graph, nodes } => {
                if FOLLOWS_ALL {
                    self.graphs.insert(*graph, Graph::new(nodes));
                }
            }
            Call::GraphLaunch { graph, copy, stream, accesses } => {
                if FOLLOWS_ALL {
                    self.launch((index, thread), (*graph, *copy), *stream, accesses);
                }
            }

            Call::ThreadSpawn { .. }
            | Call::ThreadEnd
            | Call::ThreadJoin { .. }
            | Call::ChannelCreate { .. }
            | Call::ChannelSend { .. }
            | Call::ChannelReceive { .. }
            | Call::ChannelClose { .. } => {
                if FOLLOWS_ALL {
                    self.of_threads(thread, call);
                }
            }

            Call::RegionEnd
            | Call::HostWork { .. }
            | Call::Arrival { .. }
            | Call::Answer { .. }
            | Call::Connections { .. }
            | Call::EventCreate { .. }
            | Call::PoolKeep { .. }
            | Call::PoolTrim { .. }
            | Call::PeerAccess { .. }
            | Call::ModuleLoad
            | Call::ModuleUnload
            | Call::FunctionGet { .. } => {}
            // The playground's language has no graphs, and each byte counts there.
            Call::GraphInstantiate { .. } if crate::IS_PLAYGROUND => {}
            Call::GraphInstantiate { graph, updates } => {
                let Some(known) = self.graphs.get_mut(graph) else { return };
                if let Some(updated) = updates {
                    self.order.update(*updated, (*graph, known.copies));
                }
                known.copies += 1;
            }
        }
    }

    /// An operation that is work for the device is queued.
    fn works(&mut self, index: u32, epoch: Epoch) {
        self.work.insert(epoch.slot, Mark { epoch, step: index, node: 0 });
    }

    fn allocate(&mut self, block: BlockId, origin: Origin) {
        self.blocks.insert(block, Block::new(origin));
    }

    /// Tells the host what it may know when a copy or a memset returns: as much as the table "API
    /// synchronization behavior" of CUDA's documentation promises, which is less than what is seen.
    fn release_host(&mut self, call: &Call, thread: u32, epoch: Epoch) {
        let whole = match call {
            Call::Copy { mode, source, target, .. } => match (call.direction(), mode) {
                // Synchronous in either mode.
                (Some(Direction::HostToHost), _) => true,
                // Where memory is followed, none of it is the pageable memory of the host.
                (Some(Direction::DeviceToHost), Mode::Asynchronous) if !self.follows_memory => {
                    *target == Place::Pageable
                }
                (_, Mode::Asynchronous)
                | (Some(Direction::DeviceToDevice | Direction::PeerToPeer), _) => false,
                (Some(Direction::HostToDevice), Mode::Synchronous) => {
                    // The stream is waited for, then the data is staged, and the last part of the
                    // way may still be ahead when the call returns.
                    if *source == Place::Pageable {
                        self.order.finish_all_before(thread, epoch);
                    }
                    *source != Place::Pageable
                }
                (_, Mode::Synchronous) => true,
            },
            Call::Memset { mode, target, .. } => {
                let origin = self.blocks.get(&target.block).map(|block| block.origin);
                *mode == Mode::Synchronous && origin == Some(Origin::PinnedHost)
            }
            _ => false,
        };
        if whole {
            self.order.finish_operation(thread, epoch);
        }
    }

    /// All nodes of a graph come after what the stream holds and before what it gets later. Among
    /// themselves its own edges count, which are looked at once.
    fn launch(
        &mut self,
        (index, thread): (u32, u32),
        (graph, copy): (GraphId, u32),
        stream: StreamId,
        moved: &'a [NodeAccesses],
    ) {
        let Some(known) = self.graphs.get_mut(&graph) else {
            let epoch = self.order.operate(thread, stream);
            self.works(index, epoch);
            return;
        };
        let epoch = self.order.launch(thread, stream, (graph, copy));
        self.work.insert(epoch.slot, Mark { epoch, step: index, node: 0 });
        let nodes = known.nodes;
        if !self.follows_memory {
            return;
        }
        let inside = known.inside(moved);
        self.effort = self.effort.saturating_add(known.effort);
        let mut uses = Vec::new();
        for (node, at) in (1..).zip(nodes) {
            let extent = match at.call {
                Call::HostFunction { .. } => Extent::Part,
                _ => Extent::Whole,
            };
            let mark = Mark { epoch, step: index, node };
            let user = User { actor: Actor::Stream(epoch.slot), mark, thread };
            uses.clear();
            accesses_of_node(&at.call, node, moved, |kind, range| {
                uses.push(Access { kind, range });
            });
            self.use_all(user, &uses, extent);
        }
        for Inside { first, second, kind, overlap } in inside {
            let at = |node| At { step: index, node };
            let (first, second) = (at(first), at(second));
            self.pairs.push(Pair { first, second, kind, overlap, is_unheard: false });
        }
    }

    fn operation(&mut self, (index, thread): (u32, u32), call: &Call, epoch: Epoch) {
        let mark = Mark { epoch, step: index, node: 0 };
        let user = User { actor: Actor::Stream(epoch.slot), mark, thread };
        let mut uses = Vec::new();
        accesses(call, |kind, range| uses.push(Access { kind, range }));
        self.use_all(user, &uses, Extent::Whole);
    }

    fn use_all(&mut self, user: User, uses: &[Access], extent: Extent) {
        if !self.follows_memory {
            return;
        }
        let reads = uses.iter().any(|access| access.kind == AccessKind::Read);
        let knew = if reads { self.order.knew(user.actor) } else { Rc::default() };
        // Reads first, in whatever order they are listed: an operation reads what was there before
        // it.
        for turn in [AccessKind::Read, AccessKind::Write] {
            for access in uses.iter().filter(|access| access.kind == turn) {
                self.access(access.kind, access.range, (user, &knew), extent);
            }
        }
        self.report(user.mark.at(), (user.actor, user.thread));
    }

    fn access(
        &mut self,
        kind: AccessKind,
        range: Range,
        (user, knew): (User, &Rc<Clock>),
        extent: Extent,
    ) {
        let User { actor, mark, .. } = user;
        let Self { order, blocks, missing, pairs, effort, .. } = self;
        let block = blocks.entry(range.block).or_default();
        if let Some(freed) = block.freed {
            let kind = Kind::UseAfterFree;
            let pair = Pair {
                first: At { step: freed, node: 0 },
                second: mark.at(),
                kind,
                overlap: range,
                is_unheard: false,
            };
            let mut of_this_step = pairs.iter().rev().take_while(|last| last.second == mark.at());
            if of_this_step.all(|last| last.first.step != freed) {
                pairs.push(pair);
            }
            return;
        }
        let knows = |epoch| order.knows(actor, epoch);
        if let Origin::StreamOrdered(born) = block.origin
            && !knows(born.epoch)
        {
            let kind = Kind::UseBeforeAllocation;
            lack(missing, Missing { earlier: born, kind, overlap: range });
        }
        let found = |conflict| {
            let Conflict { earlier, earlier_kind, overlap } = conflict;
            let kind = Kind::of(earlier_kind, kind);
            lack(missing, Missing { earlier, kind, overlap });
        };
        match extent {
            Extent::Whole if kind == AccessKind::Read => {
                block.read(range, (mark, knew), knows, found);
            }
            Extent::Whole => block.write(range, mark, knows, found),
            Extent::Part => block.access_somewhere(kind, range, mark, knows, found),
        }
        *effort += 1 + std::mem::take(&mut block.effort);
    }

    fn free(&mut self, id: BlockId, index: u32, (actor, thread): (Actor, u32)) {
        if !self.follows_memory {
            return;
        }
        let Self { order, blocks, missing, pairs, effort, .. } = self;
        let block = blocks.entry(id).or_default();
        let overlap = Range { block: id, offset: 0, bytes: 0 };
        if let Some(freed) = block.freed {
            let kind = Kind::UseAfterFree;
            let at = |step| At { step, node: 0 };
            let (first, second) = (at(freed), at(index));
            pairs.push(Pair { first, second, kind, overlap, is_unheard: false });
            return;
        }
        let knows = |epoch| order.knows(actor, epoch);
        if let Origin::StreamOrdered(born) = block.origin
            && !knows(born.epoch)
        {
            lack(missing, Missing { earlier: born, kind: Kind::UseBeforeAllocation, overlap });
        }
        block.free(id, index, knows, |Conflict { earlier, overlap, .. }| {
            lack(missing, Missing { earlier, kind: Kind::UseAfterFree, overlap });
        });
        *effort += 1 + std::mem::take(&mut block.effort);
        self.report(At { step: index, node: 0 }, (actor, thread));
    }

    /// Goes through a call by which host threads tell one another something.
    fn of_threads(&mut self, thread: u32, call: &Call) {
        match call {
            Call::ThreadSpawn { thread: new } => self.order.spawn(thread, *new),
            Call::ThreadEnd => self.order.end(thread),
            Call::ThreadJoin { thread: other } => self.order.join(thread, *other),
            Call::ChannelCreate { channel, capacity } => self.order.open(*channel, *capacity),
            Call::ChannelSend { channel, message } => self.order.send(thread, *channel, *message),
            Call::ChannelReceive { channel, message } => {
                self.order.receive(thread, *channel, *message);
            }
            Call::ChannelClose { channel, end, left } => {
                self.order.close(thread, (*channel, *end), *left);
            }
            _ => {}
        }
    }

    /// Notes down what the step at hand lacks, and goes on as if it did not. The latest of several
    /// uses comes first: where it has waited for the others, a wait for it is a wait for them too.
    fn report(&mut self, second: At, (actor, thread): (Actor, u32)) {
        let mut missing: Vec<Missing> = std::mem::take(&mut self.missing).into_values().collect();
        missing = in_order(missing, |missing| {
            let At { step, node } = missing.earlier.at();
            ((u32::MAX - step).into(), u32::MAX - node)
        });
        // Each pair is kept, and takes memory as many entries of a clock do.
        const KEPT: u64 = 32;
        self.effort += KEPT * missing.len() as u64;
        for Missing { earlier, kind, overlap } in missing {
            let is_unheard = !self.order.knows_call(thread, earlier.epoch);
            self.pairs.push(Pair { first: earlier.at(), second, kind, overlap, is_unheard });
            self.order.suppose(actor, earlier.epoch);
        }
    }
}

/// Keeps one lack for each stream, that of its latest operation: an edge from there orders the ones
/// before it too. Of several conflicts with that one the first of [`Kind`]'s order is named.
fn lack(missing: &mut BTreeMap<u32, Missing>, new: Missing) {
    let rank = |it: &Missing| (it.earlier.epoch.count, std::cmp::Reverse(it.kind));
    let known = missing.entry(new.earlier.epoch.slot).or_insert(new);
    if rank(known) < rank(&new) {
        *known = new;
    }
}
