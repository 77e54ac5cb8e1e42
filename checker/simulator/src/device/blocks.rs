//! Grids, dispatched block by block onto the multiprocessors.
//!
//! The waiting grids are served in order of priority, then of readiness. A grid's blocks are
//! dispatched in groups of equal blocks, as many as fit; the next grid's turn comes when the last
//! block of the one before it has been placed (the leftover policy). Resident blocks share memory
//! bandwidth: while the sum of what they could use alone is more than there is, all are slower.
//!
//! Kernels that say what their warps issue ([`Loop`]) are placed and followed multiprocessor by
//! multiprocessor, in sets of those that have the same residents. A block goes where there is most
//! room. A grid that found no room when its turn came takes what comes free first, as much of one
//! multiprocessor as there is, since the others of its set are free only a moment later. Kernels
//! that share a multiprocessor leave each other what [`scheduler`] says, and of the blocks of one
//! kernel the oldest go first where they are too many for it. As soon as one is there that says
//! nothing, all multiprocessors count as equally full until none has blocks, and what their blocks
//! could use of the device's throughput is shared as bandwidth is.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use trace::program::{Loop, Pipe};

use super::grids::{FOLLOWED, Grid, LONGEST_NS, SHARES, quotient};
use super::ready_queue::Waiting;
use super::{Device, Effects, Event, FULL_SPEED, OperationId, Work, at, scheduler};
use crate::profile::{Profile, SCHEDULERS};

/// Blocks are dispatched one wave after the other up to so many waves of a grid; beyond, several
/// waves go as one that takes as long as they do together. The difference cannot be seen in a
/// kernel of ten thousand waves, and one of a million million comes to its end.
const MOST_WAVES: u64 = 10_000;

/// Equal blocks of one grid that were dispatched together and end together.
#[derive(Clone, Copy)]
struct Group {
    id: OperationId,
    grid: Grid,
    blocks: u64,
    /// Work left, in ns of a block alone times [`FULL_SPEED`].
    left: u64,
    /// Of [`FULL_SPEED`].
    speed: u64,
    /// Share that the other blocks on its multiprocessors leave it, of [`FULL_SPEED`]; memory
    /// bandwidth apart.
    beside: u64,
    /// Its part of what its multiprocessor gets of the memory bandwidth, in thousandths of an even
    /// one.
    by_age: u64,
    /// Its work is done, but for what its threads wait for memory longer than they would alone.
    waits: bool,
}

/// Multiprocessors that have the same residents: the older groups first.
struct Set {
    multiprocessors: u64,
    /// Index into [`MEMORY_PARTS`]: as near to memory as these are.
    part: usize,
    groups: Vec<Group>,
}

/// How much memory bandwidth multiprocessors get while blocks could use much more than there is: so
/// many of eleven get such a part, in thousandths of what the last ones get. Of 132 there were 24
/// with more than the others. A streaming map with 7 blocks on each multiprocessor was over after
/// 65 to 72 % of its time on half of these, and after 75 to 80 % on the others. With these parts it
/// is over after 68 and 76 %.
///
/// The numbers from here on are of `tests/figures/beside.cu` (NVIDIA H200, driver 580.159.04,
/// 2026-12-01).
const MEMORY_PARTS: [(u64, u128); 3] = [(1, 1607), (1, 1415), (9, 1000)];

/// All get even parts until blocks could use so many thousandths of what there is …
const EVEN_UP_TO: u128 = 1700;
/// … and such parts from there on. Two blocks on each multiprocessor could use 1.74 times as much,
/// three 2.6 times. The first of two were over after 91 to 93 % of the time where the map was long,
/// those of three after 71 to 78 %.
const UNEVEN_FROM: u128 = 2600;

