//! Event pairs: what the device did and when, where CUPTI cannot be had.
//!
//! An event before each operation and one after it, in its own stream, measured from an event at
//! the region's start. The events take time themselves. The first of a pair passes when the stream
//! gets there, so an operation that then has to wait for a busy engine shows the waiting as part of
//! itself.

use super::clock::Clock;
use super::real::Real;
use crate::cuda::{CUresult, Handle, code};

/// Events that a region starts with: enough for the pages' programs. More are made in bulk.
const EVENTS: usize = 1024;
/// How many more are made when they run out.
const MORE_EVENTS: usize = 256;

/// How often the start is measured; the quickest counts.
const BASES: usize = 8;

/// `CU_STREAM_NON_BLOCKING`
const NON_BLOCKING: u32 = 1;
/// `CU_EVENT_DEFAULT`: with a time stamp, and the host spins when it waits.
const TIMED: u32 = 0;

/// The start of a region on both clocks.
#[derive(Clone, Copy)]
struct Base {
    event: Handle,
    ns: u64,
}

/// An operation between two events.
struct Pair {
    number: u64,
    start: Handle,
    end: Handle,
}

/// An operation and when it ran, in ns on the host's clock.
pub(super) struct Found {
    pub(super) number: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
}

/// The events and what they are used for.
#[derive(Default)]
pub(super) struct Pairs {
    pool: Vec<Handle>,
    /// A stream of our own, which nothing else waits for.
    stream: Option<Handle>,
    base: Option<Base>,
    pairs: Vec<Pair>,
    /// Operations that got no pair.
    missed: usize,
}

impl Pairs {
    /// A region is about to begin; the device is idle and the calling thread has a context.
    pub(super) fn begin(&mut self, real: &Real, clock: &Clock) -> Result<(), CUresult> {
        (self.missed, self.base) = (0, None);
        self.pairs.clear();
        self.pairs.reserve(EVENTS);
        if self.pool.len() < EVENTS {
            self.make_events(real, EVENTS - self.pool.len())?;
        }
        let stream = match self.stream {
            Some(stream) => stream,
            None => {
                let mut stream = 0;
                // SAFETY: writes one handle.
                succeed(unsafe { real.create_stream(&raw mut stream, NON_BLOCKING) })?;
                *self.stream.insert(stream)
            }
        };
        // The device stamps the event between the two readings of the host's clock, nearer to the
        // second: handing the event over takes longer than seeing that it has passed.
        let mut best: Option<(u64, Base)> = None;
        for _ in 0..BASES {
            let event = self.take(real)?;
            let before = clock.now();
            // SAFETY: both handles are live.
            succeed(unsafe { real.record_event(event, stream) })?;
            loop {
                // SAFETY: the handle is live.
                match unsafe { real.query_event(event) } {
                    code::NOT_READY => {}
                    result => break succeed(result)?,
                }
            }
            let ns = clock.now();
            let took = ns - before;
            match best.replace((took, Base { event, ns })) {
                Some(quicker) if quicker.0 <= took => {
                    best = Some(quicker);
                    self.pool.push(event);
                }
                Some(slower) => self.pool.push(slower.1.event),
                None => {}
            }
        }
        self.base = best.map(|(_, base)| base);
        Ok(())
    }

    /// An operation is about to be queued in `stream`: the event before it.
    pub(super) fn before(&mut self, real: &Real, stream: Handle) -> Option<Handle> {
        self.base?;
        let event = self.record(real, stream);
        self.missed += usize::from(event.is_none());
        event
    }

    /// It has been queued, or has failed.
    pub(super) fn after(
        &mut self,
        real: &Real,
        stream: Handle,
        number: u64,
        start: Handle,
        result: CUresult,
    ) {
        if result != code::SUCCESS {
            self.pool.push(start);
            return;
        }
        match self.record(real, stream) {
            Some(end) => self.pairs.push(Pair { number, start, end }),
            None => {
                self.pool.push(start);
                self.missed += 1;
            }
        }
    }

    /// The region is over and the device idle: what was measured, and how many operations were not.
    pub(super) fn end(&mut self, real: &Real) -> (Vec<Found>, usize) {
        let Some(base) = self.base.take() else { return (Vec::new(), 0) };
        let mut found = Vec::new();
        let mut missed = std::mem::take(&mut self.missed);
        for Pair { number, start, end } in std::mem::take(&mut self.pairs) {
            let since = |event| elapsed_ns(real, base.event, event).map(|ns| base.ns + ns);
            match since(start).zip(since(end)) {
                Some((start_ns, end_ns)) => found.push(Found { number, start_ns, end_ns }),
                None => missed += 1,
            }
            self.pool.extend([start, end]);
        }
        self.pool.push(base.event);
        (found, missed)
    }

    fn record(&mut self, real: &Real, stream: Handle) -> Option<Handle> {
        let event = self.take(real).ok()?;
        // SAFETY: the event is live; the stream is one that the program is about to use or has
        // used.
        if unsafe { real.record_event(event, stream) } == code::SUCCESS {
            return Some(event);
        }
        self.pool.push(event);
        None
    }

    fn take(&mut self, real: &Real) -> Result<Handle, CUresult> {
        if self.pool.is_empty() {
            self.make_events(real, MORE_EVENTS)?;
        }
        self.pool.pop().ok_or(code::UNKNOWN)
    }

    fn make_events(&mut self, real: &Real, count: usize) -> Result<(), CUresult> {
        for _ in 0..count {
            let mut event = 0;
            // SAFETY: writes one handle.
            succeed(unsafe { real.create_event(&raw mut event, TIMED) })?;
            self.pool.push(event);
        }
        Ok(())
    }
}

/// From one event to a later one; 0 where the driver says that it was the other way round.
fn elapsed_ns(real: &Real, start: Handle, end: Handle) -> Option<u64> {
    let mut ms: f32 = 0.0;
    // SAFETY: writes one float; both events are live and have passed.
    let mut result = unsafe { real.elapsed(&raw mut ms, start, end) };
    if result == code::NOT_SUPPORTED {
        // SAFETY: as above.
        result = unsafe { real.elapsed_v2(&raw mut ms, start, end) };
    }
    (result == code::SUCCESS).then(|| nanoseconds(ms))
}

fn nanoseconds(ms: f32) -> u64 {
    const NS_PER_MS: f64 = 1e6;
    (f64::from(ms) * NS_PER_MS).round().max(0.0) as u64
}

fn succeed(result: CUresult) -> Result<(), CUresult> {
    if result == code::SUCCESS { Ok(()) } else { Err(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_become_nanoseconds() {
        assert_eq!(nanoseconds(1.5), 1_500_000);
        assert_eq!(nanoseconds(0.000_512), 512);
        assert_eq!(nanoseconds(-0.001), 0);
    }
}
