//! Who used which bytes last: for each block of memory, the last write of each byte and the reads
//! since.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::program::{AccessKind, BlockId, Range};

use super::clock::Clock;
use super::happens_before::{Epoch, Mark};
use super::range_tree::PartialUses;

/// Where a block of memory comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Origin {
    /// It is there as soon as the call returns.
    #[default]
    Device,
    /// So is this, in host memory.
    PinnedHost,
    /// It comes to be in the order of a stream.
    StreamOrdered(Mark),
}

/// Uses of one block of memory.
///
/// A use of many bytes costs about as much as one of few, however many pieces they were used in
/// before. Writes are looked at through what whole parts of a tree have in common, and each read is
/// one entry until it is written over.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) origin: Origin,
    /// The step that freed it.
    pub(super) freed: Option<u32>,
    /// The last write of each byte. Bytes that were never written are in none.
    writes: Writes,
    /// By slot, the last read of each byte since it was written.
    reads: BTreeMap<u32, BTreeMap<u64, Read>>,
    /// Uses of which no more is known than that they were somewhere in a range.
    somewhere: PartialUses,
    /// The effort so far, in pieces of memory and of clocks.
    pub(super) effort: u64,
}

/// A run of bytes that was read.
#[derive(Clone, Debug)]
struct Read {
    end: u64,
    mark: Mark,
    /// The reader's clock: what it came after need not be told beside it.
    knew: Rc<Clock>,
}

/// An earlier use of the same bytes, of which at least one of the two is a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) earlier: Mark,
    pub(super) earlier_kind: AccessKind,
    /// The bytes that both use.
    pub(super) overlap: Range,
}

impl Block {
    pub(super) fn new(origin: Origin) -> Self {
        Self { origin, ..Self::default() }
    }

    /// Reads `range`: `found` is told of each conflicting use that `knows` does not know to be
    /// over, of those of one slot the last.
    pub(super) fn read(
        &mut self,
        range: Range,
        (mark, knew): (Mark, &Rc<Clock>),
        knows: impl Fn(Epoch) -> bool,
        mut found: impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        if start == end {
            return;
        }
        self.effort += self.writes.unknown(range, &knows, &mut found);
        self.meet_somewhere(AccessKind::Read, range, &knows, &mut found);
        let own = self.reads.entry(mark.epoch.slot).or_default();
        self.effort += 1 + clip(own, start, end, |_, _, _| {});
        let mut read = Read { end, mark, knew: Rc::clone(knew) };
        let mut from = start;
        // Two ranges of one operation that touch are one.
        if let Some((&before, left)) = own.range(..start).next_back()
            && left.end == start
            && left.mark == mark
        {
            from = before;
        }
        if let Some(right) = own.get(&end)
            && right.mark == mark
        {
            read.end = right.end;
            own.remove(&end);
        }
        own.insert(from, read);
    }

    /// Writes `range`; the same.
    pub(super) fn write(
        &mut self,
        range: Range,
        mark: Mark,
        knows: impl Fn(Epoch) -> bool,
        mut found: impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        if start == end {
            return;
        }
        self.effort += self.writes.unknown(range, &knows, &mut found);
        self.end_reads(range, &knows, &mut found);
        self.meet_somewhere(AccessKind::Write, range, &knows, &mut found);
        self.effort += self.writes.put(start, end, mark);
    }

    /// Ends the reads of a range: a later use comes after the one that ended them.
    fn end_reads(
        &mut self,
        range: Range,
        knows: impl Fn(Epoch) -> bool,
        found: &mut impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        let mut unknown: Vec<(Read, Range)> = Vec::new();
        for reads in self.reads.values_mut() {
            let mut last: Option<(Read, Range)> = None;
            self.effort += 1 + clip(reads, start, end, |from, to, read| {
                let is_later =
                    last.as_ref().is_none_or(|(it, _)| it.mark.epoch.count < read.mark.epoch.count);
                if is_later && !knows(read.mark.epoch) {
                    let overlap = Range { block: range.block, offset: from, bytes: to - from };
                    last = Some((read.clone(), overlap));
                }
            });
            unknown.extend(last);
        }
        self.reads.retain(|_, reads| !reads.is_empty());
        self.effort += (unknown.len() as u64).saturating_pow(2);
        for (read, overlap) in &unknown {
            let Epoch { slot, count } = read.mark.epoch;
            // Another read comes after it: a wait for that one is a wait for this too.
            let is_before = |(other, _): &(Read, Range)| {
                other.mark.epoch != read.mark.epoch && other.knew.of(slot) >= count
            };
            if !unknown.iter().any(is_before) {
                let (earlier, overlap) = (read.mark, *overlap);
                found(Conflict { earlier, earlier_kind: AccessKind::Read, overlap });
            }
        }
    }

