//! Host threads of the lab on a GPU: they really run side by side, and what they wait for is noted.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use trace::lab_protocol::{Reply, ThreadRequest};
use trace::program::{Call, ChannelEnd, ChannelId};

use super::Gpu;
use super::log::Times;
use crate::callers::{FOREIGN, STUCK};
use crate::lock::lock;
use crate::say::say;

/// The number that the next thread gets.
static NEXT: AtomicU32 = AtomicU32::new(0);
const NONE: u32 = u32::MAX;
thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(NONE) };
}

/// The number of the calling thread, in the order of first calls or of starts.
pub(super) fn thread() -> u32 {
    if NUMBER.get() == NONE {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// The threads that the lab started, and the channels.
#[derive(Default)]
pub(super) struct Threads {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    alive: BTreeSet<u32>,
    /// The thread that the lab did not start and that goes on beside those.
    first: Option<u32>,
    channels: Vec<Channel>,
    /// Who waits, for what, and where in the student's source.
    waiting: BTreeMap<u32, (Until, Option<u32>)>,
}

#[derive(Default)]
struct Channel {
    capacity: Option<u32>,
    messages: VecDeque<u64>,
    sent: u32,
    received: u32,
    senders: u32,
    receiver_gone: bool,
}

/// The end of a thread's wait.
#[derive(Clone, Copy)]
enum Until {
    End(u32),
    Message(u32),
    Room(u32),
}

impl State {
    fn is_met(&self, until: Until) -> bool {
        match until {
            Until::End(thread) => !self.alive.contains(&thread),
            Until::Message(channel) => {
                let channel = &self.channels[channel as usize];
                !channel.messages.is_empty() || channel.senders == 0
            }
            Until::Room(channel) => {
                let channel = &self.channels[channel as usize];
                let room = |capacity: u32| channel.messages.len() < capacity.max(1) as usize;
                channel.capacity.is_none_or(room) || channel.receiver_gone
            }
        }
    }

    /// Whether the calling thread may take part: a thread that the lab started, or the first one.
    /// With other threads in play, the wait of all of them could not be noticed.
    fn admits(&mut self, thread: u32) -> bool {
        if self.alive.contains(&thread) {
            return true;
        }
        if self.alive.is_empty() && self.waiting.is_empty() {
            self.first = Some(thread);
        }
        self.first == Some(thread)
    }

    /// Whether every thread waits for another. There is one that the lab did not start.
    fn is_stuck(&self) -> bool {
        self.waiting.len() > self.alive.len()
            && self.waiting.values().all(|(until, _)| !self.is_met(*until))
    }
}

impl Threads {
    /// Whether a thread that the lab started has not ended.
    pub(super) fn are_left(&self) -> bool {
        !lock(&self.state).alive.is_empty()
    }
}

impl Gpu {
    /// Answers a request about host threads.
    pub(super) fn ask_thread(&self, asked: ThreadRequest) -> Reply {
        let entered = self.clock.now();
        let site = self.site();
        let start = self.clock.now();
        let note = |call: Call| {
            self.note_lab(call, site, Times { entered, start, end: self.clock.now() });
        };
        let mut state = lock(&self.threads.state);
        let channel_is_known =
            |state: &State, channel: u32| (channel as usize) < state.channels.len();
        match asked {
            ThreadRequest::Send { channel, .. }
            | ThreadRequest::Receive { channel }
            | ThreadRequest::Clone { channel }
            | ThreadRequest::Close { channel, .. }
                if !channel_is_known(&state, channel) =>
            {
                return Reply::Refused { why: format!("there is no channel {channel}") };
            }
            // Which thread it is shows only now.
            ThreadRequest::Start { .. } => {}
            _ if !state.admits(thread()) => {
                return Reply::Refused { why: FOREIGN.to_owned() };
            }
            _ => {}
        }
        let reply = match asked {
            ThreadRequest::Spawn => {
                let new = NEXT.fetch_add(1, Ordering::Relaxed);
                state.alive.insert(new);
                note(Call::ThreadSpawn { thread: new });
                Reply::Number(new.into())
            }
            ThreadRequest::Start { thread } => {
                NUMBER.set(thread);
                Reply::Done
            }
            ThreadRequest::Started { thread: Ok(_) } => Reply::Done,
            ThreadRequest::Started { thread: Err(thread) } => {
                state.alive.remove(&thread);
                Reply::Done
            }
            ThreadRequest::End => {
                note(Call::ThreadEnd);
                state.alive.remove(&thread());
                Reply::Done
            }
            ThreadRequest::Join { thread } => {
                state = self.hold(state, Until::End(thread), site);
                note(Call::ThreadJoin { thread });
                Reply::Done
            }
            ThreadRequest::Channel { capacity } => {
                let channel = state.channels.len() as u32;
                state.channels.push(Channel { capacity, senders: 1, ..Channel::default() });
                note(Call::ChannelCreate { channel: ChannelId(channel), capacity });
                Reply::Number(channel.into())
            }
            ThreadRequest::Send { channel: id, token } => {
                state = self.hold(state, Until::Room(id), site);
                let channel = &mut state.channels[id as usize];
                let message = (!channel.receiver_gone).then_some(channel.sent);
                note(Call::ChannelSend { channel: ChannelId(id), message });
                if message.is_some() {
                    channel.sent += 1;
                    channel.messages.push_back(token);
                    Reply::Done
                } else {
                    Reply::Gone
                }
            }
            ThreadRequest::Receive { channel: id } => {
                state = self.hold(state, Until::Message(id), site);
                let channel = &mut state.channels[id as usize];
                let token = channel.messages.pop_front();
                let message = token.map(|_| channel.received);
                channel.received += u32::from(token.is_some());
                note(Call::ChannelReceive { channel: ChannelId(id), message });
                token.map_or(Reply::Gone, Reply::Number)
            }
            ThreadRequest::Clone { channel: id } => {
                state.channels[id as usize].senders += 1;
                Reply::Done
            }
            ThreadRequest::Close { channel: id, end } => {
                let channel = &mut state.channels[id as usize];
                let left = match end {
                    ChannelEnd::Sender => {
                        channel.senders = channel.senders.saturating_sub(1);
                        channel.senders
                    }
                    ChannelEnd::Receiver => {
                        channel.receiver_gone = true;
                        0
                    }
                };
                note(Call::ChannelClose { channel: ChannelId(id), end, left });
                Reply::Done
            }
        };
        if state.is_stuck() {
            self.give_up(&state);
        }
        drop(state);
        self.threads.changed.notify_all();
        reply
    }

    fn hold<'a>(
        &self,
        mut state: MutexGuard<'a, State>,
        until: Until,
        site: Option<u32>,
    ) -> MutexGuard<'a, State> {
        while !state.is_met(until) {
            state.waiting.insert(thread(), (until, site));
            if state.is_stuck() {
                self.give_up(&state);
            }
            state = self.threads.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.waiting.remove(&thread());
        state
    }

    /// Every thread waits for another: it would be so for ever, and the program is over.
    fn give_up(&self, state: &State) -> ! {
        say("every host thread waits for another, so none ever goes on:");
        let places = lock(&self.places);
        for (thread, (until, site)) in &state.waiting {
            let what = match until {
                Until::End(thread) => format!("for host thread {thread} to end"),
                Until::Message(channel) => format!("for a message in channel {channel}"),
                Until::Room(channel) => format!("for room in channel {channel}"),
            };
            let site = site.and_then(|site| places.list.get(site as usize));
            let at = site.map_or(String::new(), |site| format!(" at {site}"));
            say(&format!("  host thread {thread} waits {what}{at}"));
        }
        std::process::exit(STUCK)
    }
}
