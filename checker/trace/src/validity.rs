//! Whether a program can be played: all that a call names exists when the call is made.
//!
//! What the driver recorded is valid, since it refused everything else. A program that was changed,
//! or that comes from a file, is checked before it is simulated: the simulator takes what it is
//! given for granted.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::hazards::{accesses, stream};
use crate::program::{
    BlockId, Call, ChannelId, EventId, GraphId, GraphNode, KernelId, Place, Program, Range, Step,
    StreamId,
};

/// Why a program cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// The first step at which it cannot go on.
    pub step: u32,
    /// The flaw there.
    pub what: Flaw,
}

/// Flaws of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// It uses something that does not exist then.
    Missing(Named),
    /// It creates something that exists already, or whose number is no number of this program's.
    Number(Named),
    /// A node of a graph comes after itself or after a later one.
    Cycle,
    /// It queues more bytes than there are addresses.
    Range,
}

/// Kinds of things that a program numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Named {
    /// A stream.
    Stream(StreamId),
    /// An event.
    Event(EventId),
    /// A block of memory.
    Block(BlockId),
    /// A kernel.
    Kernel(KernelId),
    /// A graph.
    Graph(GraphId),
    /// An executable copy of a graph, by its number among those of that graph.
    Copy(GraphId, u32),
    /// A channel.
    Channel(ChannelId),
    /// A host thread.
    Thread(u32),
}

impl Named {
    fn number(self) -> u32 {
        match self {
            Self::Stream(stream) => stream.number(),
            Self::Block(block) => block.number(),
            Self::Event(EventId(number))
            | Self::Kernel(KernelId(number))
            | Self::Graph(GraphId(number))
            | Self::Copy(_, number)
            | Self::Channel(ChannelId(number))
            | Self::Thread(number) => number,
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Stream(_) => "stream",
            Self::Event(_) => "event",
            Self::Block(_) => "block",
            Self::Kernel(_) => "kernel",
            Self::Graph(_) => "graph",
            Self::Copy(..) => "executable copy",
            Self::Channel(_) => "channel",
            Self::Thread(_) => "host thread",
        };
        write!(f, "{kind} {}", self.number())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, what } = self;
        match what {
            Flaw::Missing(named) => write!(f, "step {step} uses {named}, which does not exist"),
            Flaw::Number(named) => write!(f, "step {step} creates {named}, which cannot be new"),
            Flaw::Cycle => write!(f, "step {step} makes a graph that goes round in a circle"),
            Flaw::Range => write!(f, "step {step} uses memory beyond the last address"),
        }
    }
}

impl std::error::Error for Invalid {}

/// Checks a whole program, in the order of its steps.
pub fn check(program: &Program) -> Result<(), Invalid> {
    let mut validity = Validity::of(program);
    for (index, step) in (0u32..).zip(&program.steps) {
        validity.check(index, step)?;
    }
    Ok(())
}

/// Things that exist at some point of a program that is gone through step by step, in whatever
/// order.
#[derive(Clone, Debug, Default)]
pub struct Validity {
    existing: HashSet<Named>,
    /// Whatever was created, destroyed or not: no number is given twice.
    created: HashSet<Named>,
    /// Blocks that were used and that no step had created: they were there before the first one.
    before: HashSet<BlockId>,
    /// How many executable copies were made of each graph.
    copies: HashMap<GraphId, u32>,
    /// Numbers are smaller than this: a program numbers what it creates, one after the other.
    numbers: u32,
}

/// A query that found work still running changes nothing, but names what it asks about.
const NOT_READY: u32 = 600;

impl Validity {
    /// Before the first step of `program`.
    pub fn of(program: &Program) -> Self {
        // A step creates one thing at most. A program written by hand may have any numbers, within
        // reason: what is numbered takes room up to its number.
        const BY_HAND: u32 = 1 << 16;
        let numbers = u32::try_from(program.steps.len()).unwrap_or(u32::MAX);
        Self { numbers: numbers.max(BY_HAND), ..Self::default() }
    }

