//! Stream capture and graphs.
//!
//! What is asked of a capturing stream is noted and not carried out. The rules are those of the
//! CUDA C++ Programming Guide ("Creating a Graph Using Stream Capture") and of the driver API's
//! documentation. A call that would connect what is captured with what is not is refused, and makes
//! the capture invalid.

use std::collections::{BTreeMap, BTreeSet};

use trace::hazards;
use trace::program::{Access, Call, GraphId, GraphNode, NodeAccesses, StreamId, StreamKind};

use super::command::{Command, GraphCommand};
use super::contexts::ContextCommand;
use super::data::Movement;
use super::events::EventCommand;
use super::family::Family;
use super::handles::Address;
use super::memory::MemoryCommand;
use super::reply::{Failure, Reply, code};
use super::streams::StreamCommand;
use super::work::WorkCommand;
use super::{Host, Machine, STEP_BYTES};

/// A `CUstreamCaptureMode`: how a capture, or a thread, wants to be kept from calls that may be
/// unsafe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Mode {
    #[default]
    Global,
    ThreadLocal,
    Relaxed,
}

impl Mode {
    fn of(number: u32) -> Result<Self, Failure> {
        let known = [Self::Global, Self::ThreadLocal, Self::Relaxed];
        known.get(number as usize).copied().ok_or(Failure::bare(code::INVALID_VALUE))
    }
}

/// Everything about graphs.
#[derive(Default)]
pub(super) struct Graphs {
    open: Vec<Capture>,
    captures: u32,
    /// Events that were last recorded in a capture: which, and the nodes that they stand for.
    events: BTreeMap<u64, (u32, BTreeSet<u32>)>,
    graphs: BTreeMap<u64, GraphId>,
    /// Executable copies: of which graph, and which of its copies.
    executables: BTreeMap<u64, (GraphId, u32)>,
    /// How many copies were made of each graph.
    copies: BTreeMap<GraphId, u32>,
    /// The mode of each host thread, where it is not the default.
    modes: BTreeMap<u32, Mode>,
    /// The commands of each graph's nodes.
    commands: Vec<Vec<WorkCommand>>,
    /// The step that made each graph.
    made: Vec<u32>,
    /// How often memory had come or gone when the capture of each graph began.
    memory_changes: Vec<u64>,
}

/// A capture that has not ended.
struct Capture {
    number: u32,
    origin: StreamId,
    /// The host thread that began it.
    thread: u32,
    mode: Mode,
    /// How often memory had come or gone when it began.
    memory_changes: u64,
    invalid: bool,
    nodes: Vec<GraphNode>,
    commands: Vec<WorkCommand>,
    /// The streams that take part: whether each is a blocking one, and the nodes that its next
    /// operation comes after.
    streams: BTreeMap<StreamId, (bool, BTreeSet<u32>)>,
}

impl Capture {
    /// Whether a host thread, whose own mode is `own`, must make no call meanwhile that may be
    /// unsafe (CUDA driver API, `cuThreadExchangeStreamCaptureMode`).
    fn restrains(&self, thread: u32, own: Mode) -> bool {
        match own {
            Mode::Relaxed => false,
            _ if self.thread == thread => self.mode != Mode::Relaxed,
            Mode::Global => self.mode == Mode::Global,
            Mode::ThreadLocal => false,
        }
    }

    /// Whether each node comes before the end of the stream in which the capture began.
    fn is_joined(&self) -> bool {
        let mut reached: BTreeSet<u32> = BTreeSet::new();
        let mut next: Vec<u32> = self.streams[&self.origin].1.iter().copied().collect();
        while let Some(node) = next.pop() {
            if reached.insert(node) {
                next.extend(&self.nodes[node as usize].after);
            }
        }
        reached.len() == self.nodes.len()
    }
}

impl Graphs {
    /// Whether an event was last recorded in a capture.
    pub(super) fn is_captured(&self, event: u64) -> bool {
        self.events.contains_key(&event)
    }

