//! The pool that stream-ordered memory comes from: what was freed is handed out again.
//!
//! A block that was freed in a stream is free for that stream at once, since whatever uses it anew comes
//! behind; for another stream as soon as that comes behind the free, by an event, or as soon as the free
//! has run (CUDA C++ Programming Guide, stream-ordered memory allocator, physical page caching
//! behaviour and reuse policies). A synchronisation gives back what nobody has taken by then, as long as
//! the pool holds more than its release threshold: with 0, the default, all of it.
//!
//! Memory keeps its contents: a use after the free finds what the next owner has written.

use std::collections::BTreeMap;

use trace::program::StreamId;

/// A block that was freed.
struct Freed {
    address: u64,
    bytes: u64,
    stream: StreamId,
    /// How many frees there had been in its stream, with this one.
    count: u64,
    /// The operation of the timing core that is the free.
    operation: u32,
}

/// How many frees of each stream one comes behind.
type Behind = BTreeMap<StreamId, u64>;

/// Everything that was freed and can be handed out.
#[derive(Default)]
pub(super) struct Pool {
    freed: Vec<Freed>,
    counts: Behind,
    streams: BTreeMap<StreamId, Behind>,
    /// Of the events that were recorded since something was freed.
    events: BTreeMap<u64, Behind>,
    /// What it holds on to, in bytes, together with what is in use.
    pub(super) threshold: u64,
}

impl Pool {
    /// A block of so many bytes was freed in the order of a stream.
    pub(super) fn put(&mut self, (address, bytes): (u64, u64), stream: StreamId, operation: u32) {
        let count = self.counts.entry(stream).or_default();
        *count += 1;
        self.freed.push(Freed { address, bytes, stream, count: *count, operation });
    }

    /// A block of exactly so many bytes that an allocation in this stream may have; the one that was
    /// freed last, which is the likeliest to be in the caches.
    pub(super) fn take(
        &mut self,
        bytes: u64,
        stream: StreamId,
        is_over: impl Fn(u32) -> bool,
    ) -> Option<u64> {
        let behind = self.streams.get(&stream);
        let comes_behind = |it: &Freed| {
            let known = behind.and_then(|behind| behind.get(&it.stream)).copied().unwrap_or(0);
            it.stream == stream || known >= it.count || is_over(it.operation)
        };
        let found = self.freed.iter().rposition(|it| it.bytes == bytes && comes_behind(it))?;
        Some(self.freed.remove(found).address)
    }

    /// An event was recorded in a stream.
    pub(super) fn record(&mut self, event: u64, stream: StreamId) {
        if self.freed.is_empty() {
            self.events.remove(&event);
            return;
        }
        let mut behind = self.streams.get(&stream).cloned().unwrap_or_default();
        behind.extend(self.counts.get(&stream).map(|&count| (stream, count)));
        self.events.insert(event, behind);
    }

    /// A stream waits for what an event stands for.
    pub(super) fn wait(&mut self, stream: StreamId, event: u64) {
        let Some(recorded) = self.events.get(&event) else { return };
        let behind = self.streams.entry(stream).or_default();
        for (&stream, &count) in recorded {
            let known = behind.entry(stream).or_default();
            *known = count.max(*known);
        }
    }

    /// What was freed, and is over, goes back to the system, as long as there is more than `most`, in bytes,
    /// together with what is in use.
    pub(super) fn release(
        &mut self,
        most: u64,
        in_use: u64,
        is_over: impl Fn(u32) -> bool,
        mut give_back: impl FnMut(u64),
    ) {
        let mut held = in_use.saturating_add(self.bytes());
        self.freed.retain(|it| {
            let goes = held > most && is_over(it.operation);
            if goes {
                held -= it.bytes;
                give_back(it.address);
            }
            !goes
        });
        if self.freed.is_empty() {
            // Nothing is left that could be known.
            *self = Self { threshold: self.threshold, ..Self::default() };
        }
    }

    /// How much it holds, in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.freed.iter().map(|it| it.bytes).sum()
    }
}
