//! Stream capture and graphs.
//!
//! What is asked of a capturing stream is noted and not carried out. The rules are those of the CUDA C++
//! Programming Guide ("Creating a Graph Using Stream Capture") and of the driver API's documentation: a
//! call that would connect what is captured with what is not is refused, and makes the capture invalid.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::{Call, GraphId, GraphNode, StreamId, StreamKind};

use super::command::{Address, Command, Failure, GraphCommand, Reply, code};
use super::data::Movement;
use super::{Host, Machine};

/// `CU_STREAM_CAPTURE_MODE_RELAXED`: calls that may synchronise are permitted.
const RELAXED: u32 = 2;

/// Everything about graphs.
#[derive(Default)]
pub(super) struct Graphs {
    open: Vec<Capture>,
    captures: u32,
    /// Events that were last recorded in a capture: which, and the nodes that they stand for.
    events: BTreeMap<u64, (u32, BTreeSet<u32>)>,
    graphs: BTreeMap<u64, GraphId>,
    executables: BTreeMap<u64, GraphId>,
    /// The commands of each graph's nodes.
    commands: Vec<Vec<Command>>,
    /// The step that made each graph.
    made: Vec<u32>,
}

/// A capture that has not ended.
struct Capture {
    number: u32,
    origin: StreamId,
    relaxed: bool,
    invalid: bool,
    nodes: Vec<GraphNode>,
    commands: Vec<Command>,
    /// The streams that take part: whether each is a blocking one, and the nodes that its next
    /// operation comes after.
    streams: BTreeMap<StreamId, (bool, BTreeSet<u32>)>,
}

