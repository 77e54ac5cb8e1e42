//! Graphs that are built again though they are there already.

use std::collections::BTreeMap;

use crate::program::{Call, GraphId, GraphNode, Program};

use super::region::region;

/// So many graphs are compared with each: buffers that are used in turn, with a graph for each, are
/// fewer.
const MOST_SLOTS: usize = 8;

/// Graphs that the region builds of the same calls on the same memory as an earlier one, and that
/// one.
pub fn rebuilt(program: &Program) -> BTreeMap<GraphId, GraphId> {
    let mut known: Vec<(GraphId, &[GraphNode])> = Vec::new();
    let mut again = BTreeMap::new();
    for step in &program.steps[region(program)] {
        let Call::GraphCreate { graph, nodes } = &step.call else { continue };
        match known.iter().rev().take(MOST_SLOTS).find(|(_, others)| others == nodes) {
            Some((first, _)) => drop(again.insert(*graph, *first)),
            None => known.push((*graph, nodes)),
        }
    }
    again
}
