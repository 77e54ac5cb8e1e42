//! Host threads: whose turn it is, what calls that waited returned, and which message is which.

use std::collections::BTreeMap;

use trace::lab_protocol::{Reply as LabReply, ThreadRequest};
use trace::program::{Call, ChannelEnd, ChannelId};

use super::command::{Command, Request, Turn};
use super::data::World;
use super::reply::{Failure, Reply, code};
use super::{Host, LabRequest, Machine};

/// Everything about host threads.
pub(super) struct Threads {
    pub(super) turn: Turn,
    /// The step that spawned each thread there has been, by the thread's number.
    spawned: Vec<Option<u32>>,
    /// By thread: its call that blocks, by its step.
    pending: BTreeMap<u32, (u32, Pending)>,
    /// By number: the messages, by what their senders know them by.
    channels: Vec<Channel>,
}

struct Channel {
    sent: Vec<u64>,
    received: u32,
    senders: u32,
}

impl Default for Channel {
    fn default() -> Self {
        Self { sent: Vec::new(), received: 0, senders: 1 }
    }
}

/// The answer to a call that waited, when it returns.
pub(super) enum Pending {
    /// The lab made it: this reply, whatever kernels do.
    Lab(LabReply),
    /// A call to the driver, by this command: this reply, if nothing went wrong.
    Call(Command, Reply),
    /// It put this message into a channel.
    Sent(ChannelId),
    /// It waits for the next message of this channel.
    Received(ChannelId),
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            turn: Turn::Thread(0),
            spawned: vec![None],
            pending: BTreeMap::new(),
            channels: Vec::new(),
        }
    }
}

impl Threads {
    /// The thread whose turn it is.
    pub(super) fn running(&self) -> u32 {
        match self.turn {
            Turn::Thread(thread) => thread,
            Turn::Nobody(_) => 0,
        }
    }

    /// Whether it is the turn of the one who asks, and not to be answered before.
    pub(super) fn may_ask(&self, request: &Request) -> bool {
        let resumes = matches!(request.command, Command::Resume);
        self.turn == Turn::Thread(request.thread)
            && self.pending.contains_key(&request.thread) == resumes
    }

    /// Whether the turn of the thread that made the request is over. One that spawns another thread
    /// goes on until it has started it.
    pub(super) fn is_over(&self, request: &Request, made_a_call: bool) -> bool {
        match request.command {
            Command::Lab(LabRequest::Thread(ThreadRequest::Spawn)) => false,
            Command::Lab(LabRequest::Thread(ThreadRequest::Started { .. })) => true,
            // What it tells comes with a call of its own, which is still to be made.
            Command::HostAccess { .. } => false,
            _ => made_a_call,
        }
    }

    fn channel(&mut self, channel: u32) -> Result<&mut Channel, Failure> {
        self.channels.get_mut(channel as usize).ok_or(Failure::bare(code::INVALID_HANDLE))
    }
}

/// Why a request is refused that comes from a thread whose turn it is not.
pub(super) fn out_of_turn() -> Failure {
    let why = "a host thread made a call out of its turn".to_owned();
    Failure::because(code::NOT_PERMITTED, why)
}

impl Machine {
    /// Works off what happens until a thread is to go on, and says which.
    pub(super) fn next_turn(&mut self, host: &mut dyn Host) {
        let mut world = World {
            store: &mut self.store,
            moving: &mut self.moving,
            fault: &mut self.fault,
            touched: &mut self.touched,
            watching: &mut self.watching,
            host,
        };
        self.threads.turn = match self.device.turn(&mut world) {
            Some(thread) => Turn::Thread(thread),
            None => Turn::Nobody(self.who_waits()),
        };
        self.note_touched();
        if self.device.is_idle() {
            self.store.forget_freed();
        }
    }

    /// The call that was just made has not returned.
    pub(super) fn hold(&mut self, pending: Pending) -> Reply {
        let step = self.program.steps.len() as u32 - 1;
        self.threads.pending.insert(self.threads.running(), (step, pending));
        Reply::Blocked
    }

    /// The outcome of a call that blocked.
    pub(super) fn resume(&mut self, thread: u32) -> Result<Reply, Failure> {
        let nothing = || Failure::bare(code::INVALID_VALUE);
        let (step, pending) = self.threads.pending.remove(&thread).ok_or_else(nothing)?;
        let answer = self.device.take_answer(thread).ok_or_else(nothing)?;
        match pending {
            Pending::Lab(reply) => Ok(Reply::Lab(reply)),
            Pending::Call(command, reply) => self.returned(step, &command, reply, answer),
            Pending::Sent(channel) => Ok(Reply::Lab(self.sent(channel, step, answer.yes))),
            Pending::Received(channel) => Ok(Reply::Lab(self.received(channel, step, answer.yes))),
        }
    }

    fn sent(&mut self, channel: ChannelId, step: u32, yes: bool) -> LabReply {
        if yes {
            return LabReply::Done;
        }
        self.program.steps[step as usize].call = Call::ChannelSend { channel, message: None };
        LabReply::Gone
    }

    fn received(&mut self, channel: ChannelId, step: u32, yes: bool) -> LabReply {
        let known = &mut self.threads.channels[channel.0 as usize];
        let number = known.received;
        let Some(&token) = known.sent.get(number as usize).filter(|_| yes) else {
            return LabReply::Gone;
        };
        known.received += 1;
        self.program.steps[step as usize].call =
            Call::ChannelReceive { channel, message: Some(number) };
        LabReply::Number(token)
    }

