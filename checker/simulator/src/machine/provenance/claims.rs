//! Claims about memory: pieces of it, each with where its words come from.

use std::collections::BTreeMap;

use trace::record::Origin;

/// Elements are 32-bit words.
pub(in crate::machine) const WORD: u64 = 4;

/// How far an element has come: whole steps of its way, and rounds of the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Station {
    pub(super) steps: usize,
    pub(super) rounds: u64,
}

/// Where a value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// From an element of a given array, which has come so far.
    Given { array: u32, station: Station },
    /// From somewhere else, by a step of the program.
    Foreign { origin: Origin, step: u32 },
}

/// Some bytes in a row, and where they come from: a copy may begin and end inside a word, and the
/// next one bring the rest of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::machine) struct Piece {
    /// First byte, counted from the start of whatever they are a part of.
    pub(super) offset: u64,
    pub(super) bytes: u64,
    pub(super) source: Source,
    /// The element that the first byte comes from; 0 where it comes from none.
    pub(super) first: u64,
    /// Which byte of that element it is.
    pub(super) lead: u64,
}

impl Piece {
    /// The bytes from `from` to `to`, counted as `offset` is; none if there are none.
    pub(super) fn within(&self, from: u64, to: u64) -> Option<Self> {
        let start = from.max(self.offset);
        let end = to.min(self.offset.saturating_add(self.bytes));
        let bytes = end.checked_sub(start).filter(|&bytes| bytes > 0)?;
        let (first, lead) = self.after(start - self.offset);
        Some(Self { offset: start, bytes, first, lead, ..*self })
    }

    /// Its whole words; none if there is none.
    pub(super) fn words(&self) -> Option<Self> {
        let skipped = (WORD - self.lead) % WORD;
        let whole = self.bytes.checked_sub(skipped)? / WORD * WORD;
        self.within(self.offset + skipped, self.offset + skipped + whole)
    }

    /// The element, and the byte of it, that so many bytes further on comes from.
    fn after(&self, bytes: u64) -> (u64, u64) {
        match self.source {
            Source::Given { .. } => {
                let bytes = self.lead + bytes;
                (self.first + bytes / WORD, bytes % WORD)
            }
            Source::Foreign { .. } => (0, 0),
        }
    }

    /// Whether `next` goes on where this one ends.
    fn goes_on(&self, next: &Self) -> bool {
        self.offset + self.bytes == next.offset
            && self.source == next.source
            && self.after(self.bytes) == (next.first, next.lead)
    }
}

/// Claims about one kind of memory: pieces by their address. No two overlap.
#[derive(Default)]
pub(super) struct Claims(pub(super) BTreeMap<u64, Piece>);

impl Claims {
    /// The claims about `bytes` at `address`, in order; offsets count from `address`.
    pub(super) fn of(&self, address: u64, bytes: u64) -> Vec<Piece> {
        let end = address.saturating_add(bytes);
        let before = self.0.range(..=address).next_back().map_or(address, |(&start, _)| start);
        let pieces = self.0.range(before..end).filter_map(|(_, it)| it.within(address, end));
        pieces.map(|it| Piece { offset: it.offset - address, ..it }).collect()
    }

    /// Nothing is known any more of `bytes` at `address`.
    pub(super) fn forget(&mut self, address: u64, bytes: u64) {
        let end = address.saturating_add(bytes);
        let before = self.0.range(..=address).next_back().map_or(address, |(&start, _)| start);
        let touched: Vec<u64> = self.0.range(before..end).map(|(&start, _)| start).collect();
        for start in touched {
            let Some(old) = self.0.remove(&start) else { continue };
            let kept = [old.within(0, address), old.within(end, u64::MAX)];
            for piece in kept.into_iter().flatten() {
                self.0.insert(piece.offset, piece);
            }
        }
    }

    /// This is at `address` now.
    pub(super) fn put(&mut self, address: u64, piece: Piece) {
        let mut piece = Piece { offset: address.saturating_add(piece.offset), ..piece };
        if let Some((&start, left)) = self.0.range(..piece.offset).next_back()
            && left.goes_on(&piece)
        {
            piece = Piece { bytes: left.bytes + piece.bytes, ..*left };
            self.0.remove(&start);
        }
        let end = piece.offset + piece.bytes;
        if let Some(right) = self.0.get(&end).copied()
            && piece.goes_on(&right)
        {
            piece.bytes += right.bytes;
            self.0.remove(&end);
        }
        self.0.insert(piece.offset, piece);
    }
}

/// Elements, as spans that do not touch.
#[derive(Default)]
pub(super) struct Elements(pub(super) BTreeMap<u64, u64>);

impl Elements {
    pub(super) fn add(&mut self, first: u64, end: u64) {
        let (mut first, mut end) = (first, end);
        let reaching = self.0.range(..=end).rev();
        let met: Vec<u64> = reaching.take_while(|(_, to)| **to >= first).map(|it| *it.0).collect();
        for start in met {
            if let Some(to) = self.0.remove(&start) {
                (first, end) = (first.min(start), end.max(to));
            }
        }
        self.0.insert(first, end);
    }