/// Of blocks of a streaming map that share a multiprocessor the oldest go first where they are
/// many. By how many warps there are, how much more of its bandwidth the oldest one gets, in
/// thousandths, and the youngest one less. Of eight blocks the first was over after 85 % of the
/// time, of seven after 93 %, and of four after more than 98 %.
const BY_AGE: [(u64, u64); 3] = [(64, 176), (56, 75), (48, 30)];

/// Bytes that a thread of a streaming map has under way while it waits: four loads of 16 bytes.
const UNDER_WAY_BYTES: u64 = 64;

/// How often the end of a kernel and the start of the next one wait for memory: fitted to the first
/// two products beside six and seven blocks in `tests/figures/steps.txt`.
const END_WAITS: u64 = 4;

impl Set {
    /// Shares that are free on each, rounded down.
    fn free_shares(&self) -> u64 {
        let taken: u64 = self.groups.iter().map(|group| group.blocks * group.grid.shares).sum();
        (self.multiprocessors * SHARES).saturating_sub(taken) / self.multiprocessors
    }

    /// Leaves so many multiprocessors in it and gives the others.
    fn split_off(&mut self, multiprocessors: u64) -> Self {
        let whole = std::mem::replace(&mut self.multiprocessors, multiprocessors);
        let mut others = Self {
            multiprocessors: whole - multiprocessors,
            part: self.part,
            groups: self.groups.clone(),
        };
        for (kept, other) in self.groups.iter_mut().zip(&mut others.groups) {
            kept.blocks = kept.blocks * multiprocessors / whole;
            other.blocks -= kept.blocks;
        }
        others
    }

    /// Sets what the blocks on one of these multiprocessors leave each other. The order in which
    /// those of one kernel end matters to an operation that waits, and to other kernels beside it;
    /// what a kernel takes alone is measured, tail and all.
    fn share(&mut self, mixes: &mut Mixes, is_awaited: bool) {
        // Kernels by age, with how many blocks each has here.
        let mut kernels: SmallVec<[(OperationId, Grid, u64); 4]> = SmallVec::new();
        for group in self.groups.iter().filter(|group| !group.waits) {
            let blocks = group.blocks / self.multiprocessors;
            match kernels.iter_mut().find(|kernel| kernel.0 == group.id) {
                Some(known) => known.2 += blocks,
                None => kernels.push((group.id, group.grid, blocks)),
            }
        }
        let mix = kernels.iter().filter_map(|(_, grid, blocks)| {
            Some((grid.inner_loop?, (blocks * u64::from(grid.warps)).div_ceil(SCHEDULERS)))
        });
        let permille = match kernels.len() {
            0 | 1 => &vec![1000],
            _ => &*mixes.entry(mix.collect()).or_insert_with_key(|mix| scheduler::left(mix)),
        };
        let ordered = is_awaited || kernels.len() > 1;
        for ((id, grid, blocks), permille) in kernels.into_iter().zip(permille) {
            // Memory, which bounds some, is no part of a multiprocessor.
            let load = match grid.inner_loop {
                Some(Loop { pipe: Pipe::Memory, .. }) | None => 1,
                Some(_) => grid.block_load.max(1),
            };
            let all = (FULL_SPEED * FULL_SPEED / load).min(blocks * FULL_SPEED);
            let mut left = all * permille / 1000;
            // Where they are too many for a pipe, the oldest go first.
            let in_turn = ordered && all < blocks * FULL_SPEED;
            let most = if in_turn { FULL_SPEED } else { left / blocks.max(1) };
            let own = |group: &&mut Group| group.id == id && !group.waits;
            for group in self.groups.iter_mut().filter(own) {
                let blocks = (group.blocks / self.multiprocessors).max(1);
                group.beside = most.min(left / blocks).max(1);
                left = left.saturating_sub(blocks * group.beside);
            }
            let warps = blocks * u64::from(grid.warps);
            let more = BY_AGE.iter().find(|(many, _)| warps >= *many).map_or(0, |(_, more)| *more);
            let count = self.groups.iter_mut().filter(own).count() as u64;
            for (age, group) in self.groups.iter_mut().filter(own).enumerate() {
                let more = if ordered && count > 1 { more } else { 0 };
                group.by_age = 1000 + more - 2 * more * age as u64 / (count - 1).max(1);
            }
        }
    }
}