    /// The commands of a graph's nodes.
    pub(super) fn commands_of(&self, graph: GraphId) -> &[WorkCommand] {
        self.commands.get(graph.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Where a node is, counted from 1: the step that made its graph, and its index in there.
    pub(super) fn node(&self, graph: GraphId, node: u32) -> Option<(u32, usize)> {
        Some((*self.made.get(graph.0 as usize)?, (node as usize).checked_sub(1)?))
    }

    fn graph(&self, handle: u64) -> Result<GraphId, Failure> {
        self.graphs.get(&handle).copied().ok_or_else(no_graph)
    }

    /// An executable graph: which copy of which graph it is.
    fn executable(&self, handle: u64) -> Result<(GraphId, u32), Failure> {
        self.executables.get(&handle).copied().ok_or_else(no_graph)
    }

    /// Names the executable copy that is made of a graph now.
    fn next_copy(&mut self, graph: GraphId) -> (GraphId, u32) {
        let made = self.copies.entry(graph).or_default();
        *made += 1;
        (graph, *made - 1)
    }

    fn of_stream(&mut self, stream: StreamId) -> Option<&mut Capture> {
        self.open.iter_mut().find(|capture| capture.streams.contains_key(&stream))
    }

    fn numbered(&mut self, number: u32) -> Option<&mut Capture> {
        self.open.iter_mut().find(|capture| capture.number == number)
    }

    /// Refuses a call, and makes the captures that it was about invalid.
    fn refuse(&mut self, code: u32, concerns: impl Fn(&Capture) -> bool) -> Failure {
        for capture in self.open.iter_mut().filter(|capture| concerns(capture)) {
            capture.invalid = true;
        }
        Failure::bare(code)
    }
}

/// The failure of a call about a graph that is not there. The codes of these calls know no invalid
/// handle (CUDA driver API, graph management).
fn no_graph() -> Failure {
    Failure::bare(code::INVALID_VALUE)
}

impl Machine {
    /// Takes a command up into a capture, if it is for one; none if it is to be carried out.
    pub(super) fn capture(
        &mut self,
        command: &Command,
        site: Option<u32>,
    ) -> Result<Option<Reply>, Failure> {
        if self.graphs.open.is_empty() && self.graphs.events.is_empty() {
            return Ok(None);
        }
        let stream = match command.stream() {
            Some(handle) => Some(self.handles.stream(handle)?),
            None => None,
        };
        if let Some(stream) = stream
            && let Some(capture) = self.graphs.of_stream(stream)
        {
            if matches!(command, Command::Stream(StreamCommand::Destroy { .. })) {
                // The capture that began there is over; another one can no longer be joined.
                capture.invalid = true;
                self.graphs.open.retain(|it| it.origin != stream);
                return Ok(None);
            }
            if capture.invalid {
                return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
            }
            self.left_behind += STEP_BYTES;
            return self.add_to_capture(stream, command, site).map(Some);
        }
        self.check_beside_captures(stream, command)?;
        match command {
            // The stream comes into the capture that the event was recorded in.
            Command::Stream(StreamCommand::Wait { event, .. }) => {
                let Some((number, nodes)) = self.graphs.events.get(event).cloned() else {
                    return Ok(None);
                };
                let Some(stream) = stream else { return Ok(None) };
                let blocking = self.is_blocking(command)?;
                // Once that has ended, the event stands for nothing that could be waited for.
                let Some(capture) = self.graphs.numbered(number) else {
                    return Err(Failure::bare(code::INVALID_VALUE));
                };
                if capture.invalid {
                    return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
                }
                capture.streams.insert(stream, (blocking, nodes));
                Ok(Some(Reply::Done))
            }
            Command::Event(
                EventCommand::Record { event, .. } | EventCommand::Destroy { event },
            ) => {
                self.graphs.events.remove(event);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn is_blocking(&self, command: &Command) -> Result<bool, Failure> {
        let handle = command.stream().unwrap_or(0);
        Ok(self.handles.stream_facts(handle)?.0 == StreamKind::Blocking)
    }

    /// A call that is not for a capturing stream: is it permitted while there are captures?
    fn check_beside_captures(
        &mut self,
        stream: Option<StreamId>,
        command: &Command,
    ) -> Result<(), Failure> {
        let graphs = &mut self.graphs;
        match command {
            Command::Event(EventCommand::Query { event } | EventCommand::Synchronize { event }) => {
                if let Some(&(number, _)) = graphs.events.get(event) {
                    return Err(graphs.refuse(code::CAPTURED_EVENT, |it| it.number == number));
                }
            }
            Command::Event(EventCommand::Elapsed { start, end })
                if [start, end].iter().any(|event| graphs.events.contains_key(event)) =>
            {
                return Err(Failure::bare(code::CAPTURED_EVENT));
            }
            _ => {}
        }
        if graphs.open.is_empty() {
            return Ok(());
        }
        let has_blocking = |it: &Capture| it.streams.values().any(|stream| stream.0);
        if stream.is_some_and(StreamId::is_legacy) && graphs.open.iter().any(has_blocking) {
            return Err(graphs.refuse(code::STREAM_CAPTURE_IMPLICIT, has_blocking));
        }
        match command {
            // The context encloses whatever is being captured.
            Command::Context(ContextCommand::Synchronize) => {
                Err(graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, |_| true))
            }
            Command::Memory(
                MemoryCommand::Alloc { .. }
                | MemoryCommand::Free { .. }
                | MemoryCommand::AllocHost { .. }
                | MemoryCommand::FreeHost { .. },
            )
            | Command::Event(EventCommand::Query { .. }) => self.check_unsafe(),
            _ => Ok(()),
        }
    }

    /// A call that may be unsafe during a capture: is it permitted?
    fn check_unsafe(&mut self) -> Result<(), Failure> {
        let thread = self.threads.running();
        let own = self.graphs.modes.get(&thread).copied().unwrap_or_default();
        let strict = |it: &Capture| it.restrains(thread, own);
        if self.graphs.open.iter().any(strict) {
            return Err(self.graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, strict));
        }
        Ok(())
    }

    fn add_to_capture(
        &mut self,
        stream: StreamId,
        command: &Command,
        site: Option<u32>,
    ) -> Result<Reply, Failure> {
        match command {
            Command::Event(EventCommand::Record { event, .. }) => {
                self.handles.events.find(*event)?;
                let capture = self.graphs.of_stream(stream).expect("it is capturing");
                let entry = (capture.number, capture.streams[&stream].1.clone());
                self.graphs.events.insert(*event, entry);
            }
            Command::Stream(StreamCommand::Wait { event, .. }) => {
                self.handles.events.find(*event)?;
                let recorded = self.graphs.events.get(event).cloned();
                let number = self.graphs.of_stream(stream).expect("it is capturing").number;
                match recorded {
                    Some((other, nodes)) if other == number => {
                        let capture = self.graphs.of_stream(stream).expect("it is capturing");
                        let stream = capture.streams.get_mut(&stream).expect("it takes part");
                        stream.1.extend(nodes);
                    }
                    Some((other, _)) => {
                        let both = |it: &Capture| it.number == number || it.number == other;
                        return Err(self.graphs.refuse(code::STREAM_CAPTURE_MERGE, both));
                    }
                    // An event that was never recorded is nothing to wait for.
                    None if !self.handles.events.facts(*event)?.1 => {}
                    None => {
                        let this = |it: &Capture| it.number == number;
                        return Err(self.graphs.refuse(code::STREAM_CAPTURE_ISOLATION, this));
                    }
                }
            }
            Command::Memory(MemoryCommand::AllocAsync { .. } | MemoryCommand::FreeAsync { .. }) => {
                let why =
                    "stream-ordered allocation in a stream that is being captured is not simulated";
                return Err(Failure::because(code::NOT_SUPPORTED, why.to_owned()));
            }
            Command::Work(work) => self.add_node(stream, work, site)?,
            // Synchronise, query.
            _ => {
                let this = |it: &Capture| it.streams.contains_key(&stream);
                return Err(self.graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, this));
            }
        }
        Ok(Reply::Done)
    }

    fn add_node(
        &mut self,
        stream: StreamId,
        command: &WorkCommand,
        site: Option<u32>,
    ) -> Result<(), Failure> {
        let library = self.library.as_ref();
        let call = match self.movement(command)? {
            Movement::Fault(_) => Some(self.handles.faulty_launch(command, library)?),
            _ => command.call(&mut self.handles, &Reply::Done, library)?,
        };
        // A copy of nothing is nothing.
        let Some(call) = call else { return Ok(()) };
        if let Call::Launch(launch) = &call
            && !self.device.fits(launch)
        {
            return Err(Failure::bare(code::LAUNCH_OUT_OF_RESOURCES));
        }
        let capture = self.graphs.of_stream(stream).expect("it is capturing");
        let node = capture.nodes.len() as u32;
        let before = &mut capture.streams.get_mut(&stream).expect("it takes part").1;
        let after = std::mem::replace(before, BTreeSet::from([node]));
        capture.nodes.push(GraphNode { call, after: after.into_iter().collect(), site });
        capture.commands.push(command.clone());
        Ok(())
    }

    /// Answers a call that is about capture or graphs.
    pub(super) fn graph(
        &mut self,
        asked: &GraphCommand,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        match *asked {
            GraphCommand::BeginCapture { stream, mode } => self.begin_capture(stream, mode),
            GraphCommand::EndCapture { stream } => {
                let stream = self.handles.stream(stream)?;
                self.end_capture(stream, site, host)
            }
            GraphCommand::IsCapturing { stream } => {
                let stream = self.handles.stream(stream)?;
                self.is_capturing(stream)
            }
            GraphCommand::ExchangeMode { mode } => {
                let new = Mode::of(mode)?;
                let before = self.graphs.modes.insert(self.threads.running(), new);
                Ok(Reply::Number(before.unwrap_or_default() as u64))
            }
            GraphCommand::External { event, stream } => self.external(event, stream),
            GraphCommand::Instantiate { graph, flags } => {
                let graph = self.graphs.graph(graph)?;
                self.instantiate(graph, flags, site, host)
            }
            GraphCommand::Update { executable, graph } => {
                let updated = self.graphs.executable(executable)?;
                let graph = self.graphs.graph(graph)?;
                if !self.is_alike(updated.0, graph) {
                    return Err(Failure::bare(code::GRAPH_EXEC_UPDATE_FAILURE));
                }
                let updates = Some(updated);
                self.make(Call::GraphInstantiate { graph, updates }, site, host);
                let copy = self.graphs.next_copy(graph);
                self.graphs.executables.insert(executable, copy);
                Ok(Reply::Done)
            }
            GraphCommand::Launch { executable, stream } => {
                let (which, stream) =
                    (self.graphs.executable(executable)?, self.handles.stream(stream)?);
                self.launch_graph(which, stream, site, host)
            }
            GraphCommand::Upload { executable, stream } => {
                self.handles.stream(stream)?;
                self.graphs.executable(executable).map(|_| Reply::Done)
            }
            GraphCommand::ExecDestroy { executable } => {
                self.check_unsafe()?;
                self.graphs.executables.remove(&executable).ok_or_else(no_graph)?;
                Ok(Reply::Done)
            }
            GraphCommand::Destroy { graph } => {
                self.graphs.graphs.remove(&graph).ok_or_else(no_graph)?;
                Ok(Reply::Done)
            }
        }
    }

    fn begin_capture(&mut self, handle: u64, mode: u32) -> Result<Reply, Failure> {
        let (stream, mode) = (self.handles.stream(handle)?, Mode::of(mode)?);
        if stream.is_legacy() {
            return Err(Failure::bare(code::STREAM_CAPTURE_UNSUPPORTED));
        }
        if self.graphs.of_stream(stream).is_some() {
            return Err(Failure::bare(code::ILLEGAL_STATE));
        }
        let blocking = self.handles.stream_facts(handle)?.0 == StreamKind::Blocking;
        self.graphs.captures += 1;
        self.graphs.open.push(Capture {
            number: self.graphs.captures,
            origin: stream,
            thread: self.threads.running(),
            mode,
            memory_changes: self.handles.memory_changes,
            invalid: false,
            nodes: Vec::new(),
            commands: Vec::new(),
            streams: BTreeMap::from([(stream, (blocking, BTreeSet::new()))]),
        });
        Ok(Reply::Done)
    }

    fn is_capturing(&mut self, stream: StreamId) -> Result<Reply, Failure> {
        let has_blocking = |it: &Capture| it.streams.values().any(|stream| stream.0);
        if stream.is_legacy() && self.graphs.open.iter().any(has_blocking) {
            return Err(Failure::bare(code::STREAM_CAPTURE_IMPLICIT));
        }
        // `CUstreamCaptureStatus`: none, active, invalidated.
        let status = self.graphs.of_stream(stream).map_or(0, |it| 1 + u64::from(it.invalid));
        Ok(Reply::Number(status))
    }

    fn external(&mut self, event: u64, stream: u64) -> Result<Reply, Failure> {
        let stream = self.handles.stream(stream)?;
        self.handles.events.find(event)?;
        match self.graphs.of_stream(stream) {
            // The flag is for captures alone (`cuda.h`, `CUevent_record_flags`).
            None => Err(Failure::bare(code::ILLEGAL_STATE)),
            Some(it) if it.invalid => Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED)),
            Some(_) => {
                let why = "an external event in a capture is not simulated";
                Err(Failure::because(code::NOT_SUPPORTED, why.to_owned()))
            }
        }
    }

