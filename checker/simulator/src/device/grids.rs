//! Grids: what a launch, a copy or a memset comes to on the multiprocessors, before it is known
//! what runs beside it.
//!
//! Blocks of a grid are equal here. Where a launch shares out items that do not come out even, the
//! extra time of the longer blocks comes at the end of the grid. So does the time that its threads
//! wait for memory: neither keeps blocks of other grids from the multiprocessors.

use trace::program::{Items, Launch, Loop, Pipe};

use super::FULL_SPEED;
use crate::profile::{Pace, Profile};

/// Kernels may be followed multiprocessor by multiprocessor.
pub(super) const FOLLOWED: bool = cfg!(feature = "schedulers");

/// A multiprocessor is divided into this many shares; a kernel of which `n` blocks are resident
/// takes `SHARES / n` for each. Divisible by every residency up to 16 and by 32.
pub(super) const SHARES: u64 = 1_441_440;

/// Threads of a block of the kernel by which the driver copies or clears device memory. Beside
/// kernels of which 6 blocks of 256 threads were resident, a memset of 64 KiB took 33 µs. Beside 7
/// and 8 it took 94 and 108 µs, because it had to wait for blocks to end (NVIDIA H200, driver
/// 580.159.04, 2026-11-23).
const MEMORY_THREADS: u32 = 512;

/// Least work of such a block, in bytes: 16 for each thread. A guess: it decides only how much room
/// small copies and memsets need.
const MEMORY_BLOCK_BYTES: u64 = 16 * MEMORY_THREADS as u64;

/// How much less a block takes that has the memory for itself than one with as many others as
/// there are multiprocessors, in thousandths of what its work takes all memory bandwidth. Maps of 1
/// to 132 blocks of 256 threads took an H200 what follows from that, to 8 %. What follows for
/// blocks of 128 threads is up to 14 % too short (`tests/figures/streams.txt`).
const DISTURBED: u64 = 630;

/// No operation takes longer than this, in ns: work left is counted in 64 bits, and a perturbed
/// schedule makes it 16 times as long.
pub(super) const LONGEST_NS: u64 = u64::MAX / FULL_SPEED / 64;

/// How many there are along all three axes.
fn product(along: [u32; 3]) -> u64 {
    along.iter().fold(1, |all: u64, &n| all.saturating_mul(n.into())).max(1)
}

/// Facts that launches of a kernel have in common.
#[derive(Clone, Copy)]
pub(super) struct Facts {
    pub registers: u32,
    pub shared_bytes: u32,
    pub items: Option<Items>,
    pub inner_loop: Option<Loop>,
    pub rate: Pace,
}

/// Differences of launches that decide how long their grids take.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    units: u64,
    bytes: u64,
}

impl Shape {
    pub(super) fn of(launch: &Launch) -> Self {
        let Launch { grid, block, shared_bytes, units, bytes, .. } = *launch;
        Self { grid, block, shared_bytes, units, bytes }
    }
}

/// The quotient, rounded down. Most dividends fit in 64 bits, and there a division takes a tenth of
/// the time.
pub(super) fn quotient(dividend: u128, divisor: u128) -> u128 {
    match (u64::try_from(dividend), u64::try_from(divisor)) {
        (Ok(dividend), Ok(divisor)) => (dividend / divisor).into(),
        _ => dividend / divisor,
    }
}

/// One launch, as the multiprocessors see it.
#[derive(Clone, Copy)]
pub(super) struct Grid {
    pub(super) priority: i32,
    pub(super) blocks: u64,
    /// Shares of a multiprocessor that a block takes.
    pub(super) shares: u64,
    /// Time of a block that has a multiprocessor to itself, in ns.
    pub(super) block_ns: u64,
    /// Of a multiprocessor's throughput, what such a block uses, in millionths.
    pub(super) block_load: u64,
    /// Of the device's memory bandwidth, what such a block uses, in millionths of millionths.
    pub(super) block_traffic: u64,
    pub(super) fixed_ns: u64,
    /// More of that where nothing that it reads is in the cache, in ns.
    pub(super) uncached_ns: u64,
    pub(super) multiprocessors: u64,
    /// Of a block.
    pub(super) warps: u16,
    pub(super) inner_loop: Option<Loop>,
    /// How often a thread waits for memory, in a kernel that memory does not bound.
    pub(super) waits: u64,
}

impl Grid {
    /// Its time on an empty device, in ns, if its waves came one after the other.
    pub(super) fn alone_ns(&self) -> u64 {
        let at_once = (SHARES / self.shares.max(1)).saturating_mul(self.multiprocessors).max(1);
        self.block_ns.saturating_mul(self.blocks.div_ceil(at_once)).saturating_add(self.fixed_ns)
    }

    /// Speed that so many of its blocks on one multiprocessor allow each other, of [`FULL_SPEED`].
    pub(super) fn allow(&self, together: u64) -> u64 {
        (FULL_SPEED * FULL_SPEED / (together * self.block_load).max(1)).min(FULL_SPEED)
    }

