//! What comes before what: vector clocks of streams, host threads and events.
//!
//! Every edge in here is one that NVIDIA's documentation states. Two things follow from how it is
//! built: the calls are gone through once, in the order in which they were made, and no step costs
//! more than a few clocks' width.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::program::{EventId, GraphId, StreamId, StreamKind};

use super::clock::Clock;
use super::threads::Threads;

/// One operation, by its place in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    /// The slot of its stream.
    pub(super) slot: u32,
    /// How many operations of that slot there were, with this one.
    pub(super) count: u32,
}

/// Who does something: an operation of a stream, or a call of a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// The operation that was queued last in the stream of this slot.
    Stream(u32),
    /// The host thread of this number.
    Host(u32),
}

/// What becomes of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// A stream that can get new operations.
    Open,
    /// One that can not.
    Destroyed,
    /// What a host thread itself does to memory: no synchronisation with the device says that it is over.
    Host,
}

#[derive(Debug)]
struct Stream {
    clock: Clock,
    kind: StreamKind,
    life: Life,
    /// How many actions of the legacy default stream its clock has heard of.
    legacy_seen: u64,
    /// Whether it is in [`Order::unheard`].
    unheard: bool,
}

impl Stream {
    fn new(kind: StreamKind) -> Self {
        Self { clock: Clock::default(), kind, life: Life::Open, legacy_seen: 0, unheard: false }
    }
}

/// The slot of the legacy default stream.
const LEGACY: u32 = 0;

/// What comes before what, as far as the calls gone through so far say.
#[derive(Debug)]
pub(super) struct Order {
    /// By slot. A slot is used again once nobody can mistake the new stream's operations for the old
    /// one's, so clocks are as wide as the number of streams that exist together.
    streams: Vec<Stream>,
    /// The second number is the thread, for the per-thread default streams; 0 for all others.
    slots: HashMap<(StreamId, u32), u32>,
    pub(super) hosts: BTreeMap<u32, Clock>,
    pub(super) threads: Threads,
    /// The slots of what threads themselves do to memory, for those that do.
    host_slots: BTreeMap<u32, u32>,
    events: HashMap<EventId, Rc<Clock>>,
    /// The last launch of each graph.
    launched: HashMap<GraphId, Clock>,
    legacy_actions: u64,
    /// What blocking streams did since the last action of the legacy default stream, which the next
    /// one comes after: that of `unheard` streams is still to be joined.
    before_legacy: Clock,
    unheard: Vec<u32>,
}

impl Order {
    pub(super) fn new() -> Self {
        Self {
            streams: vec![Stream::new(StreamKind::Blocking)],
            slots: HashMap::from([((StreamId::LEGACY, 0), LEGACY)]),
            hosts: BTreeMap::new(),
            host_slots: BTreeMap::new(),
            threads: Threads::default(),
            events: HashMap::new(),
            launched: HashMap::new(),
            legacy_actions: 0,
            before_legacy: Clock::default(),
            unheard: Vec::new(),
        }
    }

    /// A stream comes to be.
    pub(super) fn create(&mut self, stream: StreamId, kind: StreamKind) {
        let known = |slot: u32, count: u32| self.hosts.values().all(|h| h.of(slot) >= count);
        // Whatever the old stream did is over for every thread, and so for all that they will queue.
        let reusable = (1u32..).zip(&self.streams[1..]).find_map(|(slot, old)| {
            (old.life == Life::Destroyed && known(slot, old.clock.of(slot))).then_some(slot)
        });
        let slot = match reusable {
            Some(slot) => {
                let count = self.streams[slot as usize].clock.of(slot);
                let mut new = Stream::new(kind);
                new.clock.raise(slot, count);
                self.streams[slot as usize] = new;
                slot
            }
            None => self.add(kind),
        };
        self.slots.insert((stream, 0), slot);
    }

    fn add(&mut self, kind: StreamKind) -> u32 {
        self.streams.push(Stream::new(kind));
        self.streams.len() as u32 - 1
    }

    /// A stream goes; what is queued in it still runs.
    pub(super) fn destroy(&mut self, stream: StreamId) {
        // Kept with the blocking streams until the legacy default stream has heard of it.
        self.hear();
        if let Some(slot) = self.slots.remove(&(stream, 0)) {
            self.streams[slot as usize].life = Life::Destroyed;
        }
    }