    /// Uses some of `range`. Only who uses all of it is sure to use the same bytes.
    pub(super) fn access_somewhere(
        &mut self,
        kind: AccessKind,
        range: Range,
        mark: Mark,
        knows: impl Fn(Epoch) -> bool,
        mut found: impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        if start == end {
            return;
        }
        let written = self.writes.throughout(start, end);
        let reads = self.reads.values().filter_map(|reads| {
            let (_, read) = reads.range(..=start).next_back()?;
            (read.end >= end).then_some((AccessKind::Read, read.mark))
        });
        let throughout = written.map(|mark| (AccessKind::Write, mark)).into_iter().chain(reads);
        for (earlier_kind, earlier) in throughout {
            let conflict = earlier_kind == AccessKind::Write || kind == AccessKind::Write;
            if conflict && !knows(earlier.epoch) {
                found(Conflict { earlier, earlier_kind, overlap: range });
            }
        }
        self.effort += 1 + self.reads.len() as u64;
        self.effort += self.somewhere.put((start, end), kind, mark);
    }

    /// All of `range` is used: a use of some of it used the same bytes.
    fn meet_somewhere(
        &mut self,
        kind: AccessKind,
        range: Range,
        knows: impl Fn(Epoch) -> bool,
        found: &mut impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        self.effort += self.somewhere.unknown((start, end), knows, |earlier_kind, at, earlier| {
            if earlier_kind == AccessKind::Write || kind == AccessKind::Write {
                let overlap = Range { block: range.block, offset: at.0, bytes: at.1 - at.0 };
                found(Conflict { earlier, earlier_kind, overlap });
            }
        });
        if kind == AccessKind::Write {
            self.effort += self.somewhere.forget((start, end));
        }
    }

    /// Frees all of it: `found` is told of each use that `knows` does not know to be over.
    pub(super) fn free(
        &mut self,
        block: BlockId,
        step: u32,
        knows: impl Fn(Epoch) -> bool,
        mut found: impl FnMut(Conflict),
    ) {
        self.freed = Some(step);
        let all = Range { block, offset: 0, bytes: u64::MAX };
        self.effort += self.writes.unknown(all, &knows, &mut found);
        self.writes = Writes::default();
        self.end_reads(all, &knows, &mut found);
        self.meet_somewhere(AccessKind::Write, all, knows, &mut found);
    }

    /// Who used any of it, but for those that a write of the same bytes, or a read in the same
    /// stream, comes after.
    pub(super) fn uses(&self) -> impl Iterator<Item = Mark> {
        let reads = self.reads.values().flat_map(BTreeMap::values).map(|read| read.mark);
        self.writes.marks().into_iter().chain(reads).chain(self.somewhere.marks())
    }
}

/// Takes the bytes from `start` to `end` out of what was read. `each` is told of every piece that
/// is gone. Says how many there were.
fn clip(
    reads: &mut BTreeMap<u64, Read>,
    start: u64,
    end: u64,
    mut each: impl FnMut(u64, u64, &Read),
) -> u64 {
    let mut gone = 0;
    if let Some((_, read)) = reads.range_mut(..start).next_back()
        && read.end > start
    {
        let rest = read.clone();
        read.end = start;
        each(start, rest.end.min(end), &rest);
        gone += 1;
        if rest.end > end {
            reads.insert(end, rest);
        }
    }
    while let Some((&from, _)) = reads.range(start..end).next() {
        let Some(read) = reads.remove(&from) else { break };
        each(from, read.end.min(end), &read);
        gone += 1;
        if read.end > end {
            reads.insert(end, read);
        }
    }
    gone
}

/// Who wrote each byte last: runs of bytes in order, in a search tree that chance keeps balanced (a
/// treap).
#[derive(Debug, Default)]
struct Writes {
    root: Tree,
    /// The last number drawn.
    chance: u64,
}

type Tree = Option<Box<Node>>;

/// A run of bytes that one operation wrote last, and those before and after it.
#[derive(Debug)]
struct Node {
    from: u64,
    end: u64,
    mark: Mark,
    /// No smaller than those of the two below.
    priority: u64,
    before: Tree,
    after: Tree,
    /// The last operation that wrote anything from here downwards, where all are of one slot.
    only: (u32, u32),
    /// Elsewhere, by slot, the last operation of it; else empty, so that most nodes take no memory
    /// beside their own.
    last: Vec<(u32, u32)>,
}

impl Node {
    fn own(&self) -> (u32, u32) {
        (self.mark.epoch.slot, self.mark.epoch.count)
    }

    /// The last operation of each slot from here downwards.
    fn each_last(&self, mut tell: impl FnMut(u32, u32)) {
        match self.last.is_empty() {
            true => tell(self.only.0, self.only.1),
            false => self.last.iter().for_each(|&(slot, count)| tell(slot, count)),
        }
    }