/// How memory bandwidth is shared out.
struct Parts {
    /// For each unit of weight.
    each: u128,
    /// Of a block, by how near to memory it is; by age apart.
    weights: [u128; MEMORY_PARTS.len()],
}

impl Parts {
    fn weight(&self, part: usize, group: &Group) -> u128 {
        self.weights[part] * u128::from(group.by_age)
    }

    fn of(&self, part: usize, group: &Group) -> u128 {
        self.each * self.weight(part, group)
    }
}

/// Issue rates of kernels that were side by side, of what each issues alone: see [`scheduler`].
type Mixes = BTreeMap<Vec<(Loop, u64)>, Vec<u64>>;

#[derive(Clone, Copy)]
struct Progress {
    id: OperationId,
    undispatched: u64,
    running: u64,
    started: bool,
    /// There was no room at all when its turn came.
    waited: bool,
}

fn progress_of(all: &mut [Progress], id: OperationId) -> &mut Progress {
    let found = all.iter_mut().find(|progress| progress.id == id);
    found.expect("a grid that waits or runs has progress")
}

pub(super) struct Pool {
    multiprocessors: u64,
    resident_grids: u64,
    /// Grids with blocks yet to be dispatched.
    waiting: Waiting,
    /// Of each grid that waits or has blocks running.
    progress: Vec<Progress>,
    started: u64,
    /// All multiprocessors; one set with all of them, unless [`Pool::apart`].
    sets: Vec<Set>,
    /// All residents are followed multiprocessor by multiprocessor.
    apart: bool,
    mixes: Mixes,
    as_of: u64,
    generation: u32,
    /// Room for the grids that one event brings to an end, and what each takes after its blocks.
    finished: Vec<(OperationId, u64)>,
    /// [`Pool::load_ns`], as of the last change.
    load_ns: u64,
}

impl Pool {
    pub(super) fn new(profile: &Profile) -> Self {
        let multiprocessors = profile.chip.multiprocessors.value;
        Self {
            multiprocessors,
            resident_grids: profile.chip.resident_grids.value,
            waiting: Waiting::default(),
            progress: Vec::new(),
            started: 0,
            sets: vec![Set { multiprocessors, part: 0, groups: Vec::new() }],
            apart: false,
            mixes: BTreeMap::new(),
            as_of: 0,
            generation: 0,
            finished: Vec::new(),
            load_ns: 0,
        }
    }
}

impl Pool {
    /// Never without schedulers, and then nothing of it is compiled.
    fn is_apart(&self) -> bool {
        FOLLOWED && self.apart
    }

    fn groups(&mut self) -> impl Iterator<Item = &mut Group> {
        self.sets.iter_mut().flat_map(|set| &mut set.groups)
    }

    /// How much longer a load takes than on an idle device, in ns: what streaming maps have under
    /// way comes first.
    fn load_ns(&self, profile: &Profile) -> u64 {
        if !self.is_apart() {
            return 0;
        }
        let streams =
            |group: &&Group| group.grid.inner_loop.is_some_and(|inner| inner.pipe == Pipe::Memory);
        let groups = self.sets.iter().flat_map(|set| &set.groups).filter(streams);
        let warps: u64 = groups.map(|group| group.blocks * u64::from(group.grid.warps)).sum();
        1000 * warps * 32 * UNDER_WAY_BYTES / profile.chip.memory_bytes_per_us.value.max(1)
    }

