//! Graphs on a GPU: what was captured, as far as the calls tell that the driver took.
//!
//! The driver has judged each call already, so there is nothing to refuse here: a capture holds
//! what was asked of its streams, and becomes the graph that the simulated device would have made
//! of it.

use std::collections::{BTreeMap, BTreeSet};

use simulator::machine::{Command, EventCommand, GraphCommand, StreamCommand, code};
use trace::program::{Call, GraphId, GraphNode, StreamId};

use crate::cuda::{CUresult, Handle};

/// All graphs of a run, and what is being captured.
#[derive(Default)]
pub(super) struct Graphs {
    open: Vec<Capture>,
    captures: u32,
    /// Events that were last recorded in a capture: which, and the nodes that they stand for.
    events: BTreeMap<Handle, (u32, BTreeSet<u32>)>,
    graphs: BTreeMap<Handle, GraphId>,
    /// Executable copies: of which graph, and which of its copies.
    executables: BTreeMap<Handle, (GraphId, u32)>,
    /// How many copies were made of each graph.
    copies: BTreeMap<GraphId, u32>,
    made: u32,
}

struct Capture {
    number: u32,
    origin: Handle,
    nodes: Vec<GraphNode>,
    /// The streams that take part, and the nodes that the next operation of each comes after.
    streams: BTreeMap<Handle, BTreeSet<u32>>,
}

/// The meaning of a call for graphs.
pub(super) enum Meaning {
    /// Nothing.
    Unrelated,
    /// It issued no work, and is no step.
    Noted,
    /// It did something that a program cannot say.
    Unknown(&'static str),
    /// It is this step.
    Step(Call),
    /// It is a node of what this stream captures.
    Node(Handle),
}

impl Graphs {
    /// Whether no stream captures, and no event stands for something captured.
    pub(super) fn capture_nothing(&self) -> bool {
        self.open.is_empty() && self.events.is_empty()
    }

    /// Follows a call; `given` is the handle that it gave.
    pub(super) fn follow(
        &mut self,
        command: &Command,
        given: Handle,
        result: CUresult,
        stream_named: impl Fn(Handle) -> Option<StreamId>,
    ) -> Meaning {
        if let Command::Graph(asked) = command {
            return self.graph(asked, given, result, stream_named);
        }
        if result != code::SUCCESS || self.capture_nothing() {
            return Meaning::Unrelated;
        }
        let stream = command.stream();
        let capturing = stream.filter(|&stream| self.capture(stream).is_some());
        match (command, capturing) {
            (Command::Event(EventCommand::Record { event, .. }), Some(stream)) => {
                if let Some(capture) = self.capture(stream) {
                    let entry = (capture.number, capture.streams[&stream].clone());
                    self.events.insert(*event, entry);
                }
                Meaning::Noted
            }
            (Command::Stream(StreamCommand::Wait { event, .. }), _) => {
                let Some((number, nodes)) = self.events.get(event).cloned() else {
                    return if capturing.is_some() { Meaning::Noted } else { Meaning::Unrelated };
                };
                let capture = self.open.iter_mut().find(|capture| capture.number == number);
                if let (Some(capture), Some(stream)) = (capture, stream) {
                    capture.streams.entry(stream).or_default().extend(nodes);
                }
                Meaning::Noted
            }
            (
                Command::Event(
                    EventCommand::Record { event, .. } | EventCommand::Destroy { event },
                ),
                None,
            ) => {
                self.events.remove(event);
                Meaning::Unrelated
            }
            // The capture that began there is over, and the next stream may get the same handle.
            (Command::Stream(StreamCommand::Destroy { .. }), Some(stream)) => {
                self.open.retain(|capture| capture.origin != stream);
                for capture in &mut self.open {
                    capture.streams.remove(&stream);
                }
                Meaning::Unrelated
            }
            (Command::Work(_), Some(stream)) => Meaning::Node(stream),
            _ => Meaning::Unrelated,
        }
    }

    fn capture(&mut self, stream: Handle) -> Option<&mut Capture> {
        self.open.iter_mut().find(|capture| capture.streams.contains_key(&stream))
    }

    /// Adds a node to what a stream captures.
    pub(super) fn add(&mut self, stream: Handle, call: Call, site: Option<u32>) {
        let Some(capture) = self.capture(stream) else { return };
        let node = capture.nodes.len() as u32;
        let before = capture.streams.insert(stream, BTreeSet::from([node])).unwrap_or_default();
        capture.nodes.push(GraphNode { call, after: before.into_iter().collect(), site });
    }

    /// Names the executable copy that is made of a graph now.
    fn next_copy(&mut self, graph: GraphId) -> (GraphId, u32) {
        let made = self.copies.entry(graph).or_default();
        *made += 1;
        (graph, *made - 1)
    }

    fn graph(
        &mut self,
        asked: &GraphCommand,
        given: Handle,
        result: CUresult,
        stream_named: impl Fn(Handle) -> Option<StreamId>,
    ) -> Meaning {
        let succeeded = result == code::SUCCESS;
        match *asked {
            GraphCommand::BeginCapture { stream, .. } if succeeded => {
                self.captures += 1;
                self.open.push(Capture {
                    number: self.captures,
                    origin: stream,
                    nodes: Vec::new(),
                    streams: BTreeMap::from([(stream, BTreeSet::new())]),
                });
            }
            GraphCommand::EndCapture { stream } => {
                let ended = self.open.iter().position(|capture| capture.origin == stream);
                let capture = ended.map(|index| self.open.remove(index));
                if let Some(capture) = capture.filter(|_| succeeded) {
                    let graph = GraphId(self.made);
                    self.made += 1;
                    self.graphs.insert(given, graph);
                    return Meaning::Step(Call::GraphCreate { graph, nodes: capture.nodes });
                }
            }
            GraphCommand::External { .. } if succeeded => {
                return Meaning::Unknown("an external event in a capture");
            }
            GraphCommand::Instantiate { graph, .. } if succeeded => {
                if let Some(&graph) = self.graphs.get(&graph) {
                    let copy = self.next_copy(graph);
                    self.executables.insert(given, copy);
                    return Meaning::Step(Call::GraphInstantiate { graph, updates: None });
                }
            }
            GraphCommand::Update { executable, graph } if succeeded => {
                let updates = self.executables.get(&executable).copied();
                if let (Some(_), Some(&graph)) = (updates, self.graphs.get(&graph)) {
                    let copy = self.next_copy(graph);
                    self.executables.insert(executable, copy);
                    return Meaning::Step(Call::GraphInstantiate { graph, updates });
                }
            }
            GraphCommand::Launch { executable, stream } if succeeded => {
                if let (Some(&(graph, copy)), Some(stream)) =
                    (self.executables.get(&executable), stream_named(stream))
                {
                    return Meaning::Step(Call::GraphLaunch {
                        graph,
                        copy,
                        stream,
                        accesses: Vec::new(),
                    });
                }
            }
            _ => {}
        }
        Meaning::Noted
    }
}
