//! Host threads, and the channels between them.
//!
//! Each thread has a clock of its own. One of them runs at a time: the one whose clock is the
//! earliest, and of several the one that has been ready longest. Work between calls takes no
//! virtual time, so it keeps its turn until it makes a call, and loses it then if another is
//! earlier. The device goes no further than the earliest thread, so that the work that a thread
//! issues always comes in time. All threads have one core for the work that they declare: who finds
//! it taken waits for it, first come, first served. While a single thread is left none can come in
//! between, and calls that wait are worked off at once.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{Call, ChannelEnd, ChannelId, StreamId};
use trace::timeline::HostSpan;

use super::memory_pool::Waited;
use super::wait::{Answer, Return, Wait, queued_in};
use super::{Device, Effects, OperationId};

// Medians in a measured region, by the lab's threads, untraced (host of an H200 with 16 cores of
// x86-64, Linux 6.18, driver 580.159.04, 2026-12-01). The core that takes up a thread had been idle
// for milliseconds.
/// A call that starts a thread, in ns: 18 runs of 92 to 129 us.
const SPAWN_NS: u64 = 112_000;
/// From that call to the first instruction of the new thread, in ns: the same runs, 165 to 279 us.
const START_NS: u64 = 216_000;
/// Joining a thread that has ended, in ns (two cores of another host, 2026-11-21).
const JOIN_NS: u64 = 400;
/// The cost of sending or receiving a message if no thread waits, in ns (there too).
const MESSAGE_NS: u64 = 20;
/// From a message to the return of the call that waited for it, in ns, by how long it had waited:
/// the core falls asleep more and more. Of each 40 messages, 13 us after 0.05 and 0.1 ms, 15 after
/// 0.2, 25 after 0.4, 32 after 1, 44 after 2, and 65 after 5.
const WAKE_NS: [(u64, u64); 4] =
    [(0, 13_000), (300_000, 28_000), (1_500_000, 44_000), (3_500_000, 65_000)];
/// From the last call of a thread to its end, in ns. From there to the return of a call that joins
/// it took 66 us after 0.5 ms (24 runs) and 134 after 5 (18 runs), which is 38 and 69 more than for
/// a message. This is in between.
const EXIT_NS: u64 = 46_000;

/// All host threads.
pub(super) struct Hosts {
    /// From when on the host's core has nothing to do: declared work of all threads takes turns at
    /// it.
    core_free_ns: u64,
    /// From when on the driver puts no thread's work into a stream: such calls take turns at it.
    driver_free_ns: u64,
    /// When each thread ended, by its number; none while it runs.
    ended: BTreeMap<u32, Option<u64>>,
    /// How many go on.
    alive: u32,
    /// Those that have had a turn.
    begun: BTreeSet<u32>,
    /// Whose turn it is; none if that thread is blocked or has ended.
    running: Option<u32>,
    /// Counts turns, to tell who has been ready longest.
    turns: u64,
    /// The others that could go on: by clock, then by turn.
    ready: BTreeSet<(u64, u64, u32)>,
    /// Calls that have not returned, in the order in which they were made.
    blocked: BTreeMap<u64, Blocked>,
    /// The answers of calls that waited.
    answers: BTreeMap<u32, Answer>,
    channels: BTreeMap<ChannelId, Channel>,
}

impl Default for Hosts {
    fn default() -> Self {
        Self {
            core_free_ns: 0,
            driver_free_ns: 0,
            ended: (0..u32::from(cfg!(feature = "threads"))).map(|first| (first, None)).collect(),
            alive: 1,
            begun: BTreeSet::from([0]),
            running: Some(0),
            turns: 0,
            ready: BTreeSet::new(),
            blocked: BTreeMap::new(),
            answers: BTreeMap::new(),
            channels: BTreeMap::new(),
        }
    }
}

/// A call that has not returned.
struct Blocked {
    thread: u32,
    step: u32,
    asked: u64,
    /// From here on it waits.
    start: u64,
    /// It ends no earlier.
    end: u64,
    until: Until,
    /// Work that the host knows to be over then.
    waited: Option<Waited>,
}

/// The thing that a call waits for.
enum Until {
    /// Room in the stream of this call, which is made then.
    Room(Call),
    /// The end of operations, and so much longer.
    Operations(Vec<OperationId>, u64),
    ThreadEnd(u32),
    Message(ChannelId),
    Capacity(ChannelId),
}

#[derive(Default)]
struct Channel {
    capacity: Option<u32>,
    /// When each message could be taken out.
    sent: Vec<u64>,
    /// When each message had been.
    received: Vec<u64>,
    senders_gone: Option<u64>,
    receiver_gone: Option<u64>,
}

