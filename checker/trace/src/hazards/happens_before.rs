//! The happens-before order: vector clocks of streams, host threads and events.
//!
//! Every edge in here is one that NVIDIA's documentation states. Two things follow from how it is
//! built: the calls are gone through once, in the order in which they were made, and no step costs
//! more than a few clocks' width.
//!
//! # Several host threads
//! A stream is in the order of the calls, and an event stands for its last record. Where two
//! threads make the calls, that order is one only as far as the threads have told each other: what
//! happened to come first in this run may come second in another. So each thread has a slot of its
//! own in every stream, and what another thread queued, or recorded, counts from the message on by
//! which it is known. Where a wait may meet one record or another, it is good for what both stand
//! for.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::program::{ChannelEnd, ChannelId, DEVICES, EventId, GraphId, StreamId, StreamKind};

use super::clock::Clock;
use super::event_clocks::EventClock;

/// A message of a channel, by its number.
pub(super) type Message = (ChannelId, u32);

/// Messages that were sent, and threads that wait for them.
#[derive(Debug, Default)]
pub(super) struct Threads {
    pub(super) ended: HashMap<u32, Clock>,
    pub(super) joining: HashMap<u32, Vec<u32>>,
    pub(super) capacities: HashMap<ChannelId, u32>,
    /// Messages that have not been taken out.
    pub(super) sent: HashMap<Message, Clock>,
    pub(super) receiving: HashMap<Message, u32>,
    /// The receiver's clock when it took out a message of a channel with limited room.
    pub(super) received: HashMap<Message, Clock>,
    /// By the message that has to be taken out first: who waits, to send which.
    pub(super) sending: HashMap<Message, (u32, u32)>,
    /// For each end of a channel: the joined clocks of the threads that dropped it, and whether all
    /// have.
    pub(super) closed: HashMap<(ChannelId, ChannelEnd), (Clock, bool)>,
    /// Who waits for a channel to be closed.
    pub(super) outlasting: HashMap<(ChannelId, ChannelEnd), Vec<u32>>,
}

/// One operation, by its place in its stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    /// The slot of its stream.
    pub(super) slot: u32,
    /// How many operations of that slot there were, with this one.
    pub(super) count: u32,
}

/// An operation that used some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) epoch: Epoch,
    pub(super) step: u32,
    /// Which node it is of the graph that the step launches, from 1; 0 if it is none.
    pub(super) node: u32,
}

/// Who does something: an operation of a stream, or a call of a host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Actor {
    /// The operation that was queued last in the stream of this slot.
    Stream(u32),
    /// The host thread of this number.
    Host(u32),
}

/// Uses of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    /// A stream that can get new operations.
    Open,
    /// One that can not.
    Destroyed,
    /// A host thread's own uses of memory, and its calls: no synchronisation with the device says
    /// that they are over.
    Host,
}

/// The queue of one host thread in one stream.
#[derive(Debug)]
struct Queue {
    clock: Clock,
    stream: StreamId,
    kind: StreamKind,
    life: Life,
    thread: u32,
    /// When the thread made its last call here: how often it had told others something, and once
    /// more.
    told: u32,
    /// The clock when the thread told others something, where it has been here since.
    past: Vec<(u32, Rc<Clock>)>,
    /// The clock that a reader last had of it, but for the own slot.
    knew: Rc<Clock>,
    /// How many actions of the legacy default stream its clock has heard of.
    legacy_seen: u64,
    /// Whether it is in [`Order::unheard`].
    unheard: bool,
}

/// The legacy default stream of a device, where there is one host thread.
#[derive(Debug, Default)]
struct Legacy {
    /// The slot of what the first thread queues in it.
    slot: Option<u32>,
    /// How many actions there were.
    actions: u64,
    /// The work of blocking streams since the last action, after which the next one comes: that of
    /// `unheard` streams is still to be joined.
    before: Clock,
    unheard: Vec<u32>,
}

