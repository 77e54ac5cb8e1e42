//! Device memory that the device's own cache has.
//!
//! A thread waits longer for elements that come from memory. `tests/figures/cached.cu` shows it on
//! an H200 (driver 580.159.04, 2026-12-01): a map of one block on each multiprocessor, with 201
//! rounds. For its first elements it took 0.4 µs longer if a copy up had just brought them, and for
//! each four more of a thread 0.2 to 0.3. In a row of such kernels each took 0.7 µs longer.
//!
//! What counts is where a kernel reads. What a kernel has read or written is there afterwards, and
//! a copy down leaves it there. A copy up leaves nothing. What a memset or a copy inside device
//! memory had written took later kernels 0.1 µs more for each four elements; here, nothing. Copies
//! up and down of 128 MiB at other places changed nothing either. Other kernels did, and memsets:
//! after 16 MiB of a kernel's it was all there, after 32 MiB in part, and after 48 it was gone. The
//! device says that its cache has 60 MiB; each half of the device caches for itself what it uses.
//!
//! Here a range is there as a whole until kernels have brought in as much as there is room for.

use std::collections::BTreeMap;

use trace::program::{BlockId, Range};

use super::grids::Grid;
use super::{Device, OperationId, Work, at};

/// Ranges of device memory that kernels have used last.
#[derive(Default)]
pub(super) struct Cache {
    /// By where they begin. None of them overlap.
    ranges: BTreeMap<(BlockId, u64), Kept>,
    /// How much has been brought in, in bytes.
    brought: u64,
    /// With so many ranges, those that are gone are forgotten.
    crowded: usize,
}

/// A range that was used.
#[derive(Clone, Copy)]
struct Kept {
    end: u64,
    /// How much had been brought in before it.
    brought: u64,
}

impl Cache {
    /// A kernel uses a range. How many of its bytes come from memory: those that it reads and that
    /// have not stayed in a cache of `most` bytes.
    pub(super) fn take(&mut self, range: Range, most: u64) -> u64 {
        if range.bytes == 0 {
            return 0;
        }
        let before = self.brought;
        let oldest = before.saturating_sub(most);
        // Most kernels use what another has used as it is.
        let end = range.offset.saturating_add(range.bytes);
        if let Some(known) = self.ranges.get_mut(&(range.block, range.offset))
            && known.end == end
            && known.brought >= oldest
        {
            known.brought = before;
            return 0;
        }
        let missing = range.bytes - self.remove(range, oldest);
        self.brought = before.saturating_add(missing);
        if range.bytes <= most {
            self.ranges.insert((range.block, range.offset), Kept { end, brought: before });
        }
        if self.ranges.len() > self.crowded {
            let oldest = self.brought.saturating_sub(most);
            self.ranges.retain(|_, it| it.brought >= oldest);
            self.crowded = 64 + 2 * self.ranges.len();
        }
        missing
    }

    /// Something else writes a range, past the cache.
    pub(super) fn lose(&mut self, range: Range) {
        self.remove(range, 0);
    }

    /// Takes a range out. How many of its bytes were brought in no earlier than `oldest`.
    fn remove(&mut self, range: Range, oldest: u64) -> u64 {
        let Range { block, offset, bytes } = range;
        let end = offset.saturating_add(bytes);
        let mut found = 0;
        // The last one that begins before the end, again and again.
        while let Some((&(_, from), &known)) =
            self.ranges.range((block, 0)..(block, end)).next_back()
            && known.end > offset
        {
            self.ranges.remove(&(block, from));
            if known.brought >= oldest {
                found += known.end.min(end) - from.max(offset);
            }
            if known.end > end {
                self.ranges.insert((block, end), known);
            }
            if from < offset {
                self.ranges.insert((block, from), Kept { end: offset, ..known });
                break;
            }
        }
        found
    }
}

impl Device {
    /// A copy engine writes a range.
    pub(super) fn pass_cache(&mut self, target: Range) {
        if target.bytes > 0 {
            self.units[at(target.block.device())].cache.lose(target);
        }
    }

