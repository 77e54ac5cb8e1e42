//! Uses of memory that are only known to lie somewhere in a range.
//!
//! Ranges are kept in a search tree by where they begin, that chance keeps balanced (a treap). Each
//! node knows where the ranges from there downwards end, and the last use of each kind and slot
//! among them. So a question about all that lies in a range looks at no more than a few nodes at
//! its two ends.

use std::collections::BTreeMap;

use crate::program::AccessKind;

use super::happens_before::{Epoch, Mark};

/// First byte and end of a range.
type Bounds = (u64, u64);
/// Kind and slot of a use.
type Kind = (AccessKind, u32);
type Tree = Option<Box<Node>>;

/// The uses of one block, by the range that they are somewhere in.
#[derive(Debug, Default)]
pub(super) struct PartialUses {
    root: Tree,
    /// The last number drawn.
    chance: u64,
}

#[derive(Debug)]
struct Node {
    range: Bounds,
    /// The last use of each kind and slot.
    uses: BTreeMap<Kind, Mark>,
    /// No smaller than those of the two below.
    priority: u64,
    before: Tree,
    after: Tree,
    /// The least and the greatest end of the ranges from here downwards.
    ends: (u64, u64),
    /// The last use of each kind and slot from here downwards, by how many operations of the slot
    /// there were.
    last: BTreeMap<Kind, u32>,
}

impl Node {
    /// Something here or below has changed. Says how much was looked at.
    fn update(&mut self) -> u64 {
        self.ends = (self.range.1, self.range.1);
        self.last.clear();
        self.last.extend(self.uses.iter().map(|(kind, mark)| (*kind, mark.epoch.count)));
        for below in [&self.before, &self.after].into_iter().flatten() {
            self.ends = (self.ends.0.min(below.ends.0), self.ends.1.max(below.ends.1));
            for (kind, count) in &below.last {
                let last = self.last.entry(*kind).or_default();
                *last = (*last).max(*count);
            }
        }
        1 + self.last.len() as u64
    }

    fn is_inside(&self, (start, end): Bounds) -> bool {
        start <= self.range.0 && self.range.1 <= end
    }
}

impl PartialUses {
    /// A use somewhere in a range. Says how much was looked at.
    pub(super) fn put(&mut self, range: Bounds, kind: AccessKind, mark: Mark) -> u64 {
        let mut effort = 0;
        let root = self.root.take();
        let (before, rest) = split(root, range, &mut effort);
        let (same, after) = split(rest, (range.0, range.1.saturating_add(1)), &mut effort);
        let mut node = same.unwrap_or_else(|| {
            // Knuth's MMIX generator: any will do, as long as it is the same everywhere.
            self.chance = self
                .chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            Box::new(Node {
                range,
                uses: BTreeMap::new(),
                priority: self.chance >> 16,
                before: None,
                after: None,
                ends: (0, 0),
                last: BTreeMap::new(),
            })
        });
        node.uses.insert((kind, mark.epoch.slot), mark);
        effort += node.update();
        let before = join(before, Some(node), &mut effort);
        self.root = join(before, after, &mut effort);
        effort
    }

    /// Of what was used somewhere inside of a range, and `knows` does not know to be over: of each
    /// kind and slot the last use, with the range that it is in. Says how much was looked at.
    pub(super) fn unknown(
        &self,
        range: Bounds,
        knows: impl Fn(Epoch) -> bool,
        mut found: impl FnMut(AccessKind, Bounds, Mark),
    ) -> u64 {
        let mut effort = 0;
        let mut unknown: BTreeMap<Kind, u32> = BTreeMap::new();
        look(&self.root, range, false, &mut |(kind, slot), count| {
            effort += 1;
            if !knows(Epoch { slot, count }) {
                let last = unknown.entry((kind, slot)).or_default();
                *last = count.max(*last);
            }
        });
        for ((kind, slot), count) in unknown {
            if let Some(node) = find(&self.root, range, ((kind, slot), count), &mut effort) {
                found(kind, node.range, node.uses[&(kind, slot)]);
            }
        }
        effort
    }

    /// Forgets what was used somewhere inside of a range. Says how much was looked at.
    pub(super) fn forget(&mut self, range: Bounds) -> u64 {
        let mut effort = 0;
        let root = self.root.take();
        self.root = without(root, range, false, &mut effort);
        effort
    }

    /// All uses.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut waiting: Vec<&Node> = self.root.as_deref().into_iter().collect();
        while let Some(node) = waiting.pop() {
            marks.extend(node.uses.values());
            waiting.extend(node.before.as_deref());
            waiting.extend(node.after.as_deref());
        }
        marks
    }
}

/// Splits a tree at a key.
fn split(tree: Tree, at: Bounds, effort: &mut u64) -> (Tree, Tree) {
    let Some(mut node) = tree else { return (None, None) };
    let (before, after) = if at <= node.range {
        let (before, rest) = split(node.before.take(), at, effort);
        node.before = rest;
        *effort += node.update();
        (before, Some(node))
    } else {
        let (rest, after) = split(node.after.take(), at, effort);
        node.after = rest;
        *effort += node.update();
        (Some(node), after)
    };
    (before, after)
}

