//! Inside a graph: which of its nodes use the same memory with nothing between them.

use std::collections::BTreeMap;

use crate::program::{AccessKind, BlockId, Call, GraphNode, Range};

use super::Kind;
use super::search::accesses;

/// A graph, as far as the calls gone through so far say.
pub(super) struct Graph<'a> {
    pub(super) nodes: &'a [GraphNode],
    /// How many executable copies were made of it. Launches of one copy take turns (CUDA driver API,
    /// `cuGraphLaunch`); which copy is launched, a program does not say.
    pub(super) copies: u32,
    /// What is wrong inside it, until it has been said.
    pub(super) inside: Vec<Inside>,
}

/// Two nodes that nothing orders, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Inside {
    pub(super) first: u32,
    pub(super) second: u32,
    pub(super) kind: Kind,
    pub(super) overlap: Range,
}

#[derive(Clone, Copy)]
struct Use {
    node: u32,
    kind: AccessKind,
    offset: u64,
    end: u64,
    /// Some of it, nobody knows which.
    part: bool,
}

impl<'a> Graph<'a> {
    pub(super) fn new(nodes: &'a [GraphNode]) -> Self {
        Self { nodes, copies: 0, inside: inside(nodes) }
    }
}

/// For each node, all that it comes after: a bit for each.
struct Before(Vec<Vec<u64>>);

impl Before {
    fn of(nodes: &[GraphNode]) -> Self {
        let words = nodes.len().div_ceil(64);
        let mut before: Vec<Vec<u64>> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let mut own = vec![0; words];
            for &earlier in &node.after {
                let Some(theirs) = before.get(earlier as usize) else { continue };
                own.iter_mut().zip(theirs).for_each(|(own, theirs)| *own |= theirs);
                own[earlier as usize / 64] |= 1 << (earlier % 64);
            }
            before.push(own);
        }
        Self(before)
    }

    fn orders(&self, first: u32, second: u32) -> bool {
        self.0[second as usize][first as usize / 64] >> (first % 64) & 1 == 1
    }
}

/// Each pair of nodes is named once, by the first of [`Kind`]'s order. Of several that one edge would
/// order, only the pair is left out that the others' edges order too: a node that lacks an order to two
/// nodes of which one comes after the other lacks one edge, to the later.
fn inside(nodes: &[GraphNode]) -> Vec<Inside> {
    let mut uses: BTreeMap<BlockId, Vec<Use>> = BTreeMap::new();
    for (node, it) in (0u32..).zip(nodes) {
        let part = matches!(it.call, Call::HostFunction { .. });
        accesses(&it.call, |kind, range| {
            let end = range.offset.saturating_add(range.bytes);
            if range.bytes > 0 {
                let known = uses.entry(range.block).or_default();
                known.push(Use { node, kind, offset: range.offset, end, part });
            }
        });
    }
    if nodes.len() < 2 || uses.is_empty() {
        return Vec::new();
    }
    let before = Before::of(nodes);
    let mut found: BTreeMap<(u32, u32), (Kind, Range)> = BTreeMap::new();
    for (&block, uses) in &mut uses {
        uses.sort_by_key(|it| (it.offset, it.node));
        for (index, a) in uses.iter().enumerate() {
            for b in uses[index + 1..].iter().take_while(|b| b.offset < a.end) {
                let (first, second) = if a.node < b.node { (a, b) } else { (b, a) };
                let both_read = (a.kind, b.kind) == (AccessKind::Read, AccessKind::Read);
                let holds = |outer: &Use, inner: &Use| {
                    outer.offset <= inner.offset && inner.end <= outer.end
                };
                let sure = match (a.part, b.part) {
                    (false, false) => true,
                    (true, false) => holds(b, a),
                    (false, true) => holds(a, b),
                    (true, true) => false,
                };
                if first.node == second.node
                    || both_read
                    || !sure
                    || before.orders(first.node, second.node)
                {
                    continue;
                }
                let end = a.end.min(b.end);
                let overlap = Range { block, offset: b.offset, bytes: end - b.offset };
                let kind = Kind::of(first.kind, second.kind);
                let new = (kind, overlap);
                let pair = found.entry((second.node, first.node)).or_insert(new);
                if new.0 < pair.0 {
                    *pair = new;
                }
            }
        }
    }
    let later = |&(second, first): &(u32, u32)| {
        found.keys().any(|&(of, other)| of == second && before.orders(first, other))
            || found.keys().any(|&(other, of)| of == first && before.orders(other, second))
    };
    let kept = found.iter().filter(|(pair, _)| !later(pair));
    kept.map(|(&(second, first), &(kind, overlap))| Inside {
        first: first + 1,
        second: second + 1,
        kind,
        overlap,
    })
    .collect()
}