    fn instantiate(
        &mut self,
        graph: GraphId,
        flags: u64,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        // Free on launch, upload, launch on the device, node priorities (`cuda.h`). Nothing frees
        // the memory of a graph that the device launches.
        const FREE_ON_LAUNCH: u64 = 1;
        const DEVICE_LAUNCH: u64 = 4;
        let both = FREE_ON_LAUNCH | DEVICE_LAUNCH;
        if flags > 15 || flags & both == both {
            return Err(Failure::bare(code::INVALID_VALUE));
        }
        self.make(Call::GraphInstantiate { graph, updates: None }, site, host);
        let reply = self.new_handle();
        let copy = self.graphs.next_copy(graph);
        self.graphs.executables.insert(reply.number()?, copy);
        Ok(reply)
    }

    fn end_capture(
        &mut self,
        stream: StreamId,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        let thread = self.threads.running();
        let Some(capture) = self.graphs.of_stream(stream) else {
            return Err(Failure::bare(code::ILLEGAL_STATE));
        };
        if capture.origin != stream {
            capture.invalid = true;
            return Err(Failure::bare(code::STREAM_CAPTURE_UNMATCHED));
        }
        let number = capture.number;
        let index = self.graphs.open.iter().position(|it| it.number == number);
        let capture = self.graphs.open.remove(index.expect("it has just been found"));
        // Another thread gets no graph, but the capture is over: the thread that began it finds
        // none.
        if capture.thread != thread && capture.mode != Mode::Relaxed {
            return Err(Failure::bare(code::STREAM_CAPTURE_WRONG_THREAD));
        }
        if capture.invalid {
            return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
        }
        if !capture.is_joined() {
            return Err(Failure::bare(code::STREAM_CAPTURE_UNJOINED));
        }
        let graph = GraphId(self.graphs.commands.len() as u32);
        self.graphs.commands.push(capture.commands);
        self.graphs.memory_changes.push(capture.memory_changes);
        self.graphs.made.push(self.program.steps.len() as u32);
        self.make(Call::GraphCreate { graph, nodes: capture.nodes }, site, host);
        let reply = self.new_handle();
        if let Reply::Number(handle) = reply {
            self.graphs.graphs.insert(handle, graph);
        }
        Ok(reply)
    }