    /// Answers a request about host threads.
    pub(super) fn thread(
        &mut self,
        asked: ThreadRequest,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        let step = self.program.steps.len() as u32;
        let done = Ok(Reply::Lab(LabReply::Done));
        match asked {
            ThreadRequest::Spawn => {
                let thread = self.threads.spawned.len() as u32;
                self.threads.spawned.push(Some(step));
                self.make(Call::ThreadSpawn { thread }, site, host);
                Ok(Reply::Lab(LabReply::Number(thread.into())))
            }
            ThreadRequest::Started { thread: Ok(_) } => done,
            ThreadRequest::Started { thread: Err(thread) } if self.device.abandon(thread) => done,
            ThreadRequest::Started { thread: Err(thread) } => {
                let why =
                    format!("{} has started", self.thread_named(thread).trim_end_matches(','));
                Ok(Reply::Lab(LabReply::Refused { why }))
            }
            // The student's process knows who has started.
            ThreadRequest::Start { .. } => done,
            ThreadRequest::End => {
                self.make(Call::ThreadEnd, site, host);
                done
            }
            ThreadRequest::Join { thread } => {
                if thread as usize >= self.threads.spawned.len() {
                    return Err(Failure::bare(code::INVALID_HANDLE));
                }
                match self.make(Call::ThreadJoin { thread }, site, host) {
                    Some(_) => done,
                    None => Ok(self.hold(Pending::Lab(LabReply::Done))),
                }
            }
            ThreadRequest::Channel { capacity } => {
                let channel = self.threads.channels.len() as u32;
                self.threads.channels.push(Channel::default());
                let call = Call::ChannelCreate { channel: ChannelId(channel), capacity };
                self.make(call, site, host);
                Ok(Reply::Lab(LabReply::Number(channel.into())))
            }
            ThreadRequest::Clone { channel } => {
                let known = self.threads.channel(channel)?;
                known.senders = known.senders.saturating_add(1);
                done
            }
            ThreadRequest::Send { channel, token } => {
                let known = self.threads.channel(channel)?;
                let (id, message) = (ChannelId(channel), Some(known.sent.len() as u32));
                known.sent.push(token);
                match self.make(Call::ChannelSend { channel: id, message }, site, host) {
                    Some(answer) => Ok(Reply::Lab(self.sent(id, step, answer.yes))),
                    None => Ok(self.hold(Pending::Sent(id))),
                }
            }
            ThreadRequest::Receive { channel } => {
                self.threads.channel(channel)?;
                let id = ChannelId(channel);
                // Which message it gets shows when it returns: others may wait for one, too.
                match self.make(Call::ChannelReceive { channel: id, message: None }, site, host) {
                    Some(answer) => Ok(Reply::Lab(self.received(id, step, answer.yes))),
                    None => Ok(self.hold(Pending::Received(id))),
                }
            }
            ThreadRequest::Close { channel, end } => {
                let known = self.threads.channel(channel)?;
                let left = match end {
                    ChannelEnd::Sender => {
                        known.senders = known.senders.saturating_sub(1);
                        known.senders
                    }
                    ChannelEnd::Receiver => 0,
                };
                let channel = ChannelId(channel);
                self.make(Call::ChannelClose { channel, end, left }, site, host);
                done
            }
        }
    }

    /// Where a thread was started, in words.
    fn thread_named(&self, thread: u32) -> String {
        let spawned = self.threads.spawned.get(thread as usize).copied().flatten();
        let site = spawned.and_then(|step| self.program.site(&self.program.steps[step as usize]));
        match (thread, site) {
            (0, _) => "the first host thread".to_owned(),
            (_, Some(site)) => format!("host thread {thread}, started at {site},"),
            (_, None) => format!("host thread {thread}"),
        }
    }

    /// The report of a deadlock: what each thread waits for.
    fn who_waits(&self) -> String {
        let mut lines =
            vec!["every host thread waits for another, so none ever goes on:".to_owned()];
        let mut blocked: Vec<(u32, u32)> = self.device.threads_blocked().collect();
        blocked.sort_unstable();
        for (thread, step) in blocked {
            let step = &self.program.steps[step as usize];
            let what = match &step.call {
                Call::ThreadJoin { thread } => format!("waits for host thread {thread} to end"),
                Call::ChannelReceive { channel, .. } => {
                    format!("waits for a message in channel {}", channel.0)
                }
                Call::ChannelSend { channel, .. } => {
                    format!("waits for room in channel {}", channel.0)
                }
                _ => "waits for the device".to_owned(),
            };
            let at = self.program.site(step).map_or(String::new(), |site| format!(" at {site}"));
            lines.push(format!("  {} {what}{at}", self.thread_named(thread)));
        }
        lines.push(
            "hint: a receiver goes on when all senders are dropped; a thread that holds one itself waits \
             for ever"
                .to_owned(),
        );
        lines.join("\n")
    }

    /// Why a region cannot begin or end.
    pub(super) fn threads_left(&self) -> String {
        let left = (1..self.threads.spawned.len() as u32).filter(|&it| self.device.is_alive(it));
        let names: Vec<String> =
            left.map(|thread| self.thread_named(thread).trim_end_matches(',').to_owned()).collect();
        format!(
            "the measured region begins and ends with one host thread, but there is {}\n\
             hint: join it inside the region",
            names.join(" and ")
        )
    }
}