    /// An operation on the multiprocessors uses a range. How many of its bytes come from memory.
    pub(super) fn take_to_cache(&mut self, id: OperationId, range: Range) -> u64 {
        let device = self.operations[id].device;
        if range.block.device() != u32::from(device) || self.is_pinned(range.block) {
            return range.bytes; // what it has of other memory is not followed
        }
        let most = self.profile.chip.cache_bytes.value;
        self.units[at(device.into())].cache.take(range, most)
    }

    /// A kernel is about to start. Its grid, with the time that it waits for what it reads.
    pub(super) fn read_by_cache(&mut self, id: OperationId, source: Range, target: Range) -> Grid {
        let missing = self.take_to_cache(id, source);
        self.take_to_cache(id, target);
        let Work::Kernel { grid, .. } = &mut self.operations.in_flight_mut(id).work else {
            unreachable!("only kernels read by the cache")
        };
        let more = u128::from(grid.uncached_ns) * u128::from(missing);
        grid.fixed_ns += (more / u128::from(source.bytes.max(1))) as u64;
        *grid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(block: u32, offset: u64, bytes: u64) -> Range {
        Range { block: BlockId(block), offset, bytes }
    }

    /// A cache of 100 bytes into which these came.
    fn of(used: &[Range]) -> Cache {
        let mut cache = Cache::default();
        used.iter().for_each(|&it| _ = cache.take(it, 100));
        cache
    }

    #[test]
    fn what_a_kernel_has_used_is_there_for_the_next_and_nothing_else_is() {
        let mut cache = of(&[range(0, 10, 20)]);
        assert_eq!(cache.take(range(0, 10, 20), 100), 0);
        assert_eq!(cache.take(range(0, 15, 5), 100), 0);
        assert_eq!(cache.take(range(1, 10, 20), 100), 20);
        assert_eq!(cache.take(range(0, 0, 40), 100), 20);
    }

    #[test]
    fn a_range_stays_until_as_much_has_been_brought_in_as_there_is_room_for() {
        let stays =
            |others: u64| of(&[range(0, 0, 40), range(1, 0, others)]).take(range(0, 0, 40), 100);
        assert_eq!([10, 60, 61, 100, 500].map(stays), [0, 0, 40, 40, 40]);
        // What is used again and again brings nothing in.
        let again = [range(1, 0, 50); 10];
        assert_eq!(of(&[&[range(0, 0, 40)][..], &again].concat()).take(range(0, 0, 40), 100), 0);
        // And what is used meanwhile stays longer.
        let used = [range(0, 0, 40), range(1, 0, 50), range(0, 0, 40), range(2, 0, 50)];
        assert_eq!(of(&used).take(range(0, 0, 40), 100), 0);
    }

    #[test]
    fn more_than_there_is_room_for_is_never_there() {
        assert_eq!(of(&[range(0, 0, 101)]).take(range(0, 0, 101), 100), 101);
        assert_eq!(of(&[range(0, 0, 101)]).take(range(0, 90, 5), 100), 5);
        assert_eq!(of(&[range(1, 0, 9), range(0, 0, 101)]).take(range(1, 0, 9), 100), 9);
    }

    #[test]
    fn what_something_else_writes_is_gone_and_what_lies_beside_it_is_not() {
        let mut cache = of(&[range(0, 0, 10), range(0, 10, 10), range(0, 20, 10)]);
        cache.lose(range(0, 5, 20));
        let found = [(0, 5), (5, 5), (10, 10), (20, 5), (25, 5)]
            .map(|(offset, bytes)| cache.take(range(0, offset, bytes), 100));
        assert_eq!(found, [0, 5, 10, 5, 0]);
    }

    #[test]
    fn there_are_few_ranges_that_are_gone() {
        let mut cache = Cache::default();
        (0..10_000).for_each(|block| _ = cache.take(range(block, 0, 10), 100));
        assert!(cache.ranges.len() <= 64 + 2 * 10, "{}", cache.ranges.len());
    }
}
