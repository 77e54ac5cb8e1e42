//! Memory that `cuMemAlloc` and `cuMemHostAlloc` give: it is mapped in pieces of 2 MiB, which small
//! blocks share.
//!
//! A block of device memory of up to 1 MiB, or of pinned memory below 2 MiB, goes into a piece
//! that has room for it, and the call maps nothing. What was freed there is given out again. A
//! piece of which nothing is in use any more is unmapped in the call that freed the last block of
//! it. Larger blocks have pieces of their own. Measured on an H200 and an H100 (driver 580.159.04,
//! 2026-11-28): of blocks of 64 KiB each thirty-second took long, of 256 KiB each eighth, of 1 MiB
//! each second. Of device memory on the H100, 1 MiB and 512 bytes took long every time. Of pinned
//! memory 1.5 MiB shared a piece on the H200 and 2 MiB did not. Blocks of 512 KiB of
//! device memory did not go into two holes of 256 KiB that were apart. Which of several holes a
//! block goes into was not measured: here it is the smallest that has room for it.

use std::collections::{BTreeMap, BTreeSet};

use trace::program::BlockId;

use super::slot;

/// In the playground each byte of code counts: there, memory is mapped for every block, and
/// `cuMemFree` is not called.
pub(super) const IS_PAGE: bool = cfg!(target_arch = "wasm32");

/// Bytes that are mapped at once.
const PIECE: u64 = 2 << 20;
/// The largest block of device memory that shares a piece, in bytes.
const LARGEST_SHARED: u64 = 1 << 20;
/// The largest block of pinned memory that shares a piece, in bytes.
const LARGEST_SHARED_PINNED: u64 = PIECE - 1;
/// Sizes are rounded up to this, in bytes.
const GRANULARITY: u64 = 512;

/// The pieces that small blocks share.
pub(super) struct Mapping {
    largest_shared: u64,
    /// How long blocks are, by block.
    sizes: Vec<u64>,
    /// Where those are that share a piece.
    starts: Vec<u64>,
    /// Free parts of the pieces: where, and how long.
    gaps: BTreeMap<u64, u64>,
    /// The same by length.
    lengths: BTreeSet<(u64, u64)>,
    /// Where the next piece begins.
    end: u64,
}

impl Mapping {
    /// Of device memory.
    pub(super) fn of_device() -> Self {
        Self::of(LARGEST_SHARED)
    }

    /// Of pinned memory.
    pub(super) fn of_host() -> Self {
        Self::of(LARGEST_SHARED_PINNED)
    }

    fn of(largest_shared: u64) -> Self {
        let (sizes, starts, gaps, lengths) = Default::default();
        Self { largest_shared, sizes, starts, gaps, lengths, end: 0 }
    }

    /// A block is allocated. How many bytes are mapped for it: none where it finds room.
    pub(super) fn allocate(&mut self, block: BlockId, bytes: u64) -> u64 {
        if self.is_apart(bytes) {
            *slot(&mut self.sizes, block.number()) = bytes;
            return Self::of_its_own(bytes);
        }
        let bytes = bytes.max(1).next_multiple_of(GRANULARITY);
        let found = self.lengths.range((bytes, 0)..).next().copied();
        let (length, start) = found.unwrap_or((PIECE, self.end));
        match found {
            Some(_) => self.take(start),
            None => self.end += PIECE,
        }
        if length > bytes {
            self.leave(start + bytes, length - bytes);
        }
        *slot(&mut self.sizes, block.number()) = bytes;
        *slot(&mut self.starts, block.number()) = start;
        if found.is_none() { PIECE } else { 0 }
    }

    /// A block is freed. How many bytes are unmapped with it: none as long as others share its
    /// piece.
    pub(super) fn free(&mut self, block: BlockId) -> u64 {
        let mut length = std::mem::take(slot(&mut self.sizes, block.number()));
        // Nothing is known of a block that was never allocated.
        if length == 0 || self.is_apart(length) {
            return Self::of_its_own(length);
        }
        let mut start = *slot(&mut self.starts, block.number());
        let is_near = |other: u64| other / PIECE == start / PIECE;
        let before = self.gaps.range(..start).next_back().map(|(&at, &length)| (at, length));
        let before = before.filter(|&(at, length)| is_near(at) && at + length == start);
        let after = self.gaps.get(&(start + length)).map(|&more| (start + length, more));
        let after = after.filter(|&(at, _)| is_near(at));
        for (at, more) in [before, after].into_iter().flatten() {
            self.take(at);
            (start, length) = (start.min(at), length + more);
        }
        match length {
            PIECE => PIECE,
            _ => {
                self.leave(start, length);
                0
            }
        }
    }

