//! Numbers for what a program made, in the order in which it was made.
//!
//! When earlier passes are left out of a program, what they made leaves gaps. Numbered anew, the
//! last of several passes reads like the only one, and like the same pass on the simulated device.

use std::collections::BTreeMap;

use trace::Program;
use trace::program::{Access, BlockId, Call, EventId, Place, Range, StreamId};
use trace::timeline::Span;

/// Old numbers to new ones.
#[derive(Default)]
struct Numbers {
    streams: BTreeMap<StreamId, StreamId>,
    events: BTreeMap<EventId, EventId>,
    blocks: BTreeMap<BlockId, BlockId>,
}

/// Numbers everything anew, from the first number of each kind on.
pub(super) fn renumber(program: &mut Program, spans: &mut [Span]) {
    let mut numbers = Numbers::default();
    for step in &program.steps {
        numbers.learn(&step.call);
    }
    for step in &mut program.steps {
        numbers.apply(&mut step.call);
    }
    for span in spans {
        numbers.stream(&mut span.stream);
    }
}

impl Numbers {
    fn learn(&mut self, call: &Call) {
        match call {
            Call::StreamCreate { stream, .. } => {
                let device = stream.device();
                let before = self.streams.keys().filter(|other| other.device() == device).count();
                let next = StreamId::FIRST_CREATED + before as u32;
                self.streams.insert(*stream, StreamId::on(device, next));
            }
            Call::EventCreate { event, .. } => {
                self.events.insert(*event, EventId(self.events.len() as u32));
            }
            Call::Alloc { block, .. }
            | Call::AllocAsync { block, .. }
            | Call::AllocHost { block, .. } => {
                let device = block.device();
                let before = self.blocks.keys().filter(|other| other.device() == device).count();
                self.blocks.insert(*block, BlockId::on(device, before as u32));
            }
            _ => {}
        }
    }

    /// The default streams keep their numbers.
    fn stream(&self, stream: &mut StreamId) {
        *stream = self.streams.get(stream).copied().unwrap_or(*stream);
    }

    fn event(&self, event: &mut EventId) {
        *event = self.events.get(event).copied().unwrap_or(*event);
    }

    fn block(&self, block: &mut BlockId) {
        *block = self.blocks.get(block).copied().unwrap_or(*block);
    }

    fn range(&self, range: &mut Range) {
        self.block(&mut range.block);
    }

    fn place(&self, place: &mut Place) {
        match place {
            Place::Device(range) | Place::Pinned(range) => self.range(range),
            Place::Pageable => {}
        }
    }

    fn accesses(&self, accesses: &mut [Access]) {
        accesses.iter_mut().for_each(|access| self.range(&mut access.range));
    }

    fn apply(&self, call: &mut Call) {
        match call {
            Call::StreamCreate { stream, .. }
            | Call::StreamDestroy { stream }
            | Call::StreamSynchronize { stream }
            | Call::StreamQuery { stream } => self.stream(stream),
            Call::HostFunction { stream, accesses } => {
                self.stream(stream);
                self.accesses(accesses);
            }
            Call::HostAccess { accesses, .. } => self.accesses(accesses),
            Call::StreamWait { stream, event } | Call::EventRecord { event, stream } => {
                self.stream(stream);
                self.event(event);
            }
            Call::EventCreate { event, .. }
            | Call::EventDestroy { event }
            | Call::EventSynchronize { event }
            | Call::EventQuery { event } => self.event(event),
            Call::EventElapsed { start, end } => {
                self.event(start);
                self.event(end);
            }
            Call::Alloc { block, .. }
            | Call::Free { block }
            | Call::AllocHost { block, .. }
            | Call::FreeHost { block } => self.block(block),
            Call::AllocAsync { block, stream, .. } | Call::FreeAsync { block, stream } => {
                self.block(block);
                self.stream(stream);
            }
            Call::Copy { stream, source, target, .. } => {
                self.stream(stream);
                self.place(source);
                self.place(target);
            }
            Call::Memset { stream, target, .. } => {
                self.stream(stream);
                self.range(target);
            }
            Call::Launch(launch) => {
                self.stream(&mut launch.stream);
                self.accesses(&mut launch.accesses);
            }
            Call::GraphLaunch { stream, .. } => self.stream(stream),
            Call::GraphCreate { nodes, .. } => {
                for node in nodes {
                    self.apply(&mut node.call);
                }
            }
            Call::GraphInstantiate { .. }
            | Call::PoolKeep { .. }
            | Call::PoolTrim { .. }
            | Call::PeerAccess { .. }
            | Call::RegionBegin
            | Call::RegionEnd
            | Call::Connections { .. }
            | Call::ThreadSpawn { .. }
            | Call::ThreadEnd
            | Call::ThreadJoin { .. }
            | Call::ChannelCreate { .. }
            | Call::ChannelSend { .. }
            | Call::ChannelReceive { .. }
            | Call::ChannelClose { .. }
            | Call::HostWork { .. }
            | Call::Arrival { .. }
            | Call::Answer { .. }
            | Call::ContextSynchronize
            | Call::ModuleLoad
            | Call::ModuleUnload
            | Call::FunctionGet { .. } => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use trace::program::{Mode, Step, StreamKind, Timing};

    use super::*;

    #[test]
    fn what_is_there_is_numbered_in_order_and_default_streams_stay() {
        let range = Range { block: BlockId(40), offset: 8, bytes: 16 };
        let calls = vec![
            Call::StreamCreate { stream: StreamId(9), kind: StreamKind::Blocking, priority: 0 },
            Call::EventCreate { event: EventId(7), timing: Timing::Disabled },
            Call::Alloc { block: BlockId(40), bytes: 64 },
            Call::EventRecord { event: EventId(7), stream: StreamId(9) },
            Call::Memset { stream: StreamId::LEGACY, mode: Mode::Synchronous, target: range },
        ];
        let mut program = Program::new(1);
        program.steps = calls
            .into_iter()
            .map(|call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 })
            .collect();
        renumber(&mut program, &mut []);
        let calls: Vec<_> = program.steps.into_iter().map(|step| step.call).collect();
        assert_eq!(calls[3], Call::EventRecord { event: EventId(0), stream: StreamId(2) });
        let target = Range { block: BlockId(0), ..range };
        assert_eq!(
            calls[4],
            Call::Memset { stream: StreamId::LEGACY, mode: Mode::Synchronous, target }
        );
    }
}