/// One tree of two, of which the first is all before the second.
fn join(before: Tree, after: Tree, effort: &mut u64) -> Tree {
    match (before, after) {
        (tree, None) | (None, tree) => tree,
        (Some(mut before), Some(mut after)) => {
            if before.priority >= after.priority {
                before.after = join(before.after.take(), Some(after), effort);
                *effort += before.update();
                Some(before)
            } else {
                after.before = join(Some(before), after.before.take(), effort);
                *effort += after.update();
                Some(after)
            }
        }
    }
}

/// Tells of the uses inside of a range. `is_after` says whether all of the tree is known to begin
/// in it.
fn look(tree: &Tree, range: Bounds, is_after: bool, tell: &mut impl FnMut(Kind, u32)) {
    let Some(node) = tree else { return };
    if node.ends.0 > range.1 {
        return;
    }
    if is_after && node.ends.1 <= range.1 {
        return node.last.iter().for_each(|(kind, count)| tell(*kind, *count));
    }
    if node.range.0 >= range.0 {
        look(&node.before, range, is_after, tell);
    }
    if node.is_inside(range) {
        node.uses.iter().for_each(|(kind, mark)| tell(*kind, mark.epoch.count));
    }
    if node.range.0 < range.1 {
        look(&node.after, range, is_after || node.range.0 >= range.0, tell);
    }
}

/// The first range inside of another one that a use was in, of which it is known that there is one.
fn find<'a>(
    tree: &'a Tree,
    range: Bounds,
    (kind, count): (Kind, u32),
    effort: &mut u64,
) -> Option<&'a Node> {
    let node = tree.as_ref()?;
    *effort += 1;
    let is_here = node.last.get(&kind).is_some_and(|last| *last >= count);
    if node.ends.0 > range.1 || !is_here {
        return None;
    }
    let before = (node.range.0 >= range.0)
        .then(|| find(&node.before, range, (kind, count), effort))
        .flatten();
    if before.is_some() {
        return before;
    }
    let own = node.uses.get(&kind).is_some_and(|mark| mark.epoch.count == count);
    if own && node.is_inside(range) {
        return Some(node);
    }
    let is_before_end = node.range.0 < range.1;
    is_before_end.then(|| find(&node.after, range, (kind, count), effort)).flatten()
}

/// The tree without what is inside of a range. `is_after` says whether all of it is known to begin
/// in it.
fn without(tree: Tree, range: Bounds, is_after: bool, effort: &mut u64) -> Tree {
    let mut node = tree?;
    *effort += 1;
    if node.ends.0 > range.1 {
        return Some(node);
    }
    if is_after && node.ends.1 <= range.1 {
        return None;
    }
    if node.range.0 >= range.0 {
        node.before = without(node.before.take(), range, is_after, effort);
    }
    if node.range.0 < range.1 {
        let is_after = is_after || node.range.0 >= range.0;
        node.after = without(node.after.take(), range, is_after, effort);
    }
    if node.is_inside(range) {
        return join(node.before.take(), node.after.take(), effort);
    }
    *effort += node.update();
    Some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_knows_what_a_list_knows() {
        const BYTES: u64 = 24;
        let mut chance = 7_u64;
        let mut dice = |end: u64| {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % end
        };
        let mut tree = PartialUses::default();
        let mut list: Vec<(Bounds, AccessKind, Mark)> = Vec::new();
        for count in 1..6000 {
            let from = dice(BYTES);
            let range = (from, from + 1 + dice(BYTES - from));
            let inside = |of: Bounds| range.0 <= of.0 && of.1 <= range.1;
            match dice(5) {
                0 => {
                    tree.forget(range);
                    list.retain(|(of, ..)| !inside(*of));
                }
                1 | 2 => {
                    let slot = dice(3) as u32;
                    let mark = Mark { epoch: Epoch { slot, count }, step: count, node: 0 };
                    let kind = if dice(2) == 0 { AccessKind::Read } else { AccessKind::Write };
                    tree.put(range, kind, mark);
                    list.push((range, kind, mark));
                }
                _ => {
                    let known = dice(u64::from(count)) as u32;
                    let mut found = BTreeMap::new();
                    let knows = |epoch: Epoch| epoch.count <= known;
                    tree.unknown(range, knows, |kind, of, mark| {
                        found.insert((kind, mark.epoch.slot), (of, mark.epoch.count));
                    });
                    let mut expected = BTreeMap::new();
                    for (of, kind, mark) in &list {
                        if inside(*of) && !knows(mark.epoch) {
                            expected.insert((*kind, mark.epoch.slot), (*of, mark.epoch.count));
                        }
                    }
                    assert_eq!(found, expected, "after {count} uses");
                }
            }
        }
    }
}
