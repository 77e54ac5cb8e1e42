//! Who used which bytes last: for each block of memory, intervals with their last write and the reads
//! since.

use std::collections::BTreeMap;

use crate::program::{AccessKind, BlockId, Range};

use super::order::Epoch;

/// An operation that used some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) epoch: Epoch,
    pub(super) step: u32,
    /// Which node it is of the graph that the step launches, from 1; 0 if it is none.
    pub(super) node: u32,
}

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

/// What is known of one block of memory.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(super) origin: Origin,
    /// The step that freed it.
    pub(super) freed: Option<u32>,
    /// By first byte. What nobody used is in none.
    spans: BTreeMap<u64, Span>,
    /// Uses of which no more is known than that they were somewhere in a range: by first byte and end,
    /// the uses, less those that another of the kind comes after.
    somewhere: BTreeMap<(u64, u64), Vec<(AccessKind, Mark)>>,
}

/// A run of bytes that were used alike.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    end: u64,
    write: Option<Mark>,
    /// Reads since, less those that another read comes after: whatever comes after the later one comes
    /// after both.
    reads: Vec<Mark>,
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

    /// Uses `range`: `found` is told of each conflicting use that `knows` does not know to be over.
    pub(super) fn access(
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
        self.split(start);
        self.split(end);
        let whole = |from, to| Range { block: range.block, offset: from, bytes: to - from };
        for (&from, span) in self.spans.range(start..end) {
            span.conflicts(kind, whole(from, span.end), &knows, &mut found);
        }
        if !self.somewhere.is_empty() {
            self.meet_somewhere(kind, range, &knows, &mut found);
        }
        match kind {
            AccessKind::Write => self.overwrite(start, end, mark),
            AccessKind::Read => {
                self.read(start, end, mark, knows);
                self.merge(start, end);
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
        self.split(start);
        self.split(end);
        // Uses that have been in every span so far.
        let mut throughout: Option<Vec<(AccessKind, Mark)>> = None;
        let mut at = start;
        for (&from, span) in self.spans.range(start..end) {
            let here = span.uses();
            throughout = Some(match throughout {
                None => here.collect(),
                Some(so_far) => {
                    let here: Vec<_> = here.collect();
                    so_far.into_iter().filter(|it| here.contains(it)).collect()
                }
            });
            if from != at || throughout.as_ref().is_some_and(Vec::is_empty) {
                throughout = None;
                break;
            }
            at = span.end;
        }
        for (earlier_kind, earlier) in throughout.filter(|_| at == end).into_iter().flatten() {
            let conflict = earlier_kind == AccessKind::Write || kind == AccessKind::Write;
            if conflict && !knows(earlier.epoch) {
                found(Conflict { earlier, earlier_kind, overlap: range });
            }
        }
        let uses = self.somewhere.entry((start, end)).or_default();
        uses.retain(|(of, earlier)| *of != kind || !knows(earlier.epoch));
        uses.push((kind, mark));
    }

    /// All of `range` is used: whoever used some of it used the same bytes.
    fn meet_somewhere(
        &mut self,
        kind: AccessKind,
        range: Range,
        knows: impl Fn(Epoch) -> bool,
        found: &mut impl FnMut(Conflict),
    ) {
        let (start, end) = (range.offset, range.offset.saturating_add(range.bytes));
        let inside =
            self.somewhere.range((start, 0)..(end, 0)).filter(|((_, last), _)| *last <= end);
        let mut over: Vec<(u64, u64)> = Vec::new();
        for (&(from, last), uses) in inside {
            let overlap = Range { block: range.block, offset: from, bytes: last - from };
            for &(earlier_kind, earlier) in uses {
                let conflict = earlier_kind == AccessKind::Write || kind == AccessKind::Write;
                if conflict && !knows(earlier.epoch) {
                    found(Conflict { earlier, earlier_kind, overlap });
                }
            }
            if kind == AccessKind::Write {
                over.push((from, last));
            }
        }
        over.iter().for_each(|key| drop(self.somewhere.remove(key)));
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
        for (from, span) in std::mem::take(&mut self.spans) {
            let overlap = Range { block, offset: from, bytes: span.end - from };
            span.conflicts(AccessKind::Write, overlap, &knows, &mut found);
        }
        let all = Range { block, offset: 0, bytes: u64::MAX };
        self.meet_somewhere(AccessKind::Write, all, knows, &mut found);
    }

    /// Who used any of it, but for those that another use comes after.
    pub(super) fn uses(&self) -> impl Iterator<Item = Mark> {
        let known = self.spans.values().flat_map(Span::uses);
        known.chain(self.somewhere.values().flatten().copied()).map(|(_, mark)| mark)
    }

    /// No span has `at` inside.
    fn split(&mut self, at: u64) {
        let Some((_, span)) = self.spans.range_mut(..at).next_back() else { return };
        if span.end > at {
            let after = span.clone();
            span.end = at;
            self.spans.insert(at, after);
        }
    }

    fn overwrite(&mut self, start: u64, end: u64, mark: Mark) {
        let later = self.spans.range(start..end).map(|(&from, _)| from);
        let later: Vec<u64> = later.filter(|&from| from != start).collect();
        later.iter().for_each(|from| drop(self.spans.remove(from)));
        let span = self.spans.entry(start).or_insert(Span { end, write: None, reads: Vec::new() });
        span.end = end;
        span.write = Some(mark);
        span.reads.clear();
    }

    fn read(&mut self, start: u64, end: u64, mark: Mark, knows: impl Fn(Epoch) -> bool) {
        let mut gaps = Vec::new();
        let mut at = start;
        for (&from, span) in self.spans.range_mut(start..end) {
            if at < from {
                gaps.push((at, from));
            }
            at = span.end;
            span.reads.retain(|earlier| !knows(earlier.epoch));
            span.reads.push(mark);
        }
        if at < end {
            gaps.push((at, end));
        }
        for (from, end) in gaps {
            self.spans.insert(from, Span { end, write: None, reads: vec![mark] });
        }
    }

    /// Neighbours that were used alike become one, so that many small uses do not make every large one
    /// dear for ever.
    fn merge(&mut self, start: u64, end: u64) {
        let first = self.spans.range(..start).next_back().map_or(start, |(&from, _)| from);
        let mut spans = self.spans.range(first..=end);
        let Some((&kept, mut last)) = spans.next() else { return };
        let mut kept = kept;
        let mut merged: Vec<(u64, u64, u64)> = Vec::new(); // kept, its new end, gone
        for (&from, span) in spans {
            let alike = last.write == span.write && last.reads == span.reads;
            if alike && merged.last().map_or(last.end, |m| m.1.max(last.end)) == from {
                merged.push((kept, span.end, from));
            } else {
                kept = from;
            }
            last = span;
        }
        for (kept, end, gone) in merged {
            self.spans.remove(&gone);
            self.spans.get_mut(&kept).expect("it is kept").end = end;
        }
    }
}

impl Span {
    fn uses(&self) -> impl Iterator<Item = (AccessKind, Mark)> {
        let write = self.write.iter().map(|write| (AccessKind::Write, *write));
        write.chain(self.reads.iter().map(|read| (AccessKind::Read, *read)))
    }

    /// Tells `found` of the uses that another of `kind` conflicts with and that are not known to be
    /// over.
    fn conflicts(
        &self,
        kind: AccessKind,
        overlap: Range,
        knows: impl Fn(Epoch) -> bool,
        found: &mut impl FnMut(Conflict),
    ) {
        let mut tell = |earlier: &Mark, earlier_kind| {
            if !knows(earlier.epoch) {
                found(Conflict { earlier: *earlier, earlier_kind, overlap });
            }
        };
        if let Some(write) = &self.write {
            tell(write, AccessKind::Write);
        }
        if kind == AccessKind::Write {
            self.reads.iter().for_each(|read| tell(read, AccessKind::Read));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All in one stream, so everything is known.
    fn uses(block: &mut Block, uses: impl Iterator<Item = (AccessKind, u64, u64)>) {
        for (step, (kind, offset, end)) in (1..).zip(uses) {
            let range = Range { block: BlockId(0), offset, bytes: end - offset };
            let mark = Mark { epoch: Epoch { slot: 0, count: step }, step, node: 0 };
            block.access(kind, range, mark, |_| true, |_| panic!("everything is in order"));
        }
    }

    #[test]
    fn many_small_uses_make_no_large_one_dear_for_ever() {
        let mut block = Block::default();
        let small = |kind| (0..1000).rev().map(move |at| (kind, 8 * at, 8 * at + 5));
        uses(&mut block, small(AccessKind::Read));
        assert_eq!(block.spans.len(), 1000);
        uses(&mut block, [(AccessKind::Read, 0, 8000)].into_iter());
        assert_eq!(block.spans.len(), 1);
        uses(&mut block, small(AccessKind::Write));
        uses(&mut block, [(AccessKind::Write, 0, 8000)].into_iter());
        assert_eq!(block.spans.len(), 1);
    }

    #[test]
    fn spans_never_overlap_and_never_end_before_they_start() {
        let mut block = Block::default();
        let mut at = 1_u64;
        let random = std::iter::from_fn(|| {
            at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let kind = if at >> 63 == 0 { AccessKind::Read } else { AccessKind::Write };
            let (from, bytes) = (at >> 33 & 127, at >> 45 & 31);
            Some((kind, from, from + bytes))
        });
        uses(&mut block, random.take(5000));
        let mut last = 0;
        for (&from, span) in &block.spans {
            assert!(last <= from && from < span.end);
            last = span.end;
        }
    }
}
