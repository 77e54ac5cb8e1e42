//! Sets of instants, as the intervals that they are made of.

use crate::timeline::{Interval, sorted};

impl Interval {
    /// The part of it that lies in `window`; empty where none does.
    pub fn clip(&self, window: Interval) -> Interval {
        let start_ns = self.start_ns.max(window.start_ns);
        Interval::new(start_ns, self.end_ns.min(window.end_ns).max(start_ns))
    }
}

/// The instants that some intervals cover: pieces in order of time, none empty, no two of which
/// overlap or touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    pieces: Vec<Interval>,
}

impl Coverage {
    /// The instants that `intervals` cover together, in whatever order they come. Empty ones cover
    /// nothing.
    pub fn of(intervals: impl IntoIterator<Item = Interval>) -> Self {
        let intervals = intervals.into_iter().filter(|i| i.ns() > 0);
        // Pairs and not intervals: see `in_order`.
        Self::merge(intervals.map(|i| (i.start_ns, i.end_ns)).collect())
    }

    fn merge(pairs: Vec<(u64, u64)>) -> Self {
        let mut pieces: Vec<Interval> = Vec::new();
        for interval in sorted(pairs).into_iter().map(|(start, end)| Interval::new(start, end)) {
            match pieces.last_mut() {
                Some(last) if interval.start_ns <= last.end_ns => {
                    last.end_ns = last.end_ns.max(interval.end_ns);
                }
                _ => pieces.push(interval),
            }
        }
        Self { pieces }
    }

    /// The pieces, in order of time.
    pub fn pieces(&self) -> &[Interval] {
        &self.pieces
    }

    /// How many ns it covers.
    pub fn ns(&self) -> u64 {
        self.pieces.iter().map(Interval::ns).sum()
    }

    /// Instants of `window` that it does not cover.
    pub fn gaps(&self, window: Interval) -> Vec<Interval> {
        let mut gaps = Vec::new();
        let mut from = window.start_ns;
        for piece in self.pieces.iter().map(|piece| piece.clip(window)).filter(|p| p.ns() > 0) {
            gaps.push(Interval::new(from, piece.start_ns));
            from = piece.end_ns;
        }
        gaps.push(Interval::new(from, window.end_ns));
        gaps.retain(|gap| gap.ns() > 0);
        gaps
    }

    /// Instants in either.
    pub fn union(&self, other: &Self) -> Self {
        Self::of(self.pieces.iter().chain(&other.pieces).copied())
    }

    /// Instants in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let (mut left, mut right) = (self.pieces.as_slice(), other.pieces.as_slice());
        let mut pieces = Vec::new();
        while let ([a, after_a @ ..], [b, after_b @ ..]) = (left, right) {
            let both = a.clip(*b);
            if both.ns() > 0 {
                pieces.push(both);
            }
            // The one that ends first meets nothing more on the other side.
            if a.end_ns <= b.end_ns {
                left = after_a;
            } else {
                right = after_b;
            }
        }
        Self { pieces }
    }
}

/// The pieces that `intervals` cover together, in order of time.
pub fn union(intervals: impl IntoIterator<Item = Interval>) -> Vec<Interval> {
    Coverage::of(intervals).pieces
}