    /// Makes what is fixed in it so much shorter, in ns.
    pub(super) fn save(&mut self, ns: u64) {
        self.fixed_ns = self.fixed_ns.saturating_sub(ns);
    }

    /// The grid of a launch of priority 0; none if a single block does not fit on a multiprocessor.
    pub(super) fn new(launch: &Shape, facts: &Facts, profile: &Profile) -> Option<Self> {
        let threads = u32::try_from(product(launch.block)).unwrap_or(u32::MAX);
        let resident = u64::from(profile.resident_blocks(
            threads,
            facts.registers,
            facts.shared_bytes.saturating_add(launch.shared_bytes),
        ));
        if resident == 0 {
            return None;
        }
        let blocks =
            facts.items.map_or(product(launch.grid), |it| Portions::of(launch, it, facts).blocks);
        let warps = u64::from(threads.div_ceil(32).max(1));
        let throughput = facts.rate.units_per_us_multiprocessor.max(1);
        let parts = profile.chip.multiprocessors.value.max(1);
        let is_of = |pipe| FOLLOWED && facts.inner_loop.is_some_and(|inner| inner.pipe == pipe);
        let by_memory = is_of(Pipe::Memory);
        let spread = if by_memory { parts.min(blocks).max(1) } else { parts };
        // Warps of products take turns, and two of them on a scheduler leave the tensor cores no
        // gap: 256 threads on each multiprocessor do as much as 2048 (`tests/figures/pairs.tsv`).
        let alone = if is_of(Pipe::Tensor) {
            facts.rate.in_turn(warps)
        } else {
            facts.rate.units_per_us(warps)
        };
        let per_block = |work: u64, parts: u64, speed: u64| {
            let whole = u128::from(blocks) * u128::from(speed);
            let ns = (u128::from(work) * 1000 * u128::from(parts)).div_ceil(whole);
            ns.min(LONGEST_NS.into()) as u64
        };
        // What a block takes beside its work holds its multiprocessor as a whole.
        let (own_ns, least_ns) =
            (per_block(launch.units, 1, alone), per_block(launch.units, 1, throughput));
        // A kernel that memory bounds has it for itself where it is on few multiprocessors.
        let undisturbed_ns = least_ns / 1000 * DISTURBED * (parts - spread) / parts;
        let compute_ns = own_ns.saturating_sub(undisturbed_ns).saturating_add(facts.rate.block_ns);
        let busy_ns = least_ns.saturating_add(facts.rate.block_ns);
        let bandwidth = profile.chip.memory_bytes_per_us.value.max(1);
        // One block draws at most its multiprocessor's part of the memory bandwidth.
        let memory_ns = per_block(launch.bytes, parts, bandwidth);
        let whole_ns = per_block(launch.bytes, spread, bandwidth);
        let block_ns = compute_ns.max(whole_ns).clamp(1, LONGEST_NS);
        let load_of = |ns: u64, whole: u64| {
            (u128::from(ns) * u128::from(whole) / u128::from(block_ns)) as u64
        };
        let memory_ns = if by_memory { memory_ns.max(busy_ns) } else { memory_ns };
        // Where memory is the limit, waiting for it is what its bandwidth takes.
        let waits = if compute_ns > memory_ns { waits(launch, facts) } else { 0 };
        let waiting = |each_ns: u64| waits.saturating_mul(each_ns).min(LONGEST_NS);
        // Other kernels have it in their rates.
        let uncached_ns = match facts.rate.wait_ns {
            0 => 0,
            _ => profile.chip.uncached_ns.value + waiting(profile.chip.uncached_wait_ns.value),
        };
        Some(Self {
            priority: 0,
            multiprocessors: parts,
            warps: u16::try_from(warps).unwrap_or(u16::MAX),
            inner_loop: facts.inner_loop,
            waits: if FOLLOWED && !by_memory { waits } else { 0 },
            blocks,
            shares: SHARES / resident,
            block_ns,
            block_load: load_of(busy_ns * spread / parts, FULL_SPEED),
            block_traffic: load_of(
                memory_ns,
                FULL_SPEED * FULL_SPEED / profile.chip.multiprocessors.value,
            ),
            fixed_ns: facts
                .rate
                .fixed_ns
                .saturating_add(waiting(facts.rate.wait_ns))
                .saturating_add(tail_ns(launch, facts, resident, profile)),
            uncached_ns,
        })
    }
}

impl Grid {
    /// The grid of a copy or memset inside device memory, which takes `ns` for its bytes where it
    /// is alone.
    pub(super) fn of_memory(ns: u64, bytes: u64, profile: &Profile) -> Self {
        let resident = u64::from(profile.resident_blocks(MEMORY_THREADS, 0, 0)).max(1);
        let multiprocessors = profile.chip.multiprocessors.value.max(1);
        let blocks = bytes.div_ceil(MEMORY_BLOCK_BYTES).clamp(1, resident * multiprocessors);
        Self {
            priority: 0,
            blocks,
            shares: SHARES / resident,
            block_ns: ns.max(1),
            block_load: 0,
            // All of its blocks together use what bandwidth there is.
            block_traffic: FULL_SPEED * FULL_SPEED / blocks,
            fixed_ns: profile.copies.device_fixed_ns.value,
            uncached_ns: 0,
            multiprocessors,
            warps: 0,
            inner_loop: None,
            waits: 0,
        }
    }
}