    /// Makes one step. A call that failed is not played, so it need not be valid.
    pub fn check(&mut self, index: u32, step: &Step) -> Result<(), Invalid> {
        if step.result != 0 && step.result != NOT_READY {
            return Ok(());
        }
        self.call(&step.call).map_err(|what| Invalid { step: index, what })
    }

    /// A graph has an executable copy of this number.
    fn copy(&self, graph: GraphId, copy: u32) -> Result<(), Flaw> {
        self.exists(Named::Graph(graph))?;
        match self.copies.get(&graph) {
            Some(made) if copy < *made => Ok(()),
            _ => Err(Flaw::Missing(Named::Copy(graph, copy))),
        }
    }

    fn exists(&self, named: Named) -> Result<(), Flaw> {
        let is_there = match named {
            Named::Stream(stream) if stream.number() < StreamId::FIRST_CREATED => true,
            Named::Thread(0) => true,
            named => self.existing.contains(&named),
        };
        if is_there { Ok(()) } else { Err(Flaw::Missing(named)) }
    }

    fn create(&mut self, named: Named) -> Result<(), Flaw> {
        let is_old = match named {
            Named::Stream(stream) => stream.number() < StreamId::FIRST_CREATED,
            Named::Thread(thread) => thread == 0,
            _ => false,
        };
        let is_old = is_old || matches!(named, Named::Block(block) if self.before.contains(&block));
        if is_old || named.number() >= self.numbers || !self.created.insert(named) {
            return Err(Flaw::Number(named));
        }
        self.existing.insert(named);
        Ok(())
    }

    fn destroy(&mut self, named: Named) -> Result<(), Flaw> {
        self.exists(named)?;
        self.existing.remove(&named);
        Ok(())
    }

    fn call(&mut self, call: &Call) -> Result<(), Flaw> {
        match call {
            Call::StreamCreate { stream, .. } => self.create(Named::Stream(*stream)),
            Call::StreamDestroy { stream } => self.destroy(Named::Stream(*stream)),
            Call::StreamSynchronize { stream } | Call::StreamQuery { stream } => {
                self.exists(Named::Stream(*stream))
            }
            Call::StreamWait { stream, event } | Call::EventRecord { event, stream } => {
                self.exists(Named::Stream(*stream))?;
                self.exists(Named::Event(*event))
            }
            Call::EventCreate { event, .. } => self.create(Named::Event(*event)),
            Call::EventDestroy { event } => self.destroy(Named::Event(*event)),
            Call::EventSynchronize { event } | Call::EventQuery { event } => {
                self.exists(Named::Event(*event))
            }
            Call::EventElapsed { start, end } => {
                self.exists(Named::Event(*start))?;
                self.exists(Named::Event(*end))
            }
            Call::Alloc { block, .. } | Call::AllocHost { block, .. } => {
                self.create(Named::Block(*block))
            }
            Call::AllocAsync { block, stream, .. } => {
                self.exists(Named::Stream(*stream))?;
                self.create(Named::Block(*block))
            }
            Call::Free { block } | Call::FreeHost { block } => self.free(*block),
            Call::FreeAsync { block, stream } => {
                self.exists(Named::Stream(*stream))?;
                self.free(*block)
            }
            Call::Copy { .. }
            | Call::Memset { .. }
            | Call::Launch(_)
            | Call::HostFunction { .. }
            | Call::HostAccess { .. } => self.operation(call),
            Call::FunctionGet { kernel, .. } => self.create(Named::Kernel(*kernel)),
            Call::GraphCreate { graph, nodes } => {
                for (index, GraphNode { call, after, .. }) in (0u32..).zip(nodes) {
                    // Memory that a graph was captured with may be gone, or not be there yet.
                    let stream = stream(call).map(Named::Stream);
                    if let Some(stream) = stream.filter(|it| !self.created.contains(it)) {
                        self.exists(stream)?; // it may be gone since it was captured
                    }
                    self.kernel(call)?;
                    ranges(call)?;
                    if after.iter().any(|&before| before >= index) {
                        return Err(Flaw::Cycle);
                    }
                }
                self.create(Named::Graph(*graph))
            }
            Call::GraphInstantiate { graph, updates } => {
                self.exists(Named::Graph(*graph))?;
                if let &Some((other, copy)) = updates {
                    self.copy(other, copy)?;
                }
                *self.copies.entry(*graph).or_default() += 1;
                Ok(())
            }
            Call::GraphLaunch { graph, copy, stream, .. } => {
                self.copy(*graph, *copy)?;
                self.exists(Named::Stream(*stream))
            }
            Call::ThreadSpawn { thread } => self.create(Named::Thread(*thread)),
            Call::ThreadJoin { thread } => self.exists(Named::Thread(*thread)),
            Call::ChannelCreate { channel, .. } => self.create(Named::Channel(*channel)),
            Call::ChannelSend { channel, .. }
            | Call::ChannelReceive { channel, .. }
            | Call::ChannelClose { channel, .. } => self.exists(Named::Channel(*channel)),
            Call::RegionBegin
            | Call::RegionEnd
            | Call::Connections { .. }
            | Call::HostWork { .. }
            | Call::Arrival { .. }
            | Call::Answer { .. }
            | Call::ThreadEnd
            | Call::ContextSynchronize
            | Call::PoolKeep { .. }
            | Call::PoolTrim { .. }
            | Call::PeerAccess { .. }
            | Call::ModuleLoad
            | Call::ModuleUnload => Ok(()),
        }
    }