/// The order, as far as the calls gone through so far say.
#[derive(Debug)]
pub(super) struct Order {
    /// By slot. A slot is used again once the new stream's operations cannot be mistaken for the
    /// old one's, so clocks are as wide as the number of streams that exist together.
    queues: Vec<Queue>,
    /// The slot of what a thread queues in a stream.
    slots: HashMap<(StreamId, u32), u32>,
    /// All slots of a stream.
    of_stream: HashMap<StreamId, Vec<u32>>,
    kinds: HashMap<StreamId, StreamKind>,
    /// Slots that may be used again.
    destroyed: Vec<u32>,
    pub(super) hosts: BTreeMap<u32, Clock>,
    pub(super) threads: Threads,
    /// The slots of what threads themselves do to memory, for those that do.
    host_slots: BTreeMap<u32, u32>,
    /// The slot that counts how often a thread told others something, and that number; where there
    /// are several threads.
    calls: BTreeMap<u32, (u32, u32)>,
    events: HashMap<EventId, EventClock>,
    /// The last launches of each executable copy of a graph.
    launched: HashMap<(GraphId, u32), EventClock>,
    /// By device.
    legacy: [Legacy; DEVICES as usize],
    /// The effort so far, in entries of clocks.
    pub(super) effort: u64,
}

impl Order {
    pub(super) fn new() -> Self {
        let mut kinds = HashMap::new();
        for device in 0..DEVICES {
            for stream in [StreamId::LEGACY, StreamId::PER_THREAD] {
                kinds.insert(StreamId::on(device, stream.0), StreamKind::Blocking);
            }
        }
        let mut order = Self {
            queues: Vec::new(),
            slots: HashMap::new(),
            of_stream: HashMap::new(),
            kinds,
            destroyed: Vec::new(),
            hosts: BTreeMap::new(),
            host_slots: BTreeMap::new(),
            calls: BTreeMap::new(),
            threads: Threads::default(),
            events: HashMap::new(),
            launched: HashMap::new(),
            legacy: Default::default(),
            effort: 0,
        };
        order.slot(0, StreamId::LEGACY);
        order
    }

    /// A stream comes to be.
    pub(super) fn create(&mut self, stream: StreamId, kind: StreamKind) {
        self.kinds.insert(stream, kind);
    }

    fn add(&mut self, queue: Queue) -> u32 {
        self.queues.push(queue);
        self.queues.len() as u32 - 1
    }

    fn queue(stream: StreamId, kind: StreamKind, life: Life, thread: u32) -> Queue {
        Queue {
            clock: Clock::default(),
            stream,
            kind,
            life,
            thread,
            told: 0,
            past: Vec::new(),
            knew: Rc::default(),
            legacy_seen: 0,
            unheard: false,
        }
    }

    /// A stream goes; what is queued in it still runs.
    pub(super) fn destroy(&mut self, stream: StreamId) {
        // Kept with the blocking streams until the legacy default stream has heard of it.
        self.hear(stream.device());
        self.kinds.remove(&stream);
        for slot in self.of_stream.remove(&stream).unwrap_or_default() {
            let queue = &mut self.queues[slot as usize];
            queue.life = Life::Destroyed;
            self.slots.remove(&(stream, queue.thread));
            self.destroyed.push(slot);
        }
    }

    fn slot(&mut self, thread: u32, stream: StreamId) -> u32 {
        if let Some(&slot) = self.slots.get(&(stream, thread)) {
            return slot;
        }
        // A stream that no call created was there before the recording; nothing is known of it, so
        // nothing is ordered by it.
        let kind = self.kinds.get(&stream).copied().unwrap_or(StreamKind::NonBlocking);
        let mut new = Self::queue(stream, kind, Life::Open, thread);
        // Whatever the old stream did is over for every thread, and so for all that they will
        // queue.
        let is_over = |slot: u32| {
            let count = self.queues[slot as usize].clock.of(slot);
            self.hosts.values().all(|host| host.of(slot) >= count)
        };
        self.effort += (self.destroyed.len() * self.hosts.len().max(1)) as u64;
        let slot = match self.destroyed.iter().position(|&slot| is_over(slot)) {
            Some(at) => {
                let slot = self.destroyed.swap_remove(at);
                let old = &mut self.queues[slot as usize];
                new.clock.raise(slot, old.clock.of(slot));
                *old = new;
                slot
            }
            None => self.add(new),
        };
        if stream.is_legacy() && thread == 0 {
            self.legacy[stream.device() as usize].slot = Some(slot);
        }
        self.slots.insert((stream, thread), slot);
        self.of_stream.entry(stream).or_default().push(slot);
        slot
    }