    /// Something below has changed. Says how much was looked at.
    fn update(&mut self) -> u64 {
        self.only = self.own();
        self.last.clear();
        let Self { only, last, before, after, .. } = self;
        for below in [&*before, &*after].into_iter().flatten() {
            below.each_last(|slot, count| {
                if last.is_empty() && slot == only.0 {
                    only.1 = only.1.max(count);
                    return;
                }
                if last.is_empty() {
                    last.push(*only);
                }
                match last.binary_search_by_key(&slot, |it| it.0) {
                    Ok(at) => last[at].1 = last[at].1.max(count),
                    Err(at) => last.insert(at, (slot, count)),
                };
            });
        }
        last.len().max(1) as u64
    }

    /// The first run of bytes in a range that this operation wrote, of which it is known that there
    /// is one and that no later one of its slot wrote there.
    fn first_of(
        &self,
        epoch: (u32, u32),
        range: &std::ops::Range<u64>,
        looked_at: &mut u64,
    ) -> Option<&Node> {
        *looked_at += 1;
        let mut is_here = false;
        self.each_last(|slot, count| is_here |= slot == epoch.0 && count >= epoch.1);
        if !is_here {
            return None;
        }
        // What lies beside the range may be of later operations, and is not looked at.
        let before = self.before.as_ref().filter(|_| range.start < self.from);
        let before = before.and_then(|it| it.first_of(epoch, range, looked_at));
        let is_it = self.own() == epoch && self.from < range.end && range.start < self.end;
        let after = self.after.as_ref().filter(|_| self.end < range.end);
        before
            .or_else(|| is_it.then_some(self))
            .or_else(|| after.and_then(|it| it.first_of(epoch, range, looked_at)))
    }
}

impl Writes {
    /// Tells `found` of what was written in a range and is not known to be over, of each slot the
    /// last. Says how much was looked at.
    fn unknown(
        &self,
        range: Range,
        knows: impl Fn(Epoch) -> bool,
        found: &mut impl FnMut(Conflict),
    ) -> u64 {
        let bytes = range.offset..range.offset.saturating_add(range.bytes);
        let mut looked_at = 0;
        let mut unknown: BTreeMap<u32, u32> = BTreeMap::new();
        let mut tell = |slot: u32, count: u32| {
            looked_at += 1;
            if !knows(Epoch { slot, count }) {
                let last = unknown.entry(slot).or_default();
                *last = count.max(*last);
            }
        };
        look(&self.root, &bytes, (false, false), &mut tell);
        for (slot, count) in unknown {
            let root = self.root.as_ref();
            let node = root.and_then(|root| root.first_of((slot, count), &bytes, &mut looked_at));
            let Some(node) = node else { continue };
            let (from, end) = (node.from.max(bytes.start), node.end.min(bytes.end));
            let overlap = Range { block: range.block, offset: from, bytes: end - from };
            found(Conflict { earlier: node.mark, earlier_kind: AccessKind::Write, overlap });
        }
        looked_at
    }

    /// Who wrote all of a range last, if it was a single one.
    fn throughout(&self, start: u64, end: u64) -> Option<Mark> {
        let mut next = self.root.as_ref();
        while let Some(node) = next {
            if node.from <= start && start < node.end {
                return (end <= node.end).then_some(node.mark);
            }
            next = if start < node.from { node.before.as_ref() } else { node.after.as_ref() };
        }
        None
    }

    /// These bytes are written. Says how much was looked at.
    fn put(&mut self, start: u64, end: u64, mark: Mark) -> u64 {
        let mut effort = 0;
        let root = self.root.take();
        let (before, rest) = self.split(root, start, &mut effort);
        let (_, after) = self.split(rest, end, &mut effort);
        let new = self.node(start, end, mark);
        let before = join(before, Some(new), &mut effort);
        self.root = join(before, after, &mut effort);
        effort
    }

    fn node(&mut self, from: u64, end: u64, mark: Mark) -> Box<Node> {
        // Knuth's MMIX generator: any will do, as long as it is the same everywhere.
        self.chance = self
            .chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let priority = self.chance >> 16;
        let only = (mark.epoch.slot, mark.epoch.count);
        let last = Vec::new();
        Box::new(Node { from, end, mark, priority, before: None, after: None, only, last })
    }

    /// Splits a tree at a byte.
    fn split(&mut self, tree: Tree, at: u64, effort: &mut u64) -> (Tree, Tree) {
        let Some(mut node) = tree else { return (None, None) };
        if at <= node.from {
            let (before, after) = self.split(node.before.take(), at, effort);
            node.before = after;
            *effort += node.update();
            return (before, Some(node));
        }
        if node.end <= at {
            let (before, after) = self.split(node.after.take(), at, effort);
            node.after = before;
            *effort += node.update();
            return (Some(node), after);
        }
        let rest = self.node(at, node.end, node.mark);
        let after = node.after.take();
        node.end = at;
        *effort += node.update();
        (Some(node), join(Some(rest), after, effort))
    }

