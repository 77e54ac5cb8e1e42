//! From statements to a program.

use trace::Program;
use trace::program::{
    Access, AccessKind, Call, EventId, Extent, Site, Step, StreamId, StreamKind, Timing, WorkQueues,
};

use super::Compiled;
use super::mistake::{At, Mistake};
use super::number::Number;
use super::syntax::{Amount, Memory, Name, Statement, Sum, What};
use super::things::Thing;

pub(super) type Lowered<T> = Result<T, Mistake>;

/// Calls of a program, at most: a page simulates it while the reader types.
const MOST_CALLS: usize = 10_000;
/// Statements that are gone through, at most, with or without a call in them.
const MOST_TURNS: u32 = 100_000;
/// One buffer or copy, in bytes: what the H200 has, to the next round number.
const MOST_BYTES: u64 = 128 << 30;
/// One kernel, or one piece of the host's work, in ns: a minute.
const MOST_NS: u64 = 60_000_000_000;

/// The name of the file where a place in the source is named.
pub(super) const FILE: &str = "program";

/// The program of `statements`, or all that is wrong with them.
pub(super) fn lower(statements: &[Statement]) -> Result<Compiled, Vec<Mistake>> {
    let mut lowering = Lowering::new(has_start(statements));
    lowering.all(statements);
    if lowering.mistakes.is_empty() { Ok(lowering.finished()) } else { Err(lowering.mistakes) }
}

fn has_start(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match &statement.what {
        What::Start => true,
        What::In { body, .. } | What::Repeat { body, .. } => has_start(body),
        _ => false,
    })
}

pub(super) struct Lowering {
    /// Before the clock starts, and after.
    before: Vec<Step>,
    after: Vec<Step>,
    /// Whether the text says where the clock starts. Else it starts once all is there that is
    /// declared.
    has_start: bool,
    is_started: bool,
    is_stopped: bool,
    is_too_long: bool,
    turns: u32,
    /// The meaning of each name, in the order of the names.
    pub(super) things: Vec<(String, Thing)>,
    /// The names of the streams, in the order of their numbers.
    pub(super) streams: Vec<String>,
    pub(super) events: u32,
    pub(super) blocks: u32,
    /// The kernels, by their numbers.
    pub(super) kernels: Vec<Call>,
    /// Where the calls go.
    pub(super) stream: StreamId,
    numbers: Vec<(String, Number)>,
    queues: Option<u32>,
    device: usize,
    sites: Vec<Site>,
    /// The last line that has a site.
    furthest: u32,
    mistakes: Vec<Mistake>,
}

impl Lowering {
    fn new(has_start: bool) -> Self {
        Self {
            before: Vec::new(),
            after: Vec::new(),
            has_start,
            is_started: !has_start,
            is_stopped: false,
            is_too_long: false,
            turns: 0,
            things: Vec::new(),
            streams: Vec::new(),
            events: 0,
            blocks: 0,
            kernels: Vec::new(),
            stream: StreamId::LEGACY,
            numbers: Vec::new(),
            queues: None,
            device: 0,
            sites: Vec::new(),
            furthest: 0,
            mistakes: Vec::new(),
        }
    }