    /// Whether more than one host thread has made calls, or was started.
    fn are_many(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The slot that counts how often a thread told others something, and how often it did.
    fn calls_of(&mut self, thread: u32) -> (u32, u32) {
        if let Some(&known) = self.calls.get(&thread) {
            return known;
        }
        let queue = Self::queue(StreamId::LEGACY, StreamKind::NonBlocking, Life::Host, thread);
        let new = (self.add(queue), 0);
        self.calls.insert(thread, new);
        new
    }

    /// The clock of a thread, as it tells others: from then on they know of all the calls that it
    /// made so far.
    pub(super) fn tell(&mut self, thread: u32) -> Clock {
        self.host(thread);
        let (slot, told) = self.calls_of(thread);
        self.calls.insert(thread, (slot, told + 1));
        let host = self.hosts.get_mut(&thread).expect("it has just been made");
        host.raise(slot, told + 1);
        self.effort += self.queues.len() as u64;
        host.clone()
    }

    /// How often a thread had told others something when it made the call at hand, and once more.
    fn told(&self, thread: u32) -> u32 {
        self.calls.get(&thread).map_or(0, |(_, told)| *told) + 1
    }

    /// Whether a thread knows of a call that another made when it had told others something so
    /// often, less one.
    fn has_heard(&self, thread: u32, of: u32, told: u32) -> bool {
        self.heard(thread, of) >= told
    }

    /// How many times another has told others something, as far as a thread knows.
    fn heard(&self, thread: u32, of: u32) -> u32 {
        match self.hosts.get(&thread) {
            _ if thread == of => u32::MAX,
            Some(host) => self.told_in(host, of),
            None => 0,
        }
    }

    /// The same for a reader with this clock.
    fn told_in(&self, clock: &Clock, of: u32) -> u32 {
        match self.calls.get(&of) {
            Some((slot, _)) => clock.of(*slot),
            // What was there before there were several threads, all of them know.
            None if self.are_many() => 0,
            None => u32::MAX,
        }
    }

    /// The clock of a queue, as a thread knows it.
    fn known(&self, thread: u32, slot: u32) -> Option<&Clock> {
        let queue = &self.queues[slot as usize];
        if self.has_heard(thread, queue.thread, queue.told) {
            return Some(&queue.clock);
        }
        let (calls, _) = self.calls.get(&queue.thread)?;
        let heard = self.hosts.get(&thread)?.of(*calls);
        let past = queue.past.partition_point(|(told, _)| *told <= heard);
        Some(&queue.past[past.checked_sub(1)?].1)
    }

    /// Whether a thread knows that the call was made which queued an operation.
    pub(super) fn knows_call(&self, thread: u32, operation: Epoch) -> bool {
        let Epoch { slot, count } = operation;
        self.queues[slot as usize].life == Life::Host
            || self.known(thread, slot).is_some_and(|clock| clock.of(slot) >= count)
    }

    /// The clock of all that a thread knows others did, or did itself: of each kind of queue that
    /// `wanted` names.
    fn heard_of(&self, thread: u32, wanted: impl Fn(&Queue) -> bool) -> Clock {
        let mut clock = Clock::default();
        for (slot, queue) in (0u32..).zip(&self.queues) {
            if queue.life != Life::Host
                && wanted(queue)
                && let Some(known) = self.known(thread, slot)
            {
                clock.join(known);
            }
        }
        clock
    }

    /// A thread makes a call.
    pub(super) fn arrive(&mut self, thread: u32) {
        self.host(thread);
    }

    /// The clock of a thread. One that no thread is seen to start knows what all threads knew at
    /// its first call, and what they had issued.
    pub(super) fn host(&mut self, thread: u32) -> &mut Clock {
        if !self.hosts.contains_key(&thread) {
            let mut clock = Clock::default();
            for other in self.hosts.keys().copied().collect::<Vec<_>>() {
                clock.join(&self.tell(other));
            }
            if thread != 0 {
                self.calls_of(thread);
            }
            self.hosts.insert(thread, clock);
        }
        self.hosts.get_mut(&thread).expect("it has just been made")
    }

    /// The legacy default stream of a device hears what its blocking streams did.
    fn hear(&mut self, device: u32) {
        let legacy = &mut self.legacy[device as usize];
        for slot in legacy.unheard.drain(..) {
            let queue = &mut self.queues[slot as usize];
            legacy.before.join(&queue.clock);
            self.effort += self.queues.len() as u64;
            self.queues[slot as usize].unheard = false;
        }
    }

    /// Something is queued in a stream: an operation, the record of an event, a wait. An action in
    /// the legacy default stream comes after everything in blocking streams and before everything
    /// that they get later.
    fn act(&mut self, thread: u32, stream: StreamId) -> u32 {
        self.host(thread);
        let slot = self.slot(thread, stream);
        let told = self.told(thread);
        let are_many = self.are_many();
        self.effort += self.queues.len() as u64;
        let queue = &mut self.queues[slot as usize];
        if are_many && queue.told > 0 && queue.told < told {
            queue.past.push((queue.told, Rc::new(queue.clock.clone())));
        }
        queue.told = told;
        queue.clock.join(&self.hosts[&thread]);
        let is_blocking = queue.kind == StreamKind::Blocking;
        if are_many {
            let heard = self.heard_of(thread, |other| {
                if stream.is_per_thread() {
                    // Each thread has its own per-thread stream.
                    other.stream == stream.legacy()
                } else if stream.is_legacy() {
                    other.kind == StreamKind::Blocking && other.stream.legacy() == stream
                } else {
                    other.stream == stream || is_blocking && other.stream == stream.legacy()
                }
            });
            self.effort += (self.queues.len() as u64).saturating_pow(2) / 4;
            self.queues[slot as usize].clock.join(&heard);
        } else if stream.is_legacy() {
            self.hear(stream.device());
            let legacy = &mut self.legacy[stream.device() as usize];
            legacy.actions += 1;
            self.queues[slot as usize].clock.join(&legacy.before);
            legacy.before.forget();
        } else if is_blocking {
            let legacy = &mut self.legacy[stream.device() as usize];
            if let Some(before) = legacy.slot
                && self.queues[slot as usize].legacy_seen < legacy.actions
            {
                self.queues[slot as usize].legacy_seen = legacy.actions;
                let clock = std::mem::take(&mut self.queues[before as usize].clock);
                self.queues[slot as usize].clock.join(&clock);
                self.queues[before as usize].clock = clock;
            }
            let own = &mut self.queues[slot as usize];
            if !own.unheard {
                own.unheard = true;
                legacy.unheard.push(slot);
            }
        }
        slot
    }

    /// An operation is queued in a stream.
    pub(super) fn operate(&mut self, thread: u32, stream: StreamId) -> Epoch {
        let slot = self.act(thread, stream);
        let clock = &mut self.queues[slot as usize].clock;
        let count = clock.of(slot) + 1;
        clock.raise(slot, count);
        Epoch { slot, count }
    }

    /// Notes a use of memory by a thread itself: the work that it issues later comes after that.
    pub(super) fn use_by_host(&mut self, thread: u32) -> Epoch {
        self.host(thread);
        let slot = match self.host_slots.get(&thread) {
            Some(&slot) => slot,
            None => {
                let queue =
                    Self::queue(StreamId::LEGACY, StreamKind::NonBlocking, Life::Host, thread);
                let slot = self.add(queue);
                self.host_slots.insert(thread, slot);
                slot
            }
        };
        let clock = self.host(thread);
        let count = clock.of(slot) + 1;
        clock.raise(slot, count);
        Epoch { slot, count }
    }

    /// A graph is launched: also after the launch before of the same executable copy, where it is
    /// known which that is.
    pub(super) fn launch(&mut self, thread: u32, stream: StreamId, copy: (GraphId, u32)) -> Epoch {
        let epoch = self.operate(thread, stream);
        if let Some(said) = self.launched.get(&copy) {
            self.effort += (said.rows() * self.queues.len()) as u64;
            let clock = &mut self.queues[epoch.slot as usize].clock;
            let mut before = std::mem::take(clock);
            for (_, last) in said.known(|of| self.heard(thread, of)).last {
                before.join(&last.clock);
            }
            self.queues[epoch.slot as usize].clock = before;
        }
        let mut said = self.launched.remove(&copy).unwrap_or_default();
        self.say(&mut said, (thread, stream), epoch.slot);
        self.launched.insert(copy, said);
        epoch
    }

    /// An executable copy of a graph becomes one of another graph: its next launch comes after its
    /// last one.
    pub(super) fn update(&mut self, updated: (GraphId, u32), copy: (GraphId, u32)) {
        if let Some(said) = self.launched.remove(&updated) {
            self.launched.insert(copy, said);
        }
    }

    /// A thread says what the clock of a stream's queue is now.
    fn say(&mut self, said: &mut EventClock, (thread, stream): (u32, StreamId), slot: u32) {
        // It is kept, so it counts for what memory it takes too.
        self.effort += 4 * self.queues.len() as u64 + said.rows() as u64;
        if !self.are_many() {
            said.forget();
        }
        let clock = Rc::new(self.queues[slot as usize].clock.clone());
        said.say(thread, stream, self.told(thread), clock);
    }

    /// An event is recorded: it stands for what the stream holds now, whatever it stood for before.
    pub(super) fn record(&mut self, thread: u32, stream: StreamId, event: EventId) {
        let slot = self.act(thread, stream);
        let mut said = self.events.remove(&event).unwrap_or_default();
        self.say(&mut said, (thread, stream), slot);
        self.events.insert(event, said);
    }

    /// An event goes; waits that were made for it still hold.
    pub(super) fn forget_event(&mut self, event: EventId) {
        self.events.remove(&event);
    }

    /// The clock that an event stands for at least, as far as a thread can tell, whichever record
    /// it was. None if it may not have been recorded.
    fn recorded(&mut self, thread: u32, event: EventId) -> Option<Rc<Clock>> {
        let said = self.events.get(&event)?;
        if let Some((of, only)) = said.only()
            && self.has_heard(thread, of, only.told)
        {
            return Some(Rc::clone(&only.clock));
        }
        self.effort += (said.rows() * (said.rows() + self.queues.len())) as u64;
        let known = said.known(|of| self.heard(thread, of));
        let newest = known.newest();
        if newest.is_empty() {
            return None;
        }
        // A record comes after those of other threads that its stream had heard of.
        let is_over = |of: u32, told: u32| {
            let mut others = known.last.iter().filter(|(other, _)| *other != of);
            others.any(|(_, one)| self.told_in(&one.clock, of) >= told)
        };
        let last = newest.iter().filter(|&(&of, one)| !is_over(of, one.told)).map(|(_, one)| *one);
        // Those that the thread has not heard of may have been made, or not.
        let maybe = known.maybe.iter().copied();
        let mut least: Option<Clock> = None;
        for one in last.chain(maybe) {
            match &mut least {
                None => least = Some((*one.clock).clone()),
                Some(least) => least.meet(&one.clock),
            }
        }
        least.map(Rc::new)
    }

    /// A stream waits for what an event stands for now. One that was never recorded stands for
    /// nothing, and the wait does nothing, not even in the legacy default stream.
    pub(super) fn wait(&mut self, thread: u32, stream: StreamId, event: EventId) {
        self.host(thread);
        let Some(recorded) = self.recorded(thread, event) else { return };
        let slot = self.act(thread, stream);
        self.queues[slot as usize].clock.join(&recorded);
    }

    /// A thread learns that what an event stands for is over.
    pub(super) fn finish_event(&mut self, thread: u32, event: EventId) {
        self.host(thread);
        self.effort += self.queues.len() as u64;
        if let Some(recorded) = self.recorded(thread, event) {
            self.host(thread).join(&recorded);
        }
    }

    /// A thread learns that what a stream holds is over. The legacy default stream answers for the
    /// blocking streams too.
    pub(super) fn finish_stream(&mut self, thread: u32, stream: StreamId) {
        self.host(thread);
        self.effort += self.queues.len() as u64;
        let is_legacy = stream.is_legacy();
        if self.are_many() {
            self.effort += (self.queues.len() as u64).saturating_pow(2) / 4;
            let heard = self.heard_of(thread, |other| {
                let is_before = is_legacy
                    && other.kind == StreamKind::Blocking
                    && other.stream.legacy() == stream;
                match stream.is_per_thread() {
                    true => other.stream == stream && other.thread == thread,
                    false => other.stream == stream || is_before,
                }
            });
            self.host(thread).join(&heard);
            return;
        }
        let slot = self.slot(thread, stream);
        if is_legacy {
            self.hear(stream.device());
        }
        let host = self.hosts.get_mut(&thread).expect("it has just been made");
        host.join(&self.queues[slot as usize].clock);
        if is_legacy {
            host.join(&self.legacy[stream.device() as usize].before);
        }
    }

    /// A thread learns that one operation of a stream, which was queued last in it, is over.
    pub(super) fn finish_operation(&mut self, thread: u32, last: Epoch) {
        self.host(thread);
        let host = self.hosts.get_mut(&thread).expect("it has just been made");
        host.join(&self.queues[last.slot as usize].clock);
    }

    /// A thread learns that everything queued before one operation of a stream, which was queued
    /// last in it, is over; not the operation itself.
    pub(super) fn finish_all_before(&mut self, thread: u32, last: Epoch) {
        self.host(thread);
        let known = self.hosts[&thread].of(last.slot);
        let mut clock = self.queues[last.slot as usize].clock.clone();
        clock.lower(last.slot, known.max(last.count - 1));
        self.host(thread).join(&clock);
    }

    /// A thread learns that all streams of a device are idle.
    pub(super) fn finish_device(&mut self, thread: u32, device: u32) {
        self.host(thread);
        let everything = self.everything(Some((thread, device)));
        self.host(thread).join(&everything);
    }

    /// An operation that was queued last in the default stream of its device is one of another
    /// device's default stream too.
    pub(super) fn meet(&mut self, thread: u32, last: Epoch, other: StreamId) {
        let slot = self.act(thread, other);
        let theirs = std::mem::take(&mut self.queues[slot as usize].clock);
        let mut both = std::mem::take(&mut self.queues[last.slot as usize].clock);
        both.join(&theirs);
        self.queues[slot as usize].clock = both.clone();
        self.queues[last.slot as usize].clock = both;
        self.effort += self.queues.len() as u64;
    }

    /// All threads learn that all streams are idle.
    pub(super) fn finish_all_for_everyone(&mut self, thread: u32) {
        self.host(thread);
        let everything = self.everything(None);
        self.hosts.values_mut().for_each(|host| host.join(&everything));
    }

    /// No clock knows more of a stream than its own. What the host did is over as far as an
    /// operation that came after it was queued. What a thread has not heard of need not have been
    /// queued.
    fn everything(&mut self, of: Option<(u32, u32)>) -> Clock {
        let mut clock = Clock::default();
        let mut far = Vec::new();
        if DEVICES > 1
            && let Some((_, device)) = of
        {
            let others = (0u32..).zip(&self.queues);
            far.extend(others.filter(|it| it.1.stream.device() != device).map(|(slot, _)| slot));
            self.effort += (far.len() * self.queues.len()) as u64;
        }
        for (slot, queue) in (0u32..).zip(&self.queues) {
            let known = match of {
                _ if queue.life == Life::Host => continue,
                Some((_, device)) if DEVICES > 1 && queue.stream.device() != device => continue,
                Some((thread, _)) => self.known(thread, slot),
                None => Some(&queue.clock),
            };
            let Some(known) = known else { continue };
            clock.raise(slot, known.of(slot));
            // What the other device did before is over too.
            for &other in &far {
                clock.raise(other, known.of(other));
            }
            for &host in self.host_slots.values() {
                clock.raise(host, known.of(host));
            }
        }
        self.effort += self.queues.len() as u64;
        clock
    }

    /// The clock of an actor, of what it knows of others. Where that is what it knew before, it is
    /// the same clock, so that many uses take the memory of one.
    pub(super) fn knew(&mut self, actor: Actor) -> Rc<Clock> {
        let slot = match actor {
            Actor::Stream(slot) => slot,
            Actor::Host(thread) => {
                return Rc::new(self.hosts.get(&thread).cloned().unwrap_or_default());
            }
        };
        let queue = &mut self.queues[slot as usize];
        if !queue.knew.is_same_beside(slot, &queue.clock) {
            queue.knew = Rc::new(queue.clock.clone());
        }
        Rc::clone(&queue.knew)
    }

    /// Whether `before` is over when `actor` gets to what it does now.
    pub(super) fn knows(&self, actor: Actor, before: Epoch) -> bool {
        let clock = match actor {
            Actor::Stream(slot) => &self.queues[slot as usize].clock,
            Actor::Host(thread) => match self.hosts.get(&thread) {
                Some(clock) => clock,
                None => return false,
            },
        };
        clock.of(before.slot) >= before.count
    }

    /// From here on, as if the edge from `before` to `actor` that was just found missing were
    /// there: what it would have ordered is not worth a report of its own.
    pub(super) fn suppose(&mut self, actor: Actor, before: Epoch) {
        let clock = match actor {
            Actor::Stream(slot) => &mut self.queues[slot as usize].clock,
            Actor::Host(thread) => self.host(thread),
        };
        clock.raise(before.slot, before.count);
    }
}