    /// All of them, in the order of their bytes.
    fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut waiting: Vec<&Node> = self.root.as_deref().into_iter().collect();
        while let Some(node) = waiting.pop() {
            marks.push(node.mark);
            waiting.extend(node.before.as_deref());
            waiting.extend(node.after.as_deref());
        }
        marks
    }
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

/// Tells of who wrote in a range last. `within` says whether all of a tree is known to be after the
/// start of the range, and before its end.
fn look(
    tree: &Tree,
    range: &std::ops::Range<u64>,
    within: (bool, bool),
    tell: &mut impl FnMut(u32, u32),
) {
    let Some(node) = tree else { return };
    if within == (true, true) {
        return node.each_last(tell);
    }
    if range.end <= node.from {
        return look(&node.before, range, within, tell);
    }
    if node.end <= range.start {
        return look(&node.after, range, within, tell);
    }
    look(&node.before, range, (within.0, true), tell);
    tell(node.mark.epoch.slot, node.mark.epoch.count);
    look(&node.after, range, (true, within.1), tell);
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: BlockId = BlockId(0);

    fn range(from: u64, end: u64) -> Range {
        Range { block: BLOCK, offset: from, bytes: end - from }
    }

    fn mark(slot: u32, count: u32) -> Mark {
        Mark { epoch: Epoch { slot, count }, step: count, node: 0 }
    }

    /// What the block did for so many writes side by side by one stream, and as many reads of all of it by others.
    fn effort(parts: u64, streams: u32) -> u64 {
        let mut block = Block::default();
        for (count, part) in (1..).zip(0..parts) {
            block.write(range(8 * part, 8 * part + 5), mark(0, count), |_| true, |_| {});
        }
        for count in 0..parts as u32 {
            let knew = Rc::new(Clock::default());
            let mark = mark(1 + count % streams, 1 + count / streams);
            block.read(range(0, 8 * parts), (mark, &knew), |_| true, |_| {});
        }
        block.effort
    }

    #[test]
    fn many_small_uses_make_no_large_one_dear() {
        let (small, large) = (effort(10_000, 8), effort(100_000, 8));
        // Log-log slope: 1 is linear; the depth of the tree comes on top.
        let slope = (large as f64 / small as f64).log10();
        assert!(slope < 1.15, "{small} {large}: {slope}");
    }

    #[test]
    fn a_block_remembers_who_used_each_byte_as_lists_of_bytes_do() {
        const BYTES: u64 = 48;
        let mut chance = 1_u64;
        let mut dice = |end: u64| {
            chance = chance
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (chance >> 33) % end
        };
        let mut block = Block::default();
        let mut written: Vec<Option<Mark>> = vec![None; BYTES as usize];
        let mut read: Vec<BTreeMap<u32, Mark>> = vec![BTreeMap::new(); BYTES as usize];
        for count in 1..6000 {
            let from = dice(BYTES);
            let end = from + 1 + dice(BYTES - from);
            let bytes = from as usize..end as usize;
            let mark = mark(dice(4) as u32, count);
            let known = dice(u64::from(count)) as u32; // operations up to this one are known
            let knows = |epoch: Epoch| epoch.count <= known;
            let mut found = BTreeMap::new();
            let mut note = |conflict: Conflict| {
                let Epoch { slot, count } = conflict.earlier.epoch;
                let last = found.entry((conflict.earlier_kind, slot)).or_insert(count);
                *last = count.max(*last);
            };
            let is_write = dice(2) == 0;
            let knew = Rc::new(Clock::default());
            match is_write {
                true => block.write(range(from, end), mark, knows, &mut note),
                false => block.read(range(from, end), (mark, &knew), knows, &mut note),
            }
            let mut expected = BTreeMap::new();
            let mut expect = |kind, mark: &Mark| {
                let Epoch { slot, count } = mark.epoch;
                if !knows(mark.epoch) {
                    let last = expected.entry((kind, slot)).or_insert(count);
                    *last = count.max(*last);
                }
            };
            for byte in bytes {
                written[byte].iter().for_each(|it| expect(AccessKind::Write, it));
                if is_write {
                    read[byte].values().for_each(|it| expect(AccessKind::Read, it));
                    read[byte].clear();
                    written[byte] = Some(mark);
                } else {
                    read[byte].insert(mark.epoch.slot, mark);
                }
            }
            assert_eq!(found, expected, "after {count} uses");
        }
    }
}