    fn finished(mut self) -> Compiled {
        let step = |call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 };
        let mut program = Program::new(1);
        let queues = self
            .queues
            .and_then(|count| WorkQueues { kernels: count, copies: count }.within_limits().call());
        program.steps.extend(queues.map(step));
        program.steps.push(step(Call::ModuleLoad));
        program.steps.extend(self.kernels.into_iter().map(step));
        program.steps.append(&mut self.before);
        if !self.has_start {
            program.steps.extend([Call::ContextSynchronize, Call::RegionBegin].map(step));
        }
        let is_waited_for =
            self.after.last().is_some_and(|last| last.call == Call::ContextSynchronize);
        program.steps.append(&mut self.after);
        if !self.is_stopped {
            program.steps.extend((!is_waited_for).then_some(step(Call::ContextSynchronize)));
            program.steps.push(step(Call::RegionEnd));
        }
        program.sites = self.sites;
        Compiled { program, streams: self.streams, device: self.device }
    }

    fn all(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.turns += 1;
            if self.turns > MOST_TURNS || self.after.len() > MOST_CALLS {
                if !self.is_too_long {
                    let text = format!(
                        "the program makes more than {MOST_CALLS} calls; repeat fewer times"
                    );
                    self.mistakes.push(Mistake::new(statement.at, text));
                }
                self.is_too_long = true;
            }
            if self.is_too_long {
                return;
            }
            if let Err(mistake) = self.statement(statement) {
                self.mistakes.push(mistake);
            }
        }
    }

    fn statement(&mut self, Statement { at, what }: &Statement) -> Lowered<()> {
        let at = *at;
        if self.is_stopped {
            return Err(Mistake::new(at, "the clock has stopped; write `stop` as the last line"));
        }
        match what {
            What::Let { name, value } => {
                let value = self.number(value)?;
                self.numbers.push((name.clone(), value));
                Ok(())
            }
            What::Repeat { count, index, body } => self.repeat(count, index, body, at),
            What::In { stream, body } => {
                let stream = self.stream_of(stream)?;
                let outside = std::mem::replace(&mut self.stream, stream);
                self.all(body);
                self.stream = outside;
                Ok(())
            }
            What::Gpu(_) | What::Queues(_) => self.machine(what),
            What::Stream { .. } | What::Event { .. } | What::Memory { .. } => {
                self.declaration(what, at)
            }
            What::Copy { way, size, memory, from, to } => {
                self.copy(*way, size.as_ref(), *memory, from.as_ref(), to.as_ref(), at)
            }
            What::Memset(name) => self.memset(name, at),
            What::Kernel(kernel) => self.kernel(kernel, at),
            What::Record(name) => self.record(name, at),
            What::Wait(name) => self.wait(name, at),
            What::Sync(name) => self.sync(name.as_ref(), at),
            What::Free(names) => names.iter().try_for_each(|name| self.free(name, at)),
            What::Work(time) => {
                let ns = self.ns(time)?;
                self.call(Call::HostWork { ns, target: None }, at);
                Ok(())
            }
            What::Host { reads, writes } => self.host(reads, writes, at),
            What::Start => self.start(at),
            What::Stop => self.stop(at),
        }
    }

    /// Sets the device that the program runs on.
    fn machine(&mut self, what: &What) -> Lowered<()> {
        match what {
            What::Gpu(device) => self.device = *device,
            What::Queues(count) => self.queues = Some(self.count(count, 1, WorkQueues::MOST)?),
            _ => {}
        }
        Ok(())
    }

    fn declaration(&mut self, what: &What, at: At) -> Lowered<()> {
        match what {
            What::Stream { names, priority, blocking } => {
                let kind = if *blocking { StreamKind::Blocking } else { StreamKind::NonBlocking };
                for name in names {
                    let call = self.new_stream(name, kind, *priority)?;
                    self.declare(call, at);
                }
            }
            What::Event { names, timed } => {
                for name in names {
                    self.is_new(name)?;
                    let timing = if *timed { Timing::Enabled } else { Timing::Disabled };
                    let (event, call) = self.new_event(timing);
                    self.put(name, Thing::Event(event))?;
                    self.declare(call, at);
                }
            }
            What::Memory { kind, names, size } => {
                let bytes = self.bytes(size)?;
                for name in names {
                    self.is_new(name)?;
                    let (buffer, calls) = match self.has_start {
                        true => self.new_buffer(*kind, bytes),
                        false => (self.set_up_buffer(*kind, bytes), Vec::new()),
                    };
                    calls.into_iter().for_each(|call| self.call(call, at));
                    self.put(name, Thing::Buffer(buffer))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn start(&mut self, at: At) -> Lowered<()> {
        if self.is_started {
            let text = "the clock has started already; write `start` once, outside of loops";
            return Err(Mistake::new(at, text));
        }
        self.set_up(Call::ContextSynchronize);
        // What is set up by later lines comes before it.
        self.is_started = true;
        self.call(Call::RegionBegin, at);
        Ok(())
    }

    fn stop(&mut self, at: At) -> Lowered<()> {
        if !self.is_started {
            return Err(Mistake::new(at, "the clock has not started; write `start` above"));
        }
        self.call(Call::RegionEnd, at);
        self.is_stopped = true;
        Ok(())
    }

    fn repeat(&mut self, count: &Sum, index: &str, body: &[Statement], at: At) -> Lowered<()> {
        let count = self.count(count, 0, MOST_TURNS)?;
        let known = self.numbers.len();
        for turn in 0..count {
            let mistakes = self.mistakes.len();
            let turn = Number::whole(turn.into()).ok_or_else(|| too_large(at))?;
            self.numbers.push((index.to_owned(), turn));
            self.all(body);
            self.numbers.truncate(known);
            // The next iteration would say the same.
            if self.mistakes.len() > mistakes {
                break;
            }
        }
        Ok(())
    }

    fn record(&mut self, name: &Name, at: At) -> Lowered<()> {
        let event = match self.thing(name)? {
            Some(Thing::Event(event)) => event,
            None | Some(Thing::Freed(_)) => {
                let (event, call) = self.new_event(Timing::Disabled);
                self.call(call, at);
                self.put(name, Thing::Event(event))?;
                event
            }
            Some(thing) => return self.other(name, thing, "another name for the event"),
        };
        self.call(Call::EventRecord { event, stream: self.stream }, at);
        Ok(())
    }

    fn wait(&mut self, name: &Name, at: At) -> Lowered<()> {
        let stream = self.stream;
        match self.thing(name)? {
            Some(Thing::Event(event)) => self.call(Call::StreamWait { stream, event }, at),
            Some(Thing::Stream(other)) => {
                let (event, create) = self.new_event(Timing::Disabled);
                self.call(create, at);
                self.call(Call::EventRecord { event, stream: other }, at);
                self.call(Call::StreamWait { stream, event }, at);
                self.call(Call::EventDestroy { event }, at);
            }
            Some(thing) => return self.other(name, thing, "the name of an event or of a stream"),
            None => return self.missing(name, "`record e` above, and then `wait e`"),
        }
        Ok(())
    }

    fn sync(&mut self, name: Option<&Name>, at: At) -> Lowered<()> {
        let all = ["all", "device", "everything"];
        let call = match name {
            None if self.stream == StreamId::LEGACY => Call::ContextSynchronize,
            None => Call::StreamSynchronize { stream: self.stream },
            Some(name) => match self.thing(name)? {
                Some(Thing::Stream(stream)) => Call::StreamSynchronize { stream },
                Some(Thing::Event(event)) => Call::EventSynchronize { event },
                Some(thing) => {
                    return self.other(name, thing, "the name of a stream or of an event");
                }
                None if all.contains(&name.word.as_str()) => Call::ContextSynchronize,
                None if name.word == "stream" => Call::StreamSynchronize { stream: self.stream },
                None if name.word == "default" => {
                    Call::StreamSynchronize { stream: StreamId::LEGACY }
                }
                None => {
                    return self
                        .missing(name, "`sync` for all, or the name of a stream or of an event");
                }
            },
        };
        self.call(call, at);
        Ok(())
    }

    /// The host uses pinned memory, as cudarc lets it: after the memory's own event.
    fn host(&mut self, reads: &[Name], writes: &[Name], at: At) -> Lowered<()> {
        let mut accesses = Vec::new();
        let mut events: Vec<EventId> = Vec::new();
        for (kind, names) in [(AccessKind::Read, reads), (AccessKind::Write, writes)] {
            for name in names {
                let buffer = self.buffer(name)?;
                match buffer.kind {
                    Memory::Device => {
                        return self.other(name, Thing::Buffer(buffer), "the name of host memory");
                    }
                    Memory::Pinned => {
                        accesses.push(Access { kind, range: buffer.range(buffer.bytes) });
                        events.push(buffer.event);
                    }
                    // Copies have finished with it when they return.
                    Memory::Pageable => {}
                }
            }
        }
        events.dedup();
        for event in events {
            self.call(Call::EventSynchronize { event }, at);
        }
        if !accesses.is_empty() {
            self.call(Call::HostAccess { accesses, extent: Extent::Whole }, at);
        }
        Ok(())
    }

    fn step(&mut self, call: Call, at: At) -> Step {
        let is_here = |it: &Site| it.line == at.line && it.column == Some(at.column);
        // Loops return to lines that are there; most lines are the last one.
        let known =
            if at.line > self.furthest { None } else { self.sites.iter().rposition(is_here) };
        let index = known.unwrap_or_else(|| {
            let (file, column) = (FILE.to_owned(), Some(at.column));
            self.sites.push(Site { file, line: at.line, column });
            self.furthest = self.furthest.max(at.line);
            self.sites.len() - 1
        });
        Step { call, site: Some(index as u32), thread: 0, gap_ns: 0, result: 0, device: 0 }
    }

    /// A call, where it stands.
    pub(super) fn call(&mut self, call: Call, at: At) {
        let step = self.step(call, at);
        if self.is_started { self.after.push(step) } else { self.before.push(step) }
    }

    /// A call that makes what is declared: before the clock starts, unless the text says where that
    /// is.
    fn declare(&mut self, call: Call, at: At) {
        if self.has_start { self.call(call, at) } else { self.set_up(call) }
    }

    /// A call before the clock starts, that stands in no line.
    pub(super) fn set_up(&mut self, call: Call) {
        self.before.push(Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 });
    }

    pub(super) fn number(&self, sum: &Sum) -> Lowered<Number> {
        match sum {
            Sum::Number(number, _) => Ok(*number),
            Sum::Named(name, at) => {
                let found = self.numbers.iter().rev().find(|(known, _)| known == name);
                found.map(|&(_, number)| number).ok_or_else(|| {
                    let text = format!("`{name}` is no number here; write `let {name} = 4` above, or use `i` inside `repeat`");
                    Mistake::new(*at, text)
                })
            }
            Sum::Of(left, sign, right, at) => {
                let value = self.number(left)?.apply(*sign, self.number(right)?);
                value.ok_or_else(|| match sign {
                    '/' | '%' => Mistake::new(*at, "this divides by zero; write another number"),
                    _ => too_large(*at),
                })
            }
        }
    }

    /// A whole number from `least` to `most`.
    pub(super) fn count(&self, sum: &Sum, least: u32, most: u32) -> Lowered<u32> {
        let number = self.number(sum)?;
        let whole = number.exact().and_then(|it| u32::try_from(it).ok());
        whole.filter(|it| (least..=most).contains(it)).ok_or_else(|| {
            let text = format!(
                "{} is no count here; write a whole number from {least} to {most}",
                number.shown()
            );
            Mistake::new(place_of(sum), text)
        })
    }

    pub(super) fn bytes(&self, amount: &Amount) -> Lowered<u64> {
        let bytes = self.number(&amount.sum)?.of(amount.unit);
        bytes.filter(|it| (1..=MOST_BYTES).contains(it)).ok_or_else(|| {
            Mistake::new(
                amount.at,
                "there is no memory of this size; write a size from 1 B to 128 GiB",
            )
        })
    }

    pub(super) fn ns(&self, amount: &Amount) -> Lowered<u64> {
        let ns = self.number(&amount.sum)?.of(amount.unit);
        ns.filter(|it| (1..=MOST_NS).contains(it)).ok_or_else(|| {
            Mistake::new(amount.at, "this is too short or too long; write a time from 1 ns to 60 s")
        })
    }
}

fn too_large(at: At) -> Mistake {
    Mistake::new(at, "this comes to a number that is too large; write smaller ones")
}

fn place_of(sum: &Sum) -> At {
    match sum {
        Sum::Number(_, at) | Sum::Named(_, at) | Sum::Of(_, _, _, at) => *at,
    }
}
