//! Graphs: many operations for the cost of one call, and with shorter gaps between kernels.
//!
//! A launch comes after what its stream holds, and what the stream is given later comes after all
//! of it. Inside, only the graph's own edges count: its nodes keep the streams that they were
//! captured in for their spans and priorities, but not for their order. They take no room in a
//! stream and pass through no work queue. Launches of one executable copy take turns, whatever
//! their streams; those of two copies do not. On an H200 two copies of ten kernels of 20 µs took
//! 209 µs on two streams, one copy launched twice 416 µs (driver 580.159.04, 2026-11-23).

use std::sync::Arc;

use trace::program::{Call, GraphId, GraphNode, Launch, Place, StreamId};

use super::{Device, OperationId, Work, slot};

/// Cost of a graph's update to the host, with what it adds to the next launch, as a part of what
/// instantiating costs. In CUDA C++ 20 kernels with other pointers took 3.6 and 1.6 of 37 µs, 200
/// kernels 36 and 18 of 344 µs (H200, driver 580.159.04, 2026-11-27; an H100 the same within 1 µs).
const UPDATE_PERMILLE: u64 = 150;

/// A graph as it was captured.
#[derive(Clone, Default)]
pub(super) struct Graph {
    nodes: Arc<[Node]>,
    /// The end of the last launch of each of its executable copies.
    launched: Vec<Option<OperationId>>,
}

struct Node {
    /// The stream that it was captured in.
    stream: StreamId,
    work: Work,
    /// Where it reads, if it is a copy.
    source: Place,
    after: Vec<u32>,
}

impl Device {
    pub(super) fn create_graph(&mut self, graph: GraphId, nodes: &[GraphNode]) {
        if !cfg!(feature = "graphs") {
            return;
        }
        let node = |node: &GraphNode| {
            let (stream, work) = self.node_work(&node.call);
            let source = match &node.call {
                Call::Copy { source, .. } => *source,
                _ => Place::Pageable,
            };
            Node { stream, work, source, after: node.after.clone() }
        };
        let nodes = nodes.iter().map(node).collect();
        *slot(&mut self.graphs, graph.0) = Graph { nodes, launched: Vec::new() };
    }

    /// Makes the next executable copy of a graph, or makes it of a copy of another graph. An
    /// updated copy is on the device, and takes turns with what was launched of it before. Gives
    /// what it costs the host, in ns.
    pub(super) fn instantiate_graph(
        &mut self,
        graph: GraphId,
        updates: Option<(GraphId, u32)>,
    ) -> u64 {
        if !cfg!(feature = "graphs") {
            return 0;
        }
        let updated = updates.and_then(|(other, copy)| {
            *self.graphs.get(other.0 as usize)?.launched.get(copy as usize)?
        });
        let known = slot(&mut self.graphs, graph.0);
        known.launched.push(updated);
        let (host, nodes) = (&self.profile.host, known.nodes.len() as u64);
        let whole = host.graph_instantiate_ns.value + nodes * host.graph_instantiate_node_ns.value;
        if updates.is_some() { whole * UPDATE_PERMILLE / 1000 } else { whole }
    }

    /// Cost of a launch to the host, in ns. The first of an executable copy takes its nodes to the
    /// device.
    pub(super) fn graph_launch_ns(&self, graph: GraphId, copy: u32) -> u64 {
        let host = &self.profile.host;
        let Some(known) = self.graphs.get(graph.0 as usize) else {
            return host.graph_launch_ns.value;
        };
        let is_copy = |node: &&Node| matches!(node.work, Work::Transfer { .. });
        let copies = known.nodes.iter().filter(is_copy).count() as u64;
        let is_first = !matches!(known.launched.get(copy as usize), Some(Some(_)));
        let uploaded = if is_first { known.nodes.len() as u64 } else { 0 };
        host.graph_launch_ns.value
            + copies * host.graph_copy_ns.value
            + uploaded * host.graph_upload_node_ns.value
    }

    /// Time of a graph's nodes, each alone, together, in ns.
    pub(crate) fn graph_ns(&self, graph: GraphId) -> u64 {
        let nodes = self.graphs.get(graph.0 as usize).into_iter().flat_map(|it| it.nodes.iter());
        nodes.fold(0, |sum: u64, node| sum.saturating_add(node.work.alone_ns()))
    }

    /// Queues all of a graph.
    pub(super) fn launch_graph(
        &mut self,
        step: u32,
        (graph, copy): (GraphId, u32),
        stream: StreamId,
        visible_ns: u64,
    ) {
        if !cfg!(feature = "graphs") {
            return;
        }
        let Some(known) = self.graphs.get_mut(graph.0 as usize) else { return };
        let (nodes, before) = (Arc::clone(&known.nodes), *slot(&mut known.launched, copy));
        let first = self.submit(step, stream, Work::Marker, visible_ns, before);
        let mut ids: Vec<OperationId> = Vec::with_capacity(nodes.len());
        let mut leaves = vec![true; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let work = self.out_of_cache(node.work, &node.source);
            let mut work = self.scheduled(work, step);
            let is_kernel = |&before: &u32| {
                nodes.get(before as usize).is_some_and(|it| matches!(it.work, Work::Kernel { .. }))
            };
            if let Work::Kernel { grid, .. } = &mut work
                && node.after.iter().any(is_kernel)
            {
                grid.save(self.profile.gaps.graph_saved_ns.value);
            }
            let id = self.add(step, index as u32 + 1, node.stream, work, visible_ns);
            self.depend(first, id);
            if let Some(&before) = ids.last().filter(|_| self.is_in_order()) {
                self.depend(before, id);
            }
            for &before in &node.after {
                // A node comes after those before it only, so a graph has no cycles.
                if let Some(&before_id) = ids.get(before as usize) {
                    leaves[before as usize] = false;
                    self.depend(before_id, id);
                }
            }
            self.enqueue(id);
            ids.push(id);
        }
        let last = self.add(step, 0, stream, Work::Marker, visible_ns);
        self.depend(first, last);
        for (&id, _) in ids.iter().zip(&leaves).filter(|(_, leaf)| **leaf) {
            self.depend(id, last);
        }
        self.streams[stream].tail = Some(last);
        if let Some(graph) = self.graphs.get_mut(graph.0 as usize) {
            *slot(&mut graph.launched, copy) = Some(last);
        }
        self.enqueue(last);
    }

    /// Whether a block of a launch fits on a multiprocessor.
    pub(crate) fn fits(&self, launch: &Launch) -> bool {
        self.kernel_work(launch).is_some()
    }

    /// Work of a node, and the stream that it was captured in. A kernel that cannot be launched
    /// does nothing: the launch that was captured has been refused.
    fn node_work(&self, call: &Call) -> (StreamId, Work) {
        match call {
            Call::Launch(launch) => {
                (launch.stream, self.kernel_work(launch).unwrap_or(Work::Marker))
            }
            Call::Copy { stream, mode, source, target, bytes } => {
                let direction = call.direction().expect("a copy has a direction");
                (*stream, self.copy(*stream, (direction, *mode), (source, target), *bytes).work)
            }
            Call::Memset { stream, target, .. } => (*stream, self.memset_work(*target)),
            Call::HostFunction { stream, .. } => (*stream, Work::HostFunction),
            _ => (StreamId::LEGACY, Work::Marker),
        }
    }
}
