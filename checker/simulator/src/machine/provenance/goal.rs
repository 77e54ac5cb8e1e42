//! The goal of the open region's task: the arrays that are made, and the ways that lead to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use trace::record::Origin;

use super::claims::{Piece, Source, Station, WORD};
use crate::machine::library::{KernelStep, Task};

/// Words that are computed at once, to be compared.
pub(super) const BATCH: usize = 4096;

/// The task of the region that is open.
pub(super) struct Goal {
    pub(super) task: Arc<dyn Task>,
    pub(super) seed: u64,
    /// For each array that is given, the longest way that is made of it.
    ways: BTreeMap<u32, Vec<KernelStep>>,
    /// The arrays that are made, what each is made from, and at which of its stations.
    pub(super) made: Vec<(u32, u32, Station)>,
}

impl Goal {
    pub(super) fn new(task: Arc<dyn Task>, seed: u64) -> Self {
        let (mut ways, mut made) = (BTreeMap::<u32, Vec<KernelStep>>::new(), Vec::new());
        for (array, (from, way)) in (0..).map_while(|array| Some((array, task.origin(array)?))) {
            made.push((array, from, Station { steps: way.len(), rounds: 0 }));
            let known = ways.entry(from).or_default();
            if known.len() < way.len() {
                *known = way;
            }
        }
        Self { task, seed, ways, made }
    }

    /// Where an element is after so many rounds of a kernel, in a launch of so many blocks over so
    /// many elements.
    pub(super) fn advance(
        &self,
        array: u32,
        from: Station,
        kernel: &str,
        rounds: u64,
        (blocks, elements): (u64, u64),
    ) -> Result<Station, Origin> {
        let way = self.ways.get(&array).map_or(&[][..], |way| way);
        let (mut at, mut left) = (from, rounds);
        while left > 0 {
            let next = way.get(at.steps).filter(|next| next.kernel == kernel);
            let next = next.ok_or(Origin::Kernel)?;
            if next.small.is_some_and(|small| !small.holds(blocks, elements)) {
                return Err(Origin::Grid);
            }
            let taken = left.min(next.rounds.saturating_sub(at.rounds));
            left -= taken;
            at.rounds += taken;
            if at.rounds >= next.rounds {
                at = Station { steps: at.steps + 1, rounds: 0 };
            }
        }
        Ok(at)
    }

    /// The output arrays for which the device has finished the elements in `piece`.
    pub(super) fn finished(&self, piece: &Piece) -> impl Iterator<Item = u32> + '_ {
        let (source, end) = match piece.source {
            Source::Given { array, station } => (Some(array), station),
            Source::Foreign { .. } => (None, Station::default()),
        };
        // What is given on the host and goes through no kernel is on the host without the device's
        // doing.
        let without = |array| end.steps == 0 && self.task.on_host().contains(&array);
        let source = source.filter(|&array| !without(array));
        let is_end = move |&&(made, from, at): &&(u32, u32, Station)| {
            Some(from) == source && made != from && at == end
        };
        self.made.iter().filter(is_end).map(|(made, ..)| *made)
    }

    /// Whether bytes are what is claimed of them: those of a given array from an element, and a
    /// byte of it, on.
    pub(super) fn bears_out(
        &self,
        array: u32,
        station: Station,
        (first, lead): (u64, u64),
        bytes: &[u8],
    ) -> bool {
        let word = WORD as usize;
        let (lead, mut first) = (lead as usize, first);
        // What is only a part of a word is filled up with what it would have to be.
        let is_part = |first: u64, from: usize, part: &[u8]| {
            let expected = self.word(array, station, first).to_le_bytes();
            expected[from..from + part.len()] == *part
        };
        let head = if lead > 0 { (word - lead).min(bytes.len()) } else { 0 };
        if head > 0 {
            if !is_part(first, lead, &bytes[..head]) {
                return false;
            }
            first += 1;
        }
        let whole = (bytes.len() - head) / word;
        let (middle, tail) = bytes[head..].split_at(whole * word);
        self.alike(array, station, first, middle) == whole
            && (tail.is_empty() || is_part(first + whole as u64, 0, tail))
    }

    /// One element of a given array, at a station of its way.
    fn word(&self, array: u32, station: Station, element: u64) -> u32 {
        let mut word = [0];
        self.task.passed(array, self.seed, element, &self.passed(array, station), &mut word);
        word[0]
    }

    /// The kernels that elements have gone through at a station of their way.
    fn passed(&self, array: u32, station: Station) -> Vec<KernelStep> {
        let way = self.ways.get(&array).map_or(&[][..], |way| way);
        let mut passed = way[..station.steps.min(way.len())].to_vec();
        if let Some(next) = way.get(station.steps).filter(|_| station.rounds > 0) {
            passed.push(KernelStep { rounds: station.rounds, ..next.clone() });
        }
        passed
    }

    /// Whether the bytes are what elements of a given array are, from `first` on, at a station of
    /// their way. How many of the words are, if not all.
    pub(super) fn alike(&self, array: u32, station: Station, first: u64, bytes: &[u8]) -> usize {
        let passed = self.passed(array, station);
        let mut expected = [0; BATCH];
        let mut alike = 0;
        for words in bytes.chunks(BATCH * WORD as usize) {
            let (words, _) = words.as_chunks::<{ WORD as usize }>();
            let expected = &mut expected[..words.len()];
            self.task.passed(array, self.seed, first + alike as u64, &passed, expected);
            let same =
                |(word, expected): &(&[u8; 4], &u32)| u32::from_le_bytes(**word) == **expected;
            let count = words.iter().zip(expected.iter()).take_while(same).count();
            alike += count;
            if count < words.len() {
                break;
            }
        }
        alike
    }
}
