//! Dependencies of each operation: its stream, the events that its stream waited for, the default
//! stream.

use std::collections::{HashMap, HashSet};

use crate::program::{Call, EventId, Program, StreamId, StreamKind};

/// Until when something keeps an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Until {
    pub(super) ns: u64,
    /// The call that it is: a wait, or an operation.
    pub(super) step: u32,
    /// The operation that ends then, by the name that it was given; none where there is none.
    pub(super) last: Option<u32>,
}

impl Until {
    fn later(self, other: Self) -> Self {
        if other.ns > self.ns { other } else { self }
    }
}

/// Dependencies of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    /// The operation before it in its stream.
    pub(super) own: Until,
    /// An event; of several the one that was over last.
    pub(super) wait: Until,
    /// The last operation in the default stream, or for one that is in it, of all blocking streams.
    pub(super) barrier: Until,
}

#[derive(Default)]
struct Stream {
    last: Until,
    /// Dependencies of the next operation, by waits.
    waits: Vec<Until>,
    /// When all that is queued has ended, waits included.
    tail: Until,
}

/// Goes through the calls of a program in their order.
pub(super) struct Turns {
    streams: HashMap<StreamId, Stream>,
    blocking: HashSet<StreamId>,
    events: HashMap<EventId, Until>,
    /// The last operation in the legacy default stream.
    barrier: Until,
    /// The operation of a blocking stream that ends last.
    blocking_last: Until,
}

impl Turns {
    pub(super) fn new(program: &Program) -> Self {
        let kinds = program.steps.iter().filter_map(|step| match step.call {
            Call::StreamCreate { stream, kind: StreamKind::Blocking, .. } => Some(stream),
            _ => None,
        });
        Self {
            streams: HashMap::new(),
            blocking: kinds.chain([StreamId::PER_THREAD]).collect(),
            events: HashMap::new(),
            barrier: Until::default(),
            blocking_last: Until::default(),
        }
    }

    /// A call that is no operation.
    pub(super) fn call(&mut self, step: u32, call: &Call) {
        match call {
            Call::EventRecord { event, stream } => self.record(step, *event, *stream),
            Call::StreamWait { stream, event } => {
                let Some(&recorded) = self.events.get(event) else { return };
                let stream = self.streams.entry(*stream).or_default();
                stream.waits.push(Until { step, ..recorded });
                stream.tail = stream.tail.later(recorded);
            }
            _ => {}
        }
    }

    fn record(&mut self, step: u32, event: EventId, stream: StreamId) {
        let mut tail = self.streams.get(&stream).map_or(Until::default(), |stream| stream.tail);
        if stream == StreamId::LEGACY {
            tail = tail.later(self.blocking_last);
            self.barrier = Until { step, ..tail };
        }
        self.events.insert(event, tail);
    }

    /// An operation that ended at `end_ns`: says what it came after. `name` is what others are told
    /// of it.
    pub(super) fn operation(
        &mut self,
        step: u32,
        stream: StreamId,
        end_ns: u64,
        name: u32,
    ) -> Before {
        let is_blocking = self.blocking.contains(&stream);
        let barrier = match stream {
            StreamId::LEGACY => Until { step, ..self.blocking_last },
            _ if is_blocking => self.barrier,
            _ => Until::default(),
        };
        let this = Until { ns: end_ns, step, last: Some(name) };
        let of = self.streams.entry(stream).or_default();
        let wait = of.waits.drain(..).max_by_key(|wait| wait.ns).unwrap_or_default();
        let own = std::mem::replace(&mut of.last, this);
        of.tail = of.tail.later(this);
        if stream == StreamId::LEGACY {
            self.barrier = this;
        } else if is_blocking {
            self.blocking_last = self.blocking_last.later(this);
        }
        Before { own, wait, barrier }
    }
}