    fn slot(&mut self, thread: u32, stream: StreamId) -> u32 {
        let key = (stream, if stream == StreamId::PER_THREAD { thread } else { 0 });
        if let Some(&slot) = self.slots.get(&key) {
            return slot;
        }
        // A stream that nobody created is the default stream of a thread, or one that was there
        // before the recording; of the latter nothing is known, so nothing is ordered by it.
        let slot = self.add(match stream {
            StreamId::PER_THREAD => StreamKind::Blocking,
            _ => StreamKind::NonBlocking,
        });
        self.slots.insert(key, slot);
        slot
    }

    /// A thread makes a call.
    pub(super) fn arrive(&mut self, thread: u32) {
        self.host(thread);
    }

    /// What a thread knows. A thread that nobody is seen to start knows what all threads knew at its
    /// first call.
    pub(super) fn host(&mut self, thread: u32) -> &mut Clock {
        if !self.hosts.contains_key(&thread) {
            let mut clock = Clock::default();
            self.hosts.values().for_each(|other| clock.join(other));
            self.hosts.insert(thread, clock);
        }
        self.hosts.get_mut(&thread).expect("it has just been made")
    }

    /// The legacy default stream hears what the blocking streams did.
    fn hear(&mut self) {
        for slot in self.unheard.drain(..) {
            let stream = &mut self.streams[slot as usize];
            self.before_legacy.join(&stream.clock);
            stream.unheard = false;
        }
    }

    /// Something is queued in a stream: an operation, the record of an event, a wait. An action in
    /// the legacy default stream comes after everything in blocking streams and before everything
    /// that they get later.
    fn act(&mut self, thread: u32, stream: StreamId) -> u32 {
        let slot = self.slot(thread, stream);
        self.host(thread);
        let host = &self.hosts[&thread];
        self.streams[slot as usize].clock.join(host);
        if slot == LEGACY {
            self.hear();
            self.legacy_actions += 1;
            self.streams[0].clock.join(&self.before_legacy);
            self.before_legacy.forget();
        } else if self.streams[slot as usize].kind == StreamKind::Blocking {
            let (legacy, rest) = self.streams.split_at_mut(1);
            let own = &mut rest[slot as usize - 1];
            if own.legacy_seen < self.legacy_actions {
                own.legacy_seen = self.legacy_actions;
                own.clock.join(&legacy[0].clock);
            }
            if !own.unheard {
                own.unheard = true;
                self.unheard.push(slot);
            }
        }
        slot
    }

    /// An operation is queued in a stream.
    pub(super) fn operate(&mut self, thread: u32, stream: StreamId) -> Epoch {
        let slot = self.act(thread, stream);
        let clock = &mut self.streams[slot as usize].clock;
        let count = clock.of(slot) + 1;
        clock.raise(slot, count);
        Epoch { slot, count }
    }

    /// A thread itself uses memory: whatever it asks for later comes after that.
    pub(super) fn use_by_host(&mut self, thread: u32) -> Epoch {
        let slot = match self.host_slots.get(&thread) {
            Some(&slot) => slot,
            None => {
                let slot = self.add(StreamKind::NonBlocking);
                self.streams[slot as usize].life = Life::Host;
                self.host_slots.insert(thread, slot);
                slot
            }
        };
        let clock = self.host(thread);
        let count = clock.of(slot) + 1;
        clock.raise(slot, count);
        Epoch { slot, count }
    }

    /// A graph is launched: also after the launch before of the same executable copy, where it is known
    /// which that is.
    pub(super) fn launch(
        &mut self,
        thread: u32,
        stream: StreamId,
        graph: Option<GraphId>,
    ) -> Epoch {
        let epoch = self.operate(thread, stream);
        let clock = &mut self.streams[epoch.slot as usize].clock;
        if let Some(graph) = graph {
            if let Some(last) = self.launched.get(&graph) {
                clock.join(last);
            }
            self.launched.insert(graph, clock.clone());
        }
        epoch
    }