    fn launch_graph(
        &mut self,
        (graph, copy): (GraphId, u32),
        stream: StreamId,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        if let Some(number) = self.graphs.of_stream(stream).map(|capture| capture.number) {
            // Seen on an H200 with driver 580 (microsoft/onnxruntime, pull request 32081).
            let this = |it: &Capture| it.number == number;
            return Err(self.graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, this));
        }
        let legacy = stream.is_legacy();
        let has_blocking = |it: &Capture| it.streams.values().any(|stream| stream.0);
        if legacy && self.graphs.open.iter().any(has_blocking) {
            return Err(self.graphs.refuse(code::STREAM_CAPTURE_IMPLICIT, has_blocking));
        }
        let asked_ns = self.device.asked_ns().saturating_add(self.device.graph_ns(graph));
        if asked_ns > super::region::LAST_NS {
            return Err(super::takes_too_long());
        }
        let step = self.program.steps.len() as u32;
        self.left_behind += STEP_BYTES * self.graphs.commands[graph.0 as usize].len() as u64;
        for (node, command) in (1..).zip(&self.graphs.commands[graph.0 as usize]) {
            if let Some(movement) = self.movement_in_graph(command) {
                self.moving.insert((step, node), movement);
            }
        }
        let accesses = self.uses_now(graph);
        self.make(Call::GraphLaunch { graph, copy, stream, accesses }, site, host);
        self.guard(None, host);
        Ok(Reply::Done)
    }

    /// Whether an executable copy of one graph can be made one of the other: both have the same
    /// kinds of nodes, in the same order (CUDA driver API, `cuGraphExecUpdate`). A copy may get
    /// another size, and not another direction (H200, driver 580.159.04, 2026-11-27).
    fn is_alike(&self, graph: GraphId, other: GraphId) -> bool {
        let nodes = |graph: GraphId| {
            let made = *self.graphs.made.get(graph.0 as usize)?;
            match &self.program.steps.get(made as usize)?.call {
                Call::GraphCreate { nodes, .. } => Some(nodes),
                _ => None,
            }
        };
        let (Some(own), Some(others)) = (nodes(graph), nodes(other)) else { return false };
        let kind = |call: &Call| (std::mem::discriminant(call), call.direction());
        own.len() == others.len()
            && own
                .iter()
                .zip(others)
                .all(|(a, b)| a.after == b.after && kind(&a.call) == kind(&b.call))
    }

    /// The nodes of a graph that use other memory now than when they were captured: a kernel goes
    /// where its arguments point, and what is there may have come since.
    fn uses_now(&self, graph: GraphId) -> Vec<NodeAccesses> {
        let known = graph.0 as usize;
        let Some(&made) = self.graphs.made.get(known) else { return Vec::new() };
        let Some(Call::GraphCreate { nodes, .. }) =
            self.program.steps.get(made as usize).map(|step| &step.call)
        else {
            return Vec::new();
        };
        if self.graphs.memory_changes[known] == self.handles.memory_changes {
            return Vec::new();
        }
        let mut moved = Vec::new();
        for ((node, captured), command) in (1..).zip(nodes).zip(&self.graphs.commands[known]) {
            let Some(accesses) = self.handles.uses(command, self.library.as_ref()) else {
                continue;
            };
            let mut before = Vec::new();
            hazards::accesses(&captured.call, |kind, range| before.push(Access { kind, range }));
            if accesses != before {
                moved.push(NodeAccesses { node, accesses });
            }
        }
        moved
    }

    /// The movement of data by a node, as things are now. Memory that it was captured with may be
    /// gone.
    fn movement_in_graph(&self, command: &WorkCommand) -> Option<Movement> {
        let Ok(movement) = self.movement(command) else {
            let why = "a graph was launched after the module of its kernel had been unloaded";
            let fault = Failure::because(code::ILLEGAL_ADDRESS, why.to_owned());
            return Some(Movement::Fault(fault));
        };
        let is_there = |address: Address, bytes: u64| match address {
            Address::Device(at) => self.handles.device.range(at, bytes).is_ok(),
            Address::Pinned(at) => self.handles.pinned.range(at, bytes).is_ok(),
            Address::Pageable(_) => true,
        };
        let all_there = match movement {
            Movement::Copy { source, target, bytes, .. } => {
                is_there(source, bytes) && is_there(target, bytes)
            }
            Movement::Memset { target, width, count, .. } => {
                is_there(Address::Device(target), count * u64::from(width))
            }
            _ => true,
        };
        if all_there {
            return Some(movement);
        }
        let why = "a graph was launched after memory that it uses had been freed".to_owned();
        Some(Movement::Fault(Failure::because(code::ILLEGAL_ADDRESS, why)))
    }
}
