//! Streams, events and memory by their names.

use trace::program::{BlockId, Call, EventId, Mode, StreamId, StreamKind, Timing};

use super::lower::{Lowered, Lowering};
use super::mistake::{At, Mistake, meant};
use super::syntax::{Memory, Name};
use super::things::{Buffer, Thing};

impl Lowering {
    /// A name with the number of its index.
    pub(super) fn key(&self, name: &Name) -> Lowered<String> {
        Ok(match &name.index {
            None => name.word.clone(),
            Some(index) => format!("{}[{}]", name.word, self.number(index)?.floor()),
        })
    }

    /// The thing with a name; none if nothing has it yet, or if it was freed.
    pub(super) fn thing(&self, name: &Name) -> Lowered<Option<Thing>> {
        Ok(self.place(&self.key(name)?).ok().map(|place| self.things[place].1))
    }

    pub(super) fn put(&mut self, name: &Name, thing: Thing) -> Lowered<()> {
        let key = self.key(name)?;
        match self.place(&key) {
            Ok(place) => self.things[place].1 = thing,
            Err(place) => self.things.insert(place, (key, thing)),
        }
        Ok(())
    }

    /// Where a name stands among those that have a meaning, or where it would.
    fn place(&self, key: &String) -> Result<usize, usize> {
        self.things.binary_search_by(|(known, _)| known.cmp(key))
    }

    /// Fails because the thing cannot be used in this way.
    pub(super) fn other<T>(&self, name: &Name, thing: Thing, write: &str) -> Lowered<T> {
        let key = self.key(name)?;
        let text = match thing {
            Thing::Freed(line) => {
                format!(
                    "`{key}` was freed in line {line}; free it below this line, or declare it again"
                )
            }
            thing => format!("`{key}` is {}; write {write}", thing.said()),
        };
        Err(Mistake::new(name.at, text))
    }

    /// There is nothing of this name.
    pub(super) fn missing<T>(&self, name: &Name, write: &str) -> Lowered<T> {
        let key = self.key(name)?;
        let near = meant(&key, self.things.iter().map(|(known, _)| known.as_str()));
        let near = near.map(|near| format!("did you mean `{near}`? If not, ")).unwrap_or_default();
        let text = format!("there is no `{key}` yet; {near}write {write}");
        Err(Mistake::new(name.at, text))
    }

    /// The stream of a name; it comes to be where it is first named.
    pub(super) fn stream_of(&mut self, name: &Name) -> Lowered<StreamId> {
        match self.thing(name)? {
            Some(Thing::Stream(stream)) => Ok(stream),
            Some(thing) => self.other(name, thing, "another name for the stream"),
            None if name.index.is_none() && name.word.eq_ignore_ascii_case("default") => {
                Ok(StreamId::LEGACY)
            }
            None => {
                let call = self.new_stream(name, StreamKind::NonBlocking, 0)?;
                let Call::StreamCreate { stream, .. } = call else { unreachable!("it makes one") };
                self.set_up(call);
                Ok(stream)
            }
        }
    }

    /// The call that makes a stream of this name.
    pub(super) fn new_stream(
        &mut self,
        name: &Name,
        kind: StreamKind,
        priority: i32,
    ) -> Lowered<Call> {
        self.is_new(name)?;
        let stream = StreamId(StreamId::FIRST_CREATED + self.streams.len() as u32);
        self.streams.push(self.key(name)?);
        self.put(name, Thing::Stream(stream))?;
        Ok(Call::StreamCreate { stream, kind, priority })
    }

    pub(super) fn new_event(&mut self, timing: Timing) -> (EventId, Call) {
        let event = EventId(self.events);
        self.events += 1;
        (event, Call::EventCreate { event, timing })
    }

    /// A name that is declared has to be free.
    pub(super) fn is_new(&self, name: &Name) -> Lowered<()> {
        match self.thing(name)? {
            None | Some(Thing::Freed(_)) => Ok(()),
            Some(thing) => {
                let (key, said) = (self.key(name)?, thing.said());
                let text = format!("there is a `{key}` already, {said}; write another name");
                Err(Mistake::new(name.at, text))
            }
        }
    }

    /// Memory, and the calls that make it.
    pub(super) fn new_buffer(&mut self, kind: Memory, bytes: u64) -> (Buffer, Vec<Call>) {
        let block = BlockId(self.blocks);
        let mut buffer = Buffer { kind, block, event: EventId(0), bytes };
        let mut calls = Vec::new();
        self.blocks += u32::from(kind != Memory::Pageable);
        match kind {
            Memory::Device => {
                calls.push(Call::AllocAsync { block, bytes, stream: self.stream });
            }
            Memory::Pinned => {
                let (event, create) = self.new_event(Timing::Enabled);
                buffer.event = event;
                calls = vec![create, Call::AllocHost { block, bytes }];
            }
            Memory::Pageable => {}
        }
        (buffer, calls)
    }

    /// Memory that comes to be where it is first used: before the clock starts.
    pub(super) fn set_up_buffer(&mut self, kind: Memory, bytes: u64) -> Buffer {
        let stream = std::mem::replace(&mut self.stream, StreamId::LEGACY);
        let (buffer, calls) = self.new_buffer(kind, bytes);
        self.stream = stream;
        calls.into_iter().for_each(|call| self.set_up(call));
        buffer
    }

    /// Memory that has to be there.
    pub(super) fn buffer(&self, name: &Name) -> Lowered<Buffer> {
        match self.thing(name)? {
            Some(Thing::Buffer(buffer)) => Ok(buffer),
            Some(thing) => self.other(name, thing, "the name of a buffer"),
            None => {
                let key = self.key(name)?;
                self.missing(name, &format!("`device {key} 4 MiB` above, with its size"))
            }
        }
    }

    /// Frees what a name stands for, as dropping it does in cudarc.
    pub(super) fn free(&mut self, name: &Name, at: At) -> Lowered<()> {
        let calls = match self.thing(name)? {
            Some(Thing::Stream(stream)) => vec![Call::StreamDestroy { stream }],
            Some(Thing::Event(event)) => vec![Call::EventDestroy { event }],
            Some(Thing::Buffer(Buffer { kind, block, event, .. })) => match kind {
                Memory::Device => vec![Call::FreeAsync { block, stream: self.stream }],
                Memory::Pinned => vec![
                    Call::EventSynchronize { event },
                    Call::FreeHost { block },
                    Call::EventDestroy { event },
                ],
                Memory::Pageable => Vec::new(),
            },
            Some(freed @ Thing::Freed(_)) => return self.other(name, freed, ""),
            None => return self.missing(name, "the name of something that is there"),
        };
        calls.into_iter().for_each(|call| self.call(call, at));
        self.put(name, Thing::Freed(at.line))
    }
}

/// The two modes of a call: this language has the one that takes a stream.
pub(super) const MODE: Mode = Mode::Asynchronous;