/// The end of a wait.
struct Release {
    /// When it could go on.
    at: u64,
    answer: Answer,
}

impl Hosts {
    /// Whether a single thread is left, and not blocked by another.
    pub(super) fn is_alone(&self) -> bool {
        !cfg!(feature = "threads") || (self.alive == 1 && self.running.is_some())
    }

    pub(super) fn running(&self) -> u32 {
        if cfg!(feature = "threads") { self.running.unwrap_or(0) } else { 0 }
    }

    fn next_turn(&mut self) -> u64 {
        self.turns += 1;
        self.turns
    }
}

impl Device {
    /// Whether a single host thread is left, so that it is always its turn.
    pub fn is_alone(&self) -> bool {
        self.hosts.is_alone()
    }

    /// How many host threads have not ended.
    pub fn threads_alive(&self) -> u32 {
        self.hosts.alive
    }

    /// Whether a host thread was started and has not ended.
    pub fn is_alive(&self, thread: u32) -> bool {
        self.hosts.ended.get(&thread).is_some_and(Option::is_none)
    }

    /// Ends a thread that could not be started, before it began. False for one that has had its
    /// turn: the time that it took counts, and it ends by itself.
    pub fn abandon(&mut self, thread: u32) -> bool {
        let ready = self.hosts.ready.iter().find(|it| it.2 == thread).copied();
        match ready.filter(|_| !self.hosts.begun.contains(&thread)) {
            Some(ready) => {
                self.hosts.ready.remove(&ready);
                self.hosts.ended.insert(thread, Some(self.host_ns));
                self.hosts.alive -= 1;
                true
            }
            None => false,
        }
    }

    /// The host threads that a call blocks, and the step of each.
    pub fn threads_blocked(&self) -> impl Iterator<Item = (u32, u32)> {
        self.hosts.blocked.values().map(|blocked| (blocked.thread, blocked.step))
    }

    /// Whose turn it is to make the next call. Works off what happens until then. None if every
    /// thread that is left waits for another.
    pub fn turn(&mut self, effects: &mut impl Effects) -> Option<u32> {
        if self.hosts.is_alone() {
            return self.hosts.running;
        }
        if let Some(thread) = self.hosts.running.take() {
            let turn = self.hosts.next_turn();
            self.hosts.ready.insert((self.host_ns, turn, thread));
        }
        loop {
            self.work_off_ends(effects);
            self.let_go(effects);
            let event_ns = self.queue.peek().map(|scheduled| scheduled.at);
            match (self.hosts.ready.first().copied(), event_ns) {
                (Some((clock, _, thread)), event) if event.is_none_or(|at| at > clock) => {
                    self.hosts.ready.pop_first();
                    self.hosts.running = Some(thread);
                    self.hosts.begun.insert(thread);
                    self.host_ns = clock;
                    return Some(thread);
                }
                (_, Some(_)) => self.next_event(effects),
                (_, None) if self.give_way() => {}
                (_, None) => return None,
            }
        }
    }

    /// When declared work of the host can start that is declared at `asked`, in ns.
    pub fn core_free_from(&self, asked: u64) -> u64 {
        asked.max(self.hosts.core_free_ns)
    }

    /// Gives the host's core to work that takes so long; when it starts.
    pub(super) fn take_core(&mut self, asked: u64, ns: u64) -> u64 {
        let start = self.core_free_from(asked);
        self.hosts.core_free_ns = start + ns;
        start
    }

    /// When the driver can begin with work that is handed to it at `asked`, in ns. Threads that do
    /// so at the same time take turns. On an H200 (driver 580.159.04, 2026-11-28) two with 1536
    /// such calls each took 8.5 ms in one visit and 10.1 in another; side by side it would be 4.9.
    pub(super) fn driver_free_from(&self, asked: u64) -> u64 {
        asked.max(self.hosts.driver_free_ns)
    }

    /// The driver is busy until then.
    pub(super) fn take_driver(&mut self, until: u64) {
        self.hosts.driver_free_ns = until;
    }

    /// Takes the answer of the call in which this thread waited.
    pub fn take_answer(&mut self, thread: u32) -> Option<Answer> {
        self.hosts.answers.remove(&thread)
    }

    /// The thread whose turn it is makes no more calls.
    pub fn retire(&mut self) {
        if !cfg!(feature = "threads") {
            return;
        }
        if let Some(thread) = self.hosts.running.take() {
            self.hosts.ended.insert(thread, Some(self.host_ns));
            self.hosts.alive -= 1;
        }
    }