    /// Makes one set of those that `belong`.
    fn join(&mut self, belong: impl Fn(&Set) -> bool) {
        let mut first: Option<usize> = None;
        let mut at = 0;
        while at < self.sets.len() {
            match first {
                _ if !belong(&self.sets[at]) => at += 1,
                None => {
                    first = Some(at);
                    at += 1;
                }
                Some(first) => {
                    let mut joined = self.sets.remove(at);
                    self.sets[first].multiprocessors += joined.multiprocessors;
                    self.sets[first].groups.append(&mut joined.groups);
                }
            }
        }
    }

    /// Takes all multiprocessors apart by how near they are to memory. None of them has blocks.
    fn take_apart(&mut self) {
        self.sets.clear();
        let mut of: u64 = MEMORY_PARTS.iter().map(|part| part.0).sum();
        let mut left = self.multiprocessors;
        for (part, (share, _)) in MEMORY_PARTS.into_iter().enumerate() {
            let multiprocessors = left * share / of;
            (of, left) = (of - share, left - multiprocessors);
            if multiprocessors > 0 {
                self.sets.push(Set { multiprocessors, part, groups: Vec::new() });
            }
        }
    }

    /// Takes all multiprocessors to be equally full from now on.
    fn put_together(&mut self) {
        self.join(|_| true);
        let mut blocks: BTreeMap<OperationId, u64> = BTreeMap::new();
        for group in self.groups() {
            *blocks.entry(group.id).or_default() += group.blocks;
        }
        let multiprocessors = self.multiprocessors;
        for group in self.groups() {
            group.beside = group.grid.allow(blocks[&group.id].div_ceil(multiprocessors));
        }
    }

    /// The most that each block draws of the memory bandwidth: so much that those which could use
    /// more share what the others leave.
    fn parts_of_memory(&self, traffic: u128, limit: u128) -> Parts {
        let could_use = (1000 * traffic / limit).clamp(EVEN_UP_TO, UNEVEN_FROM);
        let uneven = 1000 * (could_use - EVEN_UP_TO) / (UNEVEN_FROM - EVEN_UP_TO);
        let weights = MEMORY_PARTS.map(|(_, part)| 1000 + (part - 1000) * uneven / 1000);
        let mut parts = Parts { each: 0, weights };
        let mut thirsty = usize::MAX;
        loop {
            let (mut left, mut weighed, mut now) = (limit, 0, 0);
            for set in &self.sets {
                for group in set.groups.iter().filter(|group| !group.waits) {
                    let could = u128::from(group.beside) * u128::from(group.grid.block_traffic);
                    let blocks = u128::from(group.blocks);
                    if could <= parts.of(set.part, group) {
                        left = left.saturating_sub(blocks * could);
                    } else {
                        weighed += blocks * parts.weight(set.part, group);
                        now += 1;
                    }
                }
            }
            if now == thirsty || weighed == 0 {
                return parts;
            }
            thirsty = now;
            parts.each = left / weighed;
        }
    }

    /// Places so many blocks at the most and says how many found room.
    fn place(&mut self, most: u64, densely: bool, group: Group) -> u64 {
        let shares = group.grid.shares;
        let mut placed = 0;
        while placed < most {
            let room = |set: &Set| set.free_shares() / shares;
            let emptiest = (0..self.sets.len()).rev().max_by_key(|&at| self.sets[at].free_shares());
            let Some(at) = emptiest.filter(|&at| room(&self.sets[at]) > 0) else { break };
            let on_each = if densely { room(&self.sets[at]).min(most - placed) } else { 1 };
            let used = ((most - placed) / on_each).min(self.sets[at].multiprocessors);
            if used < self.sets[at].multiprocessors {
                let others = self.sets[at].split_off(used);
                self.sets.insert(at + 1, others);
            }
            let of_each = Group { blocks: used, ..group };
            self.sets[at].groups.extend(std::iter::repeat_n(of_each, on_each as usize));
            placed += used * on_each;
        }
        placed
    }