    /// The stream and the kernel of an operation.
    fn queued(&self, call: &Call) -> Result<(), Flaw> {
        if let Some(stream) = stream(call) {
            self.exists(Named::Stream(stream))?;
        }
        self.kernel(call)
    }

    fn kernel(&self, call: &Call) -> Result<(), Flaw> {
        match call {
            Call::Launch(launch) => self.exists(Named::Kernel(launch.kernel)),
            _ => Ok(()),
        }
    }

    fn operation(&mut self, call: &Call) -> Result<(), Flaw> {
        self.queued(call)?;
        ranges(call)?;
        // To use memory that is gone is a hazard, which is found elsewhere, and not impossible. A
        // host function says what it used when it ran, which may be newer than its place in the
        // stream.
        let is_used_now = !matches!(call, Call::HostFunction { .. });
        let Self { created, before, numbers, .. } = self;
        let mut missing = None;
        accesses(call, |_, Range { block, .. }| {
            if block.number() >= *numbers {
                missing.get_or_insert(block);
            } else if is_used_now && !created.contains(&Named::Block(block)) {
                before.insert(block);
            }
        });
        missing.map_or(Ok(()), |block| Err(Flaw::Missing(Named::Block(block))))
    }

    /// A block is freed once.
    fn free(&mut self, block: BlockId) -> Result<(), Flaw> {
        if self.created.contains(&Named::Block(block)) {
            return self.destroy(Named::Block(block));
        }
        match self.before.contains(&block) && self.created.insert(Named::Block(block)) {
            true => Ok(()),
            false => Err(Flaw::Missing(Named::Block(block))),
        }
    }
}

/// No range goes beyond the last address.
fn ranges(call: &Call) -> Result<(), Flaw> {
    let fits = |range: &Range| range.offset.checked_add(range.bytes).is_some();
    let place = |place: &Place| match place {
        Place::Device(range) | Place::Pinned(range) => fits(range),
        Place::Pageable => true,
    };
    let is_right = match call {
        Call::Copy { source, target, .. } => place(source) && place(target),
        Call::Memset { target, .. } => fits(target),
        Call::Launch(launch) => launch.accesses.iter().all(|access| fits(&access.range)),
        _ => true,
    };
    if is_right { Ok(()) } else { Err(Flaw::Range) }
}