    /// Where the span ends that `element` is in.
    pub(super) fn end_of(&self, element: u64) -> Option<u64> {
        let (_, &end) = self.0.range(..=element).next_back()?;
        (element < end).then_some(end)
    }

    /// The span that `element` is in, from there on, or else the next one.
    pub(super) fn next_from(&self, element: u64) -> Option<(u64, u64)> {
        let here = self.end_of(element).map(|end| (element, end));
        here.or_else(|| self.0.range(element..).next().map(|(&first, &end)| (first, end)))
    }

    pub(super) fn count(&self) -> u64 {
        self.0.iter().map(|(first, end)| end - first).sum()
    }
}

/// Elements of a given array as they are given.
pub(super) fn given(array: u32, first: u64, bytes: u64) -> Piece {
    let source = Source::Given { array, station: Station::default() };
    Piece { offset: 0, bytes: bytes / WORD * WORD, source, first, lead: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random, the same each time.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, most: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.0 >> 33) % most
        }
    }

    fn source(array: u32) -> Source {
        Source::Given { array, station: Station::default() }
    }

    #[test]
    fn claims_know_what_an_array_of_words_knows() {
        const WORDS: u64 = 64;
        let mut dice = Dice(7);
        let mut claims = Claims::default();
        let mut words: Vec<Option<(u32, u64)>> = vec![None; WORDS as usize];
        for round in 0..20_000 {
            let at = dice.below(WORDS);
            let count = dice.below(WORDS - at + 1);
            let (array, first) = (dice.below(2) as u32, dice.below(4));
            claims.forget(at * WORD, count * WORD);
            let is_forgotten = dice.below(3) == 0;
            if count > 0 && !is_forgotten {
                let bytes = count * WORD;
                let piece = Piece { offset: 0, bytes, source: source(array), first, lead: 0 };
                claims.put(at * WORD, piece);
            }
            for index in 0..count {
                words[(at + index) as usize] = (!is_forgotten).then_some((array, first + index));
            }
            let from = dice.below(WORDS);
            let mut found = vec![None; (WORDS - from) as usize];
            for piece in claims.of(from * WORD, (WORDS - from) * WORD) {
                let Source::Given { array, .. } = piece.source else { panic!("none is foreign") };
                for index in 0..piece.bytes / WORD {
                    let place = &mut found[(piece.offset / WORD + index) as usize];
                    assert_eq!(*place, None, "round {round}: two pieces overlap");
                    *place = Some((array, piece.first + index));
                }
            }
            assert_eq!(found, words[from as usize..], "round {round}");
        }
        // Neighbours that go on are one.
        claims.forget(0, WORDS * WORD);
        assert!(claims.0.is_empty());
        for at in [2, 0, 3, 1] {
            let piece = Piece { offset: 0, bytes: WORD, source: source(0), first: at, lead: 0 };
            claims.put(at * WORD, piece);
        }
        assert_eq!(claims.0.len(), 1);
    }

    fn words(claims: &Claims, address: u64, bytes: u64) -> Vec<(u64, u64, u64)> {
        let pieces = claims.of(address, bytes);
        let words = pieces.iter().filter_map(Piece::words);
        words.map(|it| (it.offset, it.bytes, it.first)).collect()
    }

    #[test]
    fn half_a_word_is_no_word() {
        let mut claims = Claims::default();
        let piece = Piece { offset: 0, bytes: 16, source: source(0), first: 10, lead: 0 };
        claims.put(100, piece);
        claims.forget(107, 2); // the last byte of one word, and the first of the next
        assert_eq!(words(&claims, 0, 1000), [(100, 4, 10), (112, 4, 13)]);
        assert_eq!(words(&claims, 101, 10), []);
    }

    #[test]
    fn two_halves_that_belong_together_are_a_word_wherever_they_meet() {
        for meet in 1..16 {
            let mut claims = Claims::default();
            let whole = Piece { offset: 0, bytes: 16, source: source(0), first: 10, lead: 0 };
            let halves = [whole.within(0, meet), whole.within(meet, 16)].map(Option::unwrap);
            for half in halves.iter().rev() {
                claims.forget(100 + half.offset, half.bytes);
                claims.put(100, *half);
            }
            assert_eq!(words(&claims, 100, 16), [(0, 16, 10)], "{meet}");
            // The same bytes of another element are no such half.
            let other = Piece { first: halves[1].first + 1, ..halves[1] };
            claims.forget(100 + other.offset, other.bytes);
            claims.put(100, other);
            let known: u64 = words(&claims, 100, 16).iter().map(|it| it.1).sum();
            let split = if meet % WORD == 0 { 0 } else { WORD };
            assert_eq!(known, 16 - split, "{meet}");
        }
    }

    #[test]
    fn elements_are_counted_once() {
        let mut dice = Dice(11);
        let (mut elements, mut model) = (Elements::default(), [false; 100]);
        for _ in 0..200 {
            let first = dice.below(100);
            let end = (first + 1 + dice.below(9)).min(100);
            elements.add(first, end);
            model[first as usize..end as usize].fill(true);
            assert_eq!(elements.count(), model.iter().filter(|it| **it).count() as u64);
            for (at, is_there) in (0..).zip(model) {
                assert_eq!(elements.end_of(at).is_some(), is_there);
            }
        }
    }
}
