//! Happens-before edges between host threads: spawn, join and messages.
//!
//! A call that waits may be written down before the one that it waits for. Its edge is drawn when
//! both are known; until then its thread does nothing else.

use crate::program::{ChannelEnd, ChannelId};

use super::happens_before::{Message, Order};

impl Order {
    /// A thread starts another, which knows what it knows.
    pub(super) fn spawn(&mut self, thread: u32, new: u32) {
        let clock = self.tell(thread);
        self.hosts.insert(new, clock);
    }

    /// A thread does nothing more.
    pub(super) fn end(&mut self, thread: u32) {
        let clock = self.tell(thread);
        for waiting in self.threads.joining.remove(&thread).unwrap_or_default() {
            self.host(waiting).join(&clock);
        }
        self.threads.ended.insert(thread, clock);
    }

    /// A thread waits for the end of another.
    pub(super) fn join(&mut self, thread: u32, other: u32) {
        match self.threads.ended.get(&other).cloned() {
            Some(clock) => self.host(thread).join(&clock),
            None => self.threads.joining.entry(other).or_default().push(thread),
        }
    }

    /// A channel comes to be.
    pub(super) fn open(&mut self, channel: ChannelId, capacity: Option<u32>) {
        self.threads.capacities.extend(capacity.map(|capacity| (channel, capacity.max(1))));
    }

    /// A thread sends a message, after that has been taken out which would have been in its place.
    pub(super) fn send(&mut self, thread: u32, channel: ChannelId, message: Option<u32>) {
        let Some(message) = message else {
            return self.outlast(thread, (channel, ChannelEnd::Receiver));
        };
        let capacity = self.threads.capacities.get(&channel);
        if let Some(before) = capacity.and_then(|capacity| message.checked_sub(*capacity)) {
            match self.threads.received.remove(&(channel, before)) {
                Some(clock) => self.host(thread).join(&clock),
                None => {
                    self.threads.sending.insert((channel, before), (thread, message));
                    return;
                }
            }
        }
        self.put_in(thread, (channel, message));
    }

    fn put_in(&mut self, thread: u32, message: Message) {
        let clock = self.tell(thread);
        self.threads.sent.insert(message, clock);
        if let Some(receiver) = self.threads.receiving.remove(&message) {
            self.take_out(receiver, message);
        }
    }

    /// A thread receives a message.
    pub(super) fn receive(&mut self, thread: u32, channel: ChannelId, message: Option<u32>) {
        let Some(message) = message else {
            return self.outlast(thread, (channel, ChannelEnd::Sender));
        };
        if self.threads.sent.contains_key(&(channel, message)) {
            self.take_out(thread, (channel, message));
        } else {
            self.threads.receiving.insert((channel, message), thread);
        }
    }

    fn take_out(&mut self, thread: u32, message: Message) {
        let Some(sent) = self.threads.sent.remove(&message) else { return };
        self.host(thread).join(&sent);
        if !self.threads.capacities.contains_key(&message.0) {
            return;
        }
        let clock = self.tell(thread);
        match self.threads.sending.remove(&message) {
            Some((sender, next)) => {
                self.host(sender).join(&clock);
                self.put_in(sender, (message.0, next));
            }
            None => drop(self.threads.received.insert(message, clock)),
        }
    }

    /// One end of a channel is gone, but for the senders that are left.
    pub(super) fn close(&mut self, thread: u32, end: (ChannelId, ChannelEnd), left: u32) {
        let clock = self.tell(thread);
        let (known, is_closed) = self.threads.closed.entry(end).or_default();
        known.join(&clock);
        *is_closed = left == 0;
        if *is_closed {
            let known = known.clone();
            for waiting in self.threads.outlasting.remove(&end).unwrap_or_default() {
                self.host(waiting).join(&known);
            }
        }
    }

    /// A thread learns that one end of a channel is gone.
    fn outlast(&mut self, thread: u32, end: (ChannelId, ChannelEnd)) {
        match self.threads.closed.get(&end).cloned() {
            Some((clock, true)) => self.host(thread).join(&clock),
            _ => self.threads.outlasting.entry(end).or_default().push(thread),
        }
    }
}
