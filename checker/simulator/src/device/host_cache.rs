//! Pinned memory that is still in the cache of the host's core.
//!
//! A copy engine that reads what the host has just copied there takes longer: the data comes out of
//! that core's cache. On an H200 (driver 580.159.04, 2026-11-29) a copy up of 512 KiB took 18 µs,
//! and 31 once the host had copied the data to its place. Its cores had 2 MiB of cache each. Of
//! more than that a part had left the cache: copies of 1 to 8 MiB took 17 to 20 µs longer. Waiting
//! for 20 ms did not change it. A second copy of the same data took as long as any other. Smaller
//! copies took longer too (2026-11-30): 0.4 to 0.6 µs for 16 KiB, 2.5 for 64, 4 for 128, 7 to 8 for
//! 256. In a graph with two sets of buffers a batch with 128 KiB of such data took 6 to 8 µs more.
//!
//! All threads count as one core, as they do for the work that they declare. What is in the cache
//! is asked when a copy is called, though others may be written before it starts. A copy down to
//! where the host has just written takes as long as any other here; on that H200 it took 18 µs
//! longer for 1 MiB.

use std::collections::VecDeque;

use trace::program::Range;

/// Ranges below a page do not count, in bytes: a copy of one takes 0.1 µs longer at this rate.
const LEAST: u64 = 4 << 10;

/// The ranges of pinned memory that the host has written last.
#[derive(Default)]
pub(super) struct HostCache {
    /// The oldest first.
    ranges: VecDeque<Range>,
}

impl HostCache {
    /// The host writes a range. What was written longest ago makes room, so that there are no more
    /// than `most` bytes.
    pub(super) fn write(&mut self, range: Range, most: u64) {
        self.read(range);
        self.keep(range);
        let held: u64 = self.ranges.iter().map(|it| it.bytes).sum();
        let mut excess = held.saturating_sub(most);
        while excess > 0
            && let Some(oldest) = self.ranges.pop_front()
        {
            let gone = oldest.bytes.min(excess);
            excess -= gone;
            let (offset, bytes) = (oldest.offset + gone, oldest.bytes - gone);
            if bytes >= LEAST {
                self.ranges.push_front(Range { offset, bytes, ..oldest });
            }
        }
    }

    /// A copy engine reads a range. How many of its bytes were in the cache, where they are no
    /// longer.
    pub(super) fn read(&mut self, range: Range) -> u64 {
        let end = |it: &Range| it.offset.saturating_add(it.bytes);
        let mut found = 0;
        for known in std::mem::take(&mut self.ranges) {
            let (from, to) = (known.offset.max(range.offset), end(&known).min(end(&range)));
            if known.block != range.block || from >= to {
                self.ranges.push_back(known);
                continue;
            }
            found += to - from;
            self.keep(Range { bytes: from - known.offset, ..known });
            self.keep(Range { offset: to, bytes: end(&known) - to, ..known });
        }
        found
    }

    fn keep(&mut self, range: Range) {
        if range.bytes >= LEAST {
            self.ranges.push_back(range);
        }
    }
}

#[cfg(test)]
mod tests {
    use trace::program::BlockId;

    use super::*;

    const KIB: u64 = 1 << 10;

    fn range(block: u32, first: u64, kib: u64) -> Range {
        Range { block: BlockId(block), offset: first * KIB, bytes: kib * KIB }
    }

    /// A cache of 600 KiB.
    fn of(written: &[Range]) -> HostCache {
        let mut cache = HostCache::default();
        written.iter().for_each(|&range| cache.write(range, 600 * KIB));
        cache
    }

    #[test]
    fn what_was_written_is_there_once_and_a_second_reader_finds_none_of_it() {
        let mut cache = of(&[range(0, 64, 128)]);
        assert_eq!(cache.read(range(1, 64, 128)), 0);
        assert_eq!(cache.read(range(0, 0, 100)), 36 * KIB);
        assert_eq!(cache.read(range(0, 0, 256)), (128 - 36) * KIB);
        assert_eq!(cache.read(range(0, 0, 256)), 0);
    }

    #[test]
    fn what_was_written_longest_ago_makes_room() {
        let mut cache = of(&[range(0, 0, 300), range(1, 0, 200), range(2, 0, 200)]);
        let left = [0, 1, 2].map(|block| cache.read(range(block, 0, 300)));
        assert_eq!(left, [200, 200, 200].map(|kib| kib * KIB));
        // Of more than there is room for, the end is left.
        assert_eq!(of(&[range(0, 0, 4096)]).read(range(0, 0, 4096 - 600)), 0);
        assert_eq!(of(&[range(0, 0, 4096)]).read(range(0, 0, 4096)), 600 * KIB);
    }

    #[test]
    fn what_is_written_again_counts_once() {
        let again = [range(0, 0, 300), range(1, 0, 300), range(0, 0, 300), range(2, 0, 300)];
        let left = [0, 1, 2].map(|block| of(&again).read(range(block, 0, 300)));
        assert_eq!(left, [300, 0, 300].map(|kib| kib * KIB));
    }

    #[test]
    fn there_are_never_more_ranges_than_pages() {
        let mut cache = HostCache::default();
        for page in 0..10_000 {
            cache.write(range(0, 8 * page, 4), 600 * KIB);
            cache.write(range(0, 8 * page, 1), 600 * KIB);
        }
        assert!(cache.ranges.len() <= 150, "{}", cache.ranges.len());
    }
}