    pub(super) fn spawn(&mut self, thread: u32, start: u64) -> u64 {
        if self.hosts.ended.insert(thread, None).is_none() {
            self.hosts.alive += 1;
            let turn = self.hosts.next_turn();
            self.hosts.ready.insert((start + START_NS, turn, thread));
        }
        SPAWN_NS
    }

    pub(super) fn create_channel(&mut self, channel: ChannelId, capacity: Option<u32>) {
        self.hosts.channels.insert(channel, Channel { capacity, ..Channel::default() });
    }

    pub(super) fn close_channel(&mut self, channel: ChannelId, end: ChannelEnd, now: u64) {
        let channel = self.hosts.channels.entry(channel).or_default();
        match end {
            ChannelEnd::Sender => channel.senders_gone = Some(now),
            ChannelEnd::Receiver => channel.receiver_gone = Some(now),
        }
    }

    /// Cost to the host of a call about threads or channels, and what it waits for.
    pub(super) fn thread_call(&mut self, call: &Call, start: u64) -> (u64, Wait) {
        if !cfg!(feature = "threads") {
            return (0, Wait::None);
        }
        match *call {
            Call::ThreadSpawn { thread } => (self.spawn(thread, start), Wait::None),
            Call::ThreadJoin { thread } => (JOIN_NS, Wait::ThreadEnd(thread)),
            Call::ChannelCreate { channel, capacity } => {
                self.create_channel(channel, capacity);
                (0, Wait::None)
            }
            Call::ChannelSend { channel, message: Some(_) } => {
                (MESSAGE_NS, Wait::Capacity(channel))
            }
            // The receiver was gone.
            Call::ChannelSend { message: None, .. } => (MESSAGE_NS, Wait::None),
            Call::ChannelReceive { channel, .. } => (MESSAGE_NS, Wait::Message(channel)),
            // Other handles of this end are left, so no waiting thread is released.
            Call::ChannelClose { left: 1.., .. } => (0, Wait::None),
            Call::ChannelClose { channel, end, left: 0 } => {
                self.close_channel(channel, end, start);
                (0, Wait::None)
            }
            _ => (0, Wait::None),
        }
    }

    /// Whether a call with this wait has to be suspended: other threads may go first.
    pub(super) fn blocks_in(&self, wait: Wait) -> bool {
        if !cfg!(feature = "threads") {
            return false;
        }
        match wait {
            Wait::None => false,
            Wait::Operation { .. } | Wait::Stream(_) | Wait::Device(_) | Wait::All => {
                !self.hosts.is_alone()
            }
            Wait::ThreadEnd(_) | Wait::Message(_) | Wait::Capacity(_) => true,
        }
    }

    /// Suspends a call of the running thread that began at `asked`, waits from `start` on and ends
    /// at `end` at the earliest. Gives its answer if there is nothing to wait for.
    pub(super) fn hold(
        &mut self,
        (thread, step): (u32, u32),
        (asked, start, end): (u64, u64, u64),
        (wait, waited): (Wait, Option<Waited>),
        answer: Answer,
        how: Return,
    ) -> Option<Answer> {
        let until = match wait {
            Wait::None => Until::Operations(Vec::new(), 0),
            Wait::Operation { id, more_ns } => Until::Operations(vec![id], more_ns),
            Wait::Stream(stream) => Until::Operations(self.tails(stream), 0),
            Wait::Device(_) | Wait::All => {
                let counts =
                    |stream: StreamId| wait == Wait::All || wait == Wait::Device(stream.device());
                let tails = self.streams.iter().filter(|(stream, _)| counts(*stream));
                let tails = tails.filter_map(|(_, stream)| stream.tail);
                let is_open = |id: &OperationId| !self.has_ended(*id);
                Until::Operations(tails.filter(is_open).collect(), 0)
            }
            Wait::ThreadEnd(thread) => Until::ThreadEnd(thread),
            Wait::Message(channel) => Until::Message(channel),
            Wait::Capacity(channel) => Until::Capacity(channel),
        };
        let blocked = Blocked { thread, step, asked, start, end, until, waited };
        match self.released(&blocked, answer) {
            Some(release) => Some(self.finish(&blocked, release, how)),
            None => {
                self.keep(blocked);
                None
            }
        }
    }

    /// The running thread waits for room in a stream, and makes the call then.
    pub(super) fn hold_for_room(&mut self, thread: u32, step: u32, call: &Call) {
        let now = self.host_ns;
        let until = Until::Room(call.clone());
        self.keep(Blocked { thread, step, asked: now, start: now, end: now, until, waited: None });
    }

