//! Inside a graph: which of its nodes use the same memory with nothing between them.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::program::{AccessKind, BlockId, Call, GraphNode, NodeAccesses, Range};

use super::clock::Clock;
use super::happens_before::{Epoch, Mark};
use super::memory::{Block, Conflict};
use super::model::Kind;
use super::uses::accesses_of_node;

/// A graph, as far as the calls gone through so far say.
pub(super) struct Graph<'a> {
    pub(super) nodes: &'a [GraphNode],
    /// How many executable copies were made of it.
    pub(super) copies: u32,
    /// With which memory it was launched when it was last said what is wrong inside it.
    told: Option<&'a [NodeAccesses]>,
    /// The effort of the last launch, in entries of clocks and pieces of memory.
    pub(super) effort: u64,
}

/// Two nodes that nothing orders, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) kind: Kind,
    pub(super) overlap: Range,
}

/// The nodes that one node comes after, by chains: each node of a chain comes after the one before.
/// As vector clocks of streams, with a chain for a stream.
struct Chains {
    /// By node.
    clocks: Vec<Clock>,
    epochs: Vec<Epoch>,
}

/// The most entries that the clocks of a graph's nodes may have in all: 200 MB.
const MOST_ENTRIES: u64 = 50_000_000;

impl Chains {
    /// None where the graph goes apart so far that this takes more memory than it is worth.
    fn of(nodes: &[GraphNode]) -> Option<Self> {
        let mut entries = 0;
        let mut ends: Vec<u32> = Vec::new(); // by chain, its last node so far
        let mut it = Self { clocks: Vec::new(), epochs: Vec::with_capacity(nodes.len()) };
        for (node, GraphNode { after, .. }) in (0u32..).zip(nodes) {
            let mut clock = Clock::default();
            let mut chain = None;
            for &before in after.iter().filter(|&&before| before < node) {
                let Epoch { slot, count } = it.epochs[before as usize];
                clock.join(&it.clocks[before as usize]);
                clock.raise(slot, count);
                chain = chain.or_else(|| (ends[slot as usize] == before).then_some(slot));
            }
            let slot = chain.unwrap_or_else(|| {
                ends.push(node);
                ends.len() as u32 - 1
            });
            ends[slot as usize] = node;
            entries += clock.width() as u64;
            if entries > MOST_ENTRIES {
                return None;
            }
            it.epochs.push(Epoch { slot, count: clock.of(slot) + 1 });
            it.clocks.push(clock);
        }
        Some(it)
    }
}

impl<'a> Graph<'a> {
    pub(super) fn new(nodes: &'a [GraphNode]) -> Self {
        Self { nodes, copies: 0, told: None, effort: 0 }
    }

    /// Finds what is wrong inside it when it is launched, where that has not been said yet. `moved`
    /// says which nodes use other memory in this launch.
    pub(super) fn inside(&mut self, moved: &'a [NodeAccesses]) -> Vec<Inside> {
        self.effort = self.nodes.len() as u64;
        if self.told == Some(moved) || self.nodes.len() < 2 {
            return Vec::new();
        }
        self.told = Some(moved);
        let Some(Chains { clocks, epochs }) = Chains::of(self.nodes) else {
            self.effort = u64::MAX;
            return Vec::new();
        };
        let width = |clock: &Clock| clock.width() as u64;
        self.effort += clocks.iter().map(width).sum::<u64>();
        let mut blocks: HashMap<BlockId, Block> = HashMap::new();
        let mut found: Vec<Inside> = Vec::new();
        for (index, node) in self.nodes.iter().enumerate() {
            let number = index as u32 + 1;
            let part = matches!(node.call, Call::HostFunction { .. });
            let (clock, epoch) = (Rc::new(clocks[index].clone()), epochs[index]);
            let mark = Mark { epoch, step: 0, node: number };
            let knows = |other: Epoch| other == epoch || clock.of(other.slot) >= other.count;
            let mut missing: BTreeMap<u32, (Kind, Conflict)> = BTreeMap::new();
            // Reads first: an operation reads what was there before it.
            for turn in [AccessKind::Read, AccessKind::Write] {
                accesses_of_node(&node.call, number, moved, |kind, range| {
                    if kind != turn {
                        return;
                    }
                    let block = blocks.entry(range.block).or_default();
                    let note = |conflict: Conflict| {
                        let new = (Kind::of(conflict.earlier_kind, kind), conflict);
                        let rank = |it: &(Kind, Conflict)| {
                            (it.1.earlier.epoch.count, std::cmp::Reverse(it.0))
                        };
                        let slot = conflict.earlier.epoch.slot;
                        let known = missing.entry(slot).or_insert(new);
                        if rank(known) < rank(&new) {
                            *known = new;
                        }
                    };
                    match (part, kind) {
                        (true, _) => block.access_somewhere(kind, range, mark, knows, note),
                        (_, AccessKind::Read) => block.read(range, (mark, &clock), knows, note),
                        (_, AccessKind::Write) => block.write(range, mark, knows, note),
                    }
                    self.effort += std::mem::take(&mut block.effort);
                });
            }
            // A node that lacks an order to two nodes, of which one comes after the other, lacks
            // one edge.
            let is_last = |Epoch { slot, count }: Epoch| {
                !missing.values().any(|(_, other)| {
                    let later = other.earlier.node as usize - 1;
                    clocks[later].of(slot) >= count
                })
            };
            let kept = missing.values().filter(|(_, it)| is_last(it.earlier.epoch));
            let kept = kept.map(|&(kind, Conflict { earlier, overlap, .. })| Inside {
                first: earlier.node,
                second: number,
                kind,
                overlap,
            });
            found.extend(kept);
        }
        // The same for nodes that come after one which lacks the same edge.
        let later = |it: &Inside| {
            found.iter().any(|other| {
                let Epoch { slot, count } = epochs[other.second as usize - 1];
                other.first == it.first && clocks[it.second as usize - 1].of(slot) >= count
            })
        };
        self.effort += (found.len() as u64).saturating_pow(2);
        let mut kept: Vec<Inside> = found.iter().filter(|it| !later(it)).copied().collect();
        kept.sort_by_key(|it| (it.second, it.first));
        kept
    }
}