impl Capture {
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
    /// The commands of a graph's nodes.
    pub(super) fn commands_of(&self, graph: GraphId) -> &[Command] {
        self.commands.get(graph.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Where a node is, counted from 1: the step that made its graph, and its index in there.
    pub(super) fn node(&self, graph: GraphId, node: u32) -> Option<(u32, usize)> {
        Some((*self.made.get(graph.0 as usize)?, (node as usize).checked_sub(1)?))
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
            Some(handle) => Some(self.names.stream(handle)?),
            None => None,
        };
        if let Some(stream) = stream
            && let Some(capture) = self.graphs.of_stream(stream)
        {
            if matches!(command, Command::StreamDestroy { .. }) {
                // The capture that began there is over; another one can no longer be joined.
                capture.invalid = true;
                self.graphs.open.retain(|it| it.origin != stream);
                return Ok(None);
            }
            if capture.invalid {
                return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
            }
            return self.add_to_capture(stream, command, site).map(Some);
        }
        self.check_beside_captures(stream, command)?;
        match command {
            // The stream comes into the capture that the event was recorded in.
            Command::StreamWait { event, .. } => {
                let Some((number, nodes)) = self.graphs.events.get(event).cloned() else {
                    return Ok(None);
                };
                let Some(stream) = stream else { return Ok(None) };
                let blocking = self.is_blocking(command)?;
                let Some(capture) = self.graphs.numbered(number) else {
                    return Err(Failure::bare(code::CAPTURED_EVENT));
                };
                if capture.invalid {
                    return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
                }
                capture.streams.insert(stream, (blocking, nodes));
                Ok(Some(Reply::Done))
            }
            Command::EventRecord { event, .. } | Command::EventDestroy { event } => {
                self.graphs.events.remove(event);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn is_blocking(&self, command: &Command) -> Result<bool, Failure> {
        let handle = command.stream().unwrap_or(0);
        Ok(self.names.stream_facts(handle)?.0 == StreamKind::Blocking)
    }

    /// A call that is not for a capturing stream: is it permitted while there are captures?
    fn check_beside_captures(
        &mut self,
        stream: Option<StreamId>,
        command: &Command,
    ) -> Result<(), Failure> {
        let graphs = &mut self.graphs;
        match command {
            Command::EventQuery { event } | Command::EventSynchronize { event } => {
                if let Some(&(number, _)) = graphs.events.get(event) {
                    return Err(graphs.refuse(code::CAPTURED_EVENT, |it| it.number == number));
                }
            }
            Command::EventElapsed { start, end }
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
        if stream == Some(StreamId::LEGACY) && graphs.open.iter().any(has_blocking) {
            return Err(graphs.refuse(code::STREAM_CAPTURE_IMPLICIT, has_blocking));
        }
        let strict = |it: &Capture| !it.relaxed;
        match command {
            // The context encloses whatever is being captured.
            Command::ContextSynchronize => {
                Err(graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, |_| true))
            }
            Command::Alloc { .. }
            | Command::Free { .. }
            | Command::AllocHost { .. }
            | Command::FreeHost { .. }
            | Command::ModuleLoad { .. }
            | Command::EventQuery { .. }
                if graphs.open.iter().any(strict) =>
            {
                Err(graphs.refuse(code::STREAM_CAPTURE_UNSUPPORTED, strict))
            }
            _ => Ok(()),
        }
    }

    fn add_to_capture(
        &mut self,
        stream: StreamId,
        command: &Command,
        site: Option<u32>,
    ) -> Result<Reply, Failure> {
        match command {
            Command::EventRecord { event, .. } => {
                self.names.events.find(*event)?;
                let capture = self.graphs.of_stream(stream).expect("it is capturing");
                let entry = (capture.number, capture.streams[&stream].1.clone());
                self.graphs.events.insert(*event, entry);
            }
            Command::StreamWait { event, .. } => {
                self.names.events.find(*event)?;
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
                    None => {
                        let this = |it: &Capture| it.number == number;
                        return Err(self.graphs.refuse(code::STREAM_CAPTURE_ISOLATION, this));
                    }
                }
            }
            Command::AllocAsync { .. } | Command::FreeAsync { .. } => {
                let why =
                    "stream-ordered allocation in a stream that is being captured is not simulated";
                return Err(Failure::because(code::NOT_SUPPORTED, why.to_owned()));
            }
            Command::Copy { .. }
            | Command::Memset { .. }
            | Command::Launch { .. }
            | Command::HostFunction { .. } => self.add_node(stream, command, site)?,
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
        command: &Command,
        site: Option<u32>,
    ) -> Result<(), Failure> {
        let library = self.library.as_ref();
        let call = match self.movement(command)? {
            Some(Movement::Fault(_)) => Some(self.names.faulty_launch(command, library)?),
            _ => self.names.call(command, &Reply::Done, library)?,
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
        let invalid_handle = Failure::bare(code::INVALID_HANDLE);
        match *asked {
            GraphCommand::BeginCapture { stream: handle, mode } => {
                let stream = self.names.stream(handle)?;
                if mode > RELAXED {
                    return Err(Failure::bare(code::INVALID_VALUE));
                }
                if stream == StreamId::LEGACY {
                    return Err(Failure::bare(code::STREAM_CAPTURE_UNSUPPORTED));
                }
                if self.graphs.of_stream(stream).is_some() {
                    return Err(Failure::bare(code::ILLEGAL_STATE));
                }
                let blocking = self.names.stream_facts(handle)?.0 == StreamKind::Blocking;
                self.graphs.captures += 1;
                self.graphs.open.push(Capture {
                    number: self.graphs.captures,
                    origin: stream,
                    relaxed: mode == RELAXED,
                    invalid: false,
                    nodes: Vec::new(),
                    commands: Vec::new(),
                    streams: BTreeMap::from([(stream, (blocking, BTreeSet::new()))]),
                });
                Ok(Reply::Done)
            }
            GraphCommand::EndCapture { stream } => {
                let stream = self.names.stream(stream)?;
                self.end_capture(stream, site, host)
            }
            GraphCommand::IsCapturing { stream } => {
                let stream = self.names.stream(stream)?;
                let has_blocking = |it: &Capture| it.streams.values().any(|stream| stream.0);
                if stream == StreamId::LEGACY && self.graphs.open.iter().any(has_blocking) {
                    return Err(Failure::bare(code::STREAM_CAPTURE_IMPLICIT));
                }
                // `CUstreamCaptureStatus`: none, active, invalidated.
                let status =
                    self.graphs.of_stream(stream).map_or(0, |it| 1 + u64::from(it.invalid));
                Ok(Reply::Number(status))
            }
            GraphCommand::Instantiate { graph, flags } => {
                let found = self.graphs.graphs.get(&graph).copied().ok_or(invalid_handle)?;
                // Free on launch, upload, launch on the device, node priorities (`cuda.h`). A graph
                // that the device launches has nobody to free its memory.
                const FREE_ON_LAUNCH: u64 = 1;
                const DEVICE_LAUNCH: u64 = 4;
                let both = FREE_ON_LAUNCH | DEVICE_LAUNCH;
                if flags > 15 || flags & both == both {
                    return Err(Failure::bare(code::INVALID_VALUE));
                }
                self.make(Call::GraphInstantiate { graph: found }, site, host);
                let reply = self.new_handle();
                if let Reply::Number(handle) = reply {
                    self.graphs.executables.insert(handle, found);
                }
                Ok(reply)
            }
            GraphCommand::Launch { executable, stream } => {
                let found = self.graphs.executables.get(&executable).copied();
                let (graph, stream) = (found.ok_or(invalid_handle)?, self.names.stream(stream)?);
                self.launch_graph(graph, stream, site, host)
            }
            GraphCommand::Upload { executable, stream } => {
                self.names.stream(stream)?;
                let found = self.graphs.executables.contains_key(&executable);
                if found { Ok(Reply::Done) } else { Err(invalid_handle) }
            }
            GraphCommand::ExecDestroy { executable } => {
                self.graphs.executables.remove(&executable).ok_or(invalid_handle)?;
                Ok(Reply::Done)
            }
            GraphCommand::Destroy { graph } => {
                self.graphs.graphs.remove(&graph).ok_or(invalid_handle)?;
                Ok(Reply::Done)
            }
        }
    }

    fn end_capture(
        &mut self,
        stream: StreamId,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
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
        if capture.invalid {
            return Err(Failure::bare(code::STREAM_CAPTURE_INVALIDATED));
        }
        if !capture.is_joined() {
            return Err(Failure::bare(code::STREAM_CAPTURE_UNJOINED));
        }
        let graph = GraphId(self.graphs.commands.len() as u32);
        self.graphs.commands.push(capture.commands);
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
        graph: GraphId,
        stream: StreamId,
        site: Option<u32>,
        host: &mut dyn Host,
    ) -> Result<Reply, Failure> {
        if self.graphs.of_stream(stream).is_some() {
            let why = "a graph launched in a stream that is being captured is not simulated";
            return Err(Failure::because(code::NOT_SUPPORTED, why.to_owned()));
        }
        let legacy = stream == StreamId::LEGACY;
        let has_blocking = |it: &Capture| it.streams.values().any(|stream| stream.0);
        if legacy && self.graphs.open.iter().any(has_blocking) {
            return Err(self.graphs.refuse(code::STREAM_CAPTURE_IMPLICIT, has_blocking));
        }
        let step = self.program.steps.len() as u32;
        for (node, command) in (1..).zip(&self.graphs.commands[graph.0 as usize]) {
            if let Some(movement) = self.movement_in_graph(command) {
                self.moving.insert((step, node), movement);
            }
        }
        self.make(Call::GraphLaunch { graph, stream }, site, host);
        self.guard(None, host);
        Ok(Reply::Done)
    }

    /// What a node does to the data now. Memory that it was captured with may be gone.
    fn movement_in_graph(&self, command: &Command) -> Option<Movement> {
        let movement = self.movement(command).ok()??;
        let is_there = |address: Address, bytes: u64| match address {
            Address::Device(at) => self.names.device.range(at, bytes).is_ok(),
            Address::Pinned(at) => self.names.pinned.range(at, bytes).is_ok(),
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