    fn keep(&mut self, blocked: Blocked) {
        if self.hosts.running == Some(blocked.thread) {
            self.hosts.running = None;
        }
        let turn = self.hosts.next_turn();
        self.hosts.blocked.insert(turn, blocked);
    }

    /// Lets go every thread that waits for nothing any more.
    fn let_go(&mut self, effects: &mut impl Effects) {
        // Letting one go can let another go: a message taken out makes room for the next.
        loop {
            let found =
                self.hosts.blocked.iter().find_map(|(&turn, blocked)| match &blocked.until {
                    Until::Room(call) => {
                        queued_in(call).is_none_or(|it| self.has_room(it)).then_some((turn, None))
                    }
                    _ => self.released(blocked, Answer::YES).map(|release| (turn, Some(release))),
                });
            let Some((turn, release)) = found else { return };
            let Some(blocked) = self.hosts.blocked.remove(&turn) else { return };
            let answer = match (release, &blocked.until) {
                (Some(release), _) => Some(self.finish(&blocked, release, Return::Later)),
                (None, Until::Room(call)) => {
                    let (thread, step) = (blocked.thread, blocked.step);
                    self.make(
                        (thread, step),
                        call,
                        (blocked.asked, self.now),
                        effects,
                        Return::Later,
                    )
                }
                (None, _) => None,
            };
            if let Some(answer) = answer {
                self.hosts.answers.insert(blocked.thread, answer);
            }
        }
    }

    /// Whether what a call waits for has happened, and when.
    fn released(&self, blocked: &Blocked, answer: Answer) -> Option<Release> {
        let woken = |at: u64| {
            let waited = at.saturating_sub(blocked.start);
            let of = WAKE_NS.iter().rev().find(|(longer_than, _)| waited > *longer_than);
            at + of.map_or(0, |(_, ns)| *ns)
        };
        let release = |at: u64, yes: bool| Some(Release { at, answer: Answer { yes, ..answer } });
        match &blocked.until {
            Until::Room(_) => None,
            Until::Operations(ids, more_ns) => {
                let mut last = None;
                for &id in ids {
                    let operation = &self.operations[id];
                    if !operation.has_ended() {
                        return None;
                    }
                    last = last.max(Some(operation.end_ns + more_ns));
                }
                let wake = self.profile.host.wake_ns.value;
                let at = last.filter(|&at| at > blocked.start).map_or(0, |at| at + wake);
                release(at, answer.yes)
            }
            // A thread that was never started counts as ended.
            Until::ThreadEnd(thread) => {
                let ended = self.hosts.ended.get(thread).copied().unwrap_or(Some(0));
                ended.and_then(|at| release(woken(at + EXIT_NS), answer.yes))
            }
            Until::Message(id) => {
                let channel = self.hosts.channels.get(id)?;
                match channel.sent.get(channel.received.len()) {
                    Some(&at) => release(woken(at), true),
                    None => channel.senders_gone.and_then(|at| release(woken(at), false)),
                }
            }
            Until::Capacity(id) => {
                let channel = self.hosts.channels.get(id)?;
                if let Some(at) = channel.receiver_gone {
                    return release(woken(at), false);
                }
                let number = channel.sent.len();
                let room = match channel.capacity.map(|capacity| capacity.max(1) as usize) {
                    Some(capacity) if number >= capacity => {
                        *channel.received.get(number - capacity)?
                    }
                    _ => 0,
                };
                release(woken(room), true)
            }
        }
    }

    /// A call that waited returns.
    fn finish(&mut self, blocked: &Blocked, release: Release, how: Return) -> Answer {
        let end = blocked.end.max(release.at);
        let answer = release.answer;
        match blocked.until {
            Until::Message(id) if answer.yes => {
                self.hosts.channels.entry(id).or_default().received.push(end);
            }
            Until::Capacity(id) if answer.yes => {
                self.hosts.channels.entry(id).or_default().sent.push(end);
            }
            _ => {}
        }
        let blocked_ns = blocked.start - blocked.asked + (end - blocked.end);
        let end = end + self.give_back(blocked.waited);
        self.returned((blocked.thread, blocked.step), (blocked.asked, end), blocked_ns, how);
        answer
    }

    /// A call is over.
    pub(super) fn returned(
        &mut self,
        (thread, step): (u32, u32),
        (start_ns, end_ns): (u64, u64),
        blocked_ns: u64,
        how: Return,
    ) {
        self.timeline.host.push(HostSpan { step, start_ns, end_ns, blocked_ns });
        match how {
            Return::Now => self.host_ns = end_ns,
            Return::Later => {
                let turn = self.hosts.next_turn();
                self.hosts.ready.insert((end_ns, turn, thread));
            }
        }
    }
}