    /// The same where all multiprocessors are taken to be equally full.
    fn place_evenly(&mut self, most: u64, is_memory: bool, group: Group) -> u64 {
        let (all, shares) = (self.multiprocessors, group.grid.shares);
        let Some(set) = self.sets.first_mut() else { return 0 };
        let taken: u64 = set.groups.iter().map(|group| group.blocks * group.grid.shares).sum();
        let free = all * SHARES - taken;
        // Blocks that copy or clear memory need much of one multiprocessor.
        let room = if is_memory { free / all / shares * all } else { free / shares };
        let blocks = most.min(room);
        let beside = group.grid.allow(blocks.div_ceil(all));
        if blocks > 0 {
            set.groups.push(Group { blocks, beside, ..group });
        }
        blocks
    }
}

impl Device {
    pub(super) fn grid_ready(&mut self, id: OperationId, grid: Grid, effects: &mut impl Effects) {
        let undispatched = grid.blocks;
        let progress = Progress { id, undispatched, running: 0, started: false, waited: false };
        let now = self.now;
        let pool = &mut self.unit_of(id).pool;
        pool.waiting.insert((grid.priority, now, id));
        pool.progress.push(progress);
        let device = self.operations[id].device;
        self.dispatch_blocks(device, effects);
    }

    fn dispatch_blocks(&mut self, device: u8, effects: &mut impl Effects) {
        let unit = at(device.into());
        self.advance_groups(device);
        while let Some((_, _, id)) = self.units[unit].pool.waiting.first() {
            let (grid, is_memory) = match self.operations.in_flight(id).work {
                Work::Kernel { grid, .. } => (grid, false),
                Work::Memory { grid, .. } => (grid, true),
                _ => unreachable!("nothing else has a grid"),
            };
            let pool = &mut self.units[unit].pool;
            let progress = progress_of(&mut pool.progress, id);
            if !progress.started && pool.started >= pool.resident_grids {
                break;
            }
            let Progress { undispatched, started, waited, .. } = *progress;
            let capacity = pool.multiprocessors * (SHARES / grid.shares);
            let waves = (grid.blocks / capacity / MOST_WAVES).max(1);
            let longest = LONGEST_NS.max(grid.block_ns);
            let left = grid.block_ns.saturating_mul(waves).min(longest) * FULL_SPEED;
            let group = Group {
                id,
                grid,
                blocks: 0,
                left,
                speed: 0,
                beside: FULL_SPEED,
                by_age: 1000,
                waits: false,
            };
            let empty = pool.sets.iter().all(|set| set.groups.is_empty());
            let was_apart = pool.is_apart();
            let apart = FOLLOWED && grid.inner_loop.is_some() && (empty || was_apart);
            pool.apart = apart;
            if apart && !was_apart {
                pool.take_apart();
            }
            let blocks = if apart {
                pool.place(undispatched, waited, group)
            } else {
                if was_apart {
                    pool.put_together();
                }
                pool.place_evenly(undispatched, is_memory, group)
            };
            let progress = progress_of(&mut pool.progress, id);
            if blocks == 0 {
                progress.waited |= !started;
                break;
            }
            progress.undispatched -= (blocks * waves).min(undispatched);
            progress.running += blocks;
            progress.started = true;
            if progress.undispatched == 0 {
                pool.waiting.remove(id);
            }
            if !started {
                self.units[unit].pool.started += 1;
                self.begin(id, effects);
            }
        }
        self.share_throughput(device);
    }

    /// Brings all groups up to now.
    fn advance_groups(&mut self, device: u8) {
        let pool = &mut self.units[at(device.into())].pool;
        let elapsed = self.now - pool.as_of;
        pool.as_of = self.now;
        if elapsed > 0 {
            for group in pool.groups() {
                group.left = group.left.saturating_sub(elapsed * group.speed);
            }
        }
    }