/// How the items of a launch are shared out.
struct Portions {
    items: u64,
    /// Blocks that have any: those after the last item have nothing to do.
    blocks: u64,
    /// Of a block.
    threads: u64,
    /// Items of each thread …
    each: u64,
    /// … and how many threads have one more: the first ones.
    more: u64,
}

impl Portions {
    fn of(launch: &Shape, items: Items, facts: &Facts) -> Self {
        let threads = product(launch.block);
        let items = launch.bytes / u64::from(items.bytes.max(1));
        // Of kernels that say nothing of what they issue all blocks count, as when they were
        // measured.
        let with_items =
            if facts.inner_loop.is_some() { items.div_ceil(threads).max(1) } else { u64::MAX };
        let blocks = product(launch.grid).min(with_items);
        let all = blocks.saturating_mul(threads);
        Self { items, blocks, threads, each: items / all, more: items % all }
    }
}

/// How often a thread waits for memory: each time that it takes up items.
fn waits(launch: &Shape, facts: &Facts) -> u64 {
    let Some(items) = facts.items else { return 0 };
    let Portions { each, more, .. } = Portions::of(launch, items, facts);
    let together = u64::from(items.together.max(1));
    let often = if FOLLOWED { items.waits.into() } else { 1 };
    let times = |each: u64| (each / together + each % together).saturating_mul(often);
    if more > 0 { times(each).max(times(each + 1)) } else { times(each) }
}

/// Time that a grid takes longer than if its blocks all did the same, in ns. Where the items do not
/// come out even, the blocks that have one more come together on some multiprocessors, which are at
/// work while the others are done. Blocks of another grid may be there then.
fn tail_ns(launch: &Shape, facts: &Facts, resident: u64, profile: &Profile) -> u64 {
    let Some(items) = facts.items else { return 0 };
    let Portions { items, blocks, threads, mut more, .. } = Portions::of(launch, items, facts);
    let multiprocessors = profile.chip.multiprocessors.value.max(1);
    let used = blocks.min(multiprocessors);
    let mut on_each = blocks.div_ceil(multiprocessors);
    // In several waves, a multiprocessor that is done gets the next block.
    if on_each > resident {
        return 0;
    }
    let launched = product(launch.grid);
    if FOLLOWED && more == 0 && launched > blocks {
        // The other blocks have none. They too are dispatched, two or more to a multiprocessor.
        (more, on_each) = (items, launched / multiprocessors);
    }
    if more == 0 {
        return 0;
    }
    let longer = more.div_ceil(threads);
    let on_fullest = longer.div_ceil(profile.chip.turn_blocks.value.max(1)).min(on_each);
    // More than the even share of the longer blocks, in blocks times `used`.
    let excess = (on_fullest * used).saturating_sub(longer);
    let units = u128::from(excess) * u128::from(threads) * u128::from(launch.units);
    let speed = u128::from(facts.rate.units_per_us_multiprocessor.max(1)) * u128::from(used);
    (units / u128::from(items) * 1000 / speed).min(LONGEST_NS.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_a_grid_takes_its_waves_one_after_the_other_and_what_is_fixed_once() {
        let profile: Profile = toml::from_str(Profile::H200).expect("the profile is valid");
        let block_ns = 1_000;
        let grid = Grid { block_ns, ..Grid::of_memory(1, 1, &profile) };
        let at_once = SHARES / grid.shares * grid.multiprocessors;
        let alone = |blocks: u64| Grid { blocks, ..grid }.alone_ns() - grid.fixed_ns;
        assert_eq!([1, at_once, at_once + 1].map(alone), [block_ns, block_ns, 2 * block_ns]);
    }

    #[test]
    fn a_block_with_less_than_its_share_of_items_counts_and_one_without_any_does_not() {
        let rate = Pace {
            units_per_us_warp: 1,
            units_per_us_multiprocessor: 1,
            fixed_ns: 0,
            block_ns: 0,
            wait_ns: 0,
        };
        let items = Items { bytes: 4, together: 1, waits: 1 };
        let inner_loop = Some(Loop { pipe: Pipe::Integers, each_turn: 1, chains: 1, others: 0 });
        let facts = Facts { registers: 0, shared_bytes: 0, items: Some(items), inner_loop, rate };
        let shape =
            |bytes| Shape { grid: [8, 1, 1], block: [256, 1, 1], shared_bytes: 0, units: 0, bytes };
        let blocks = |count: u64| Portions::of(&shape(4 * count), items, &facts).blocks;
        assert_eq!([1, 256, 257, 512, 10_000].map(blocks), [1, 1, 2, 2, 8]);
    }
}