    /// Whether a block of so many bytes has pieces of its own.
    fn is_apart(&self, bytes: u64) -> bool {
        IS_PAGE || bytes > self.largest_shared
    }

    /// Bytes that are mapped for a block of its own.
    fn of_its_own(bytes: u64) -> u64 {
        bytes.max(if IS_PAGE { 1 } else { PIECE })
    }

    fn take(&mut self, gap: u64) {
        if let Some(length) = self.gaps.remove(&gap) {
            self.lengths.remove(&(length, gap));
        }
    }

    fn leave(&mut self, gap: u64, length: u64) {
        self.gaps.insert(gap, length);
        self.lengths.insert((length, gap));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn mapped(mapping: &mut Mapping, blocks: std::ops::Range<u64>, bytes: u64) -> Vec<u64> {
        blocks.filter(|&block| mapping.allocate(BlockId(block as _), bytes) > 0).collect()
    }

    #[test]
    fn blocks_share_pieces_up_to_one_mib() {
        let first = |bytes| mapped(&mut Mapping::of_device(), 0..128, bytes);
        assert_eq!(first(64 * KIB), [0, 32, 64, 96]);
        assert_eq!(first(256 * KIB).len(), 16);
        assert_eq!(first(1024 * KIB).len(), 64);
        assert_eq!(first(1024 * KIB + 1).len(), 128);
        assert_eq!(first(0), [0]);
        let pinned = |bytes| mapped(&mut Mapping::of_host(), 0..40, bytes).len();
        assert_eq!((pinned(256 * KIB), pinned(1024 * KIB), pinned(1024 * KIB + 1)), (5, 20, 40));
        let mut host = Mapping::of_host();
        assert_eq!(mapped(&mut host, 0..1, 4 * KIB).len(), 1);
        assert_eq!(mapped(&mut host, 1..2, 1536 * KIB).len(), 0);
        assert_eq!(mapped(&mut host, 2..3, 2048 * KIB).len(), 1);
    }

    #[test]
    fn the_last_block_of_a_piece_unmaps_it() {
        let mut mapping = Mapping::of_device();
        mapped(&mut mapping, 0..100, 64 * KIB);
        let unmapped = |order: &mut dyn Iterator<Item = u64>, mapping: &mut Mapping| {
            order.filter(|&block| mapping.free(BlockId(block as _)) > 0).collect::<Vec<_>>()
        };
        assert_eq!(unmapped(&mut (0..100), &mut mapping), [31, 63, 95, 99]);
        mapped(&mut mapping, 0..100, 64 * KIB);
        assert_eq!(unmapped(&mut (0..100).rev(), &mut mapping), [96, 64, 32, 0]);
        assert_eq!((mapping.gaps.len(), mapping.lengths.len()), (0, 0));
    }

    #[test]
    fn a_block_is_mapped_and_unmapped_whole_and_a_second_free_of_one_leaves_no_hole() {
        let mut mapping = Mapping::of_device();
        for bytes in [3 << 20, 64 << 20, (1 << 20) + 1] {
            assert_eq!(mapping.allocate(BlockId(0), bytes), bytes.max(PIECE));
            assert_eq!(mapping.free(BlockId(0)), bytes.max(PIECE));
        }
        assert_eq!(
            (mapping.allocate(BlockId(1), 4 * KIB), mapping.free(BlockId(1))),
            (PIECE, PIECE)
        );
        assert_eq!([1, 7].map(|block| mapping.free(BlockId(block))), [PIECE; 2]);
        assert_eq!((mapping.gaps.len(), mapping.lengths.len()), (0, 0));
    }

    #[test]
    fn a_hole_is_given_out_again_if_it_is_large_enough() {
        let mut mapping = Mapping::of_device();
        mapped(&mut mapping, 0..64, 256 * KIB);
        for block in (0..64).step_by(2) {
            assert_eq!(mapping.free(BlockId(block)), 0);
        }
        assert_eq!(mapped(&mut mapping, 64..80, 512 * KIB).len(), 4);
        assert_eq!(mapped(&mut mapping, 80..112, 256 * KIB).len(), 0);
    }
}