    /// Gives each group its speed and foresees the next end.
    fn share_throughput(&mut self, device: u8) {
        let pool = &mut self.units[at(device.into())].pool;
        let apart = pool.is_apart();
        if apart {
            let is_awaited = pool.waiting.first().is_some();
            for set in &mut pool.sets {
                set.share(&mut pool.mixes, is_awaited);
            }
        }
        let full = u128::from(FULL_SPEED);
        // `load` is in (blocks · speed · load): millionths of millionths of a multiprocessor.
        let load_limit = u128::from(pool.multiprocessors) * full * full;
        let traffic_limit = full * full * full;
        let (mut load, mut traffic) = (0u128, 0u128);
        if FOLLOWED {
            pool.load_ns = pool.load_ns(&self.profile);
        }
        for group in pool.groups().filter(|group| !(FOLLOWED && group.waits)) {
            let pull = u128::from(group.blocks) * u128::from(group.beside);
            load += pull * u128::from(group.grid.block_load);
            traffic += pull * u128::from(group.grid.block_traffic);
        }
        let parts = (apart && traffic > traffic_limit)
            .then(|| pool.parts_of_memory(traffic, traffic_limit));
        let mut next = u64::MAX;
        for set in &mut pool.sets {
            for group in &mut set.groups {
                if FOLLOWED && group.waits {
                    group.speed = FULL_SPEED;
                    next = next.min(group.left.div_ceil(FULL_SPEED));
                    continue;
                }
                let own = u128::from(group.beside);
                let mut speed = own;
                if !apart && load > load_limit && group.grid.block_load > 0 {
                    speed = speed.min(quotient(own * load_limit, load));
                }
                if traffic > traffic_limit && group.grid.block_traffic > 0 {
                    let part = parts.as_ref().map_or_else(
                        || quotient(own * traffic_limit, traffic),
                        |parts| {
                            let part = parts.of(set.part, group);
                            quotient(part, group.grid.block_traffic.into())
                        },
                    );
                    speed = speed.min(part);
                }
                group.speed = (speed as u64).max(1);
                next = next.min(group.left.div_ceil(group.speed));
            }
        }
        pool.generation += 1;
        let generation = pool.generation;
        if next != u64::MAX {
            self.schedule(self.now + next, Event::BlocksEnd { device, generation });
        }
    }

    pub(super) fn blocks_end(&mut self, device: u8, generation: u32, effects: &mut impl Effects) {
        let unit = at(device.into());
        if self.units[unit].pool.generation != generation {
            return; // speeds have changed since this end was foreseen
        }
        self.advance_groups(device);
        let pool = &mut self.units[unit].pool;
        let mut finished = std::mem::take(&mut pool.finished);
        let load_ns = pool.load_ns;
        for set in &mut pool.sets {
            set.groups.retain_mut(|group| {
                if FOLLOWED && group.left == 0 && !group.waits {
                    group.waits = true;
                    let ns = group.grid.waits.saturating_mul(load_ns).min(LONGEST_NS);
                    group.left = ns * FULL_SPEED;
                }
                if group.left > 0 {
                    return true;
                }
                let progress = progress_of(&mut pool.progress, group.id);
                progress.running -= group.blocks;
                if progress.running == 0 && progress.undispatched == 0 {
                    finished.push((group.id, group.grid.fixed_ns));
                }
                false
            });
        }
        for part in 0..if FOLLOWED { MEMORY_PARTS.len() } else { 0 } {
            pool.join(|set| set.groups.is_empty() && set.part == part);
        }
        let load_ns = pool.load_ns(&self.profile);
        for (id, fixed_ns) in finished.drain(..) {
            let pool = &mut self.units[unit].pool;
            pool.progress.retain(|progress| progress.id != id);
            pool.started -= 1;
            // The multiprocessors are free at once; the kernel is over when its writes are out.
            let end = self.now + fixed_ns + END_WAITS * load_ns;
            self.schedule(end, Event::OperationEnd(id));
        }
        self.units[unit].pool.finished = finished;
        self.dispatch_blocks(device, effects);
    }
}