    /// An event is recorded: it stands for what the stream holds now, whatever it stood for before.
    pub(super) fn record(&mut self, thread: u32, stream: StreamId, event: EventId) {
        let slot = self.act(thread, stream);
        self.events.insert(event, Rc::new(self.streams[slot as usize].clock.clone()));
    }

    /// An event goes; waits that were made for it still hold.
    pub(super) fn forget_event(&mut self, event: EventId) {
        self.events.remove(&event);
    }

    /// A stream waits for what an event stands for now. One that was never recorded stands for nothing,
    /// and the wait does nothing, not even in the legacy default stream.
    pub(super) fn wait(&mut self, thread: u32, stream: StreamId, event: EventId) {
        let Some(recorded) = self.events.get(&event).map(Rc::clone) else { return };
        let slot = self.act(thread, stream);
        self.streams[slot as usize].clock.join(&recorded);
    }

    /// A thread learns that what an event stands for is over.
    pub(super) fn finish_event(&mut self, thread: u32, event: EventId) {
        self.host(thread);
        if let (Some(recorded), Some(host)) = (self.events.get(&event), self.hosts.get_mut(&thread))
        {
            host.join(recorded);
        }
    }

    /// A thread learns that what a stream holds is over. The legacy default stream answers for the
    /// blocking streams too.
    pub(super) fn finish_stream(&mut self, thread: u32, stream: StreamId) {
        let slot = self.slot(thread, stream);
        self.host(thread);
        if slot == LEGACY {
            self.hear();
        }
        let host = self.hosts.get_mut(&thread).expect("it has just been made");
        host.join(&self.streams[slot as usize].clock);
        if slot == LEGACY {
            host.join(&self.before_legacy);
        }
    }

    /// A thread learns that one operation of a stream, which was queued last in it, is over.
    pub(super) fn finish_operation(&mut self, thread: u32, last: Epoch) {
        self.host(thread);
        let host = self.hosts.get_mut(&thread).expect("it has just been made");
        host.join(&self.streams[last.slot as usize].clock);
    }

    /// A thread learns that everything queued before one operation of a stream, which was queued last
    /// in it, is over; not the operation itself.
    pub(super) fn finish_all_before(&mut self, thread: u32, last: Epoch) {
        self.host(thread);
        let known = self.hosts[&thread].of(last.slot);
        let mut clock = self.streams[last.slot as usize].clock.clone();
        clock.lower(last.slot, known.max(last.count - 1));
        self.host(thread).join(&clock);
    }

    /// A thread learns that all streams are idle.
    pub(super) fn finish_all(&mut self, thread: u32) {
        let everything = self.everything();
        self.host(thread).join(&everything);
    }

    /// All threads learn that all streams are idle.
    pub(super) fn finish_all_for_everyone(&mut self, thread: u32) {
        let everything = self.everything();
        self.host(thread);
        self.hosts.values_mut().for_each(|host| host.join(&everything));
    }

    /// Nobody knows more of a stream than the stream itself. What the host did is over as far as an
    /// operation that came after it was queued.
    fn everything(&self) -> Clock {
        let mut clock = Clock::default();
        let streams = (0u32..).zip(&self.streams).filter(|(_, stream)| stream.life != Life::Host);
        for (slot, stream) in streams {
            clock.raise(slot, stream.clock.of(slot));
            for &host in self.host_slots.values() {
                clock.raise(host, stream.clock.of(host));
            }
        }
        clock
    }

    /// Whether `before` is over when `actor` gets to what it does now.
    pub(super) fn knows(&self, actor: Actor, before: Epoch) -> bool {
        let clock = match actor {
            Actor::Stream(slot) => &self.streams[slot as usize].clock,
            Actor::Host(thread) => match self.hosts.get(&thread) {
                Some(clock) => clock,
                None => return false,
            },
        };
        clock.of(before.slot) >= before.count
    }

    /// From here on, as if the edge from `before` to `actor` that was just found missing were there:
    /// what it would have ordered is not worth a report of its own.
    pub(super) fn suppose(&mut self, actor: Actor, before: Epoch) {
        let clock = match actor {
            Actor::Stream(slot) => &mut self.streams[slot as usize].clock,
            Actor::Host(thread) => self.host(thread),
        };
        clock.raise(before.slot, before.count);
    }
}
