//! The network of `fork_join`: an array on the device goes through layers, and each layer splits
//! into two branches that join again. Also the branches of the puzzle, whose kernels differ only in
//! the room that they take.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::fork_join::{BRANCH, BRANCH_BLOCKS, INPUT, OUTPUT, SPEC};
use kernels::{Stage, Task};

use crate::exercise::Exercise;
use crate::map::{MOST_BLOCKS, Map};
use crate::memory::device_buffer;
use crate::{Lab, Result};

pub use kernels::task::fork_join::LAYERS;

/// The network, not yet in memory.
pub struct Network {
    lab: Lab,
    task: Task,
    stem: Map,
    branch: Map,
    merge: Map,
}

impl Network {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the array that goes through the layers.
    pub fn allocate(&self) -> Result<River<'_>> {
        let stream = self.context().default_stream();
        // SAFETY: the region fills all of it before anything reads it.
        let data = unsafe { stream.alloc(self.task.elements() as usize)? };
        let maps = (self.stem.clone(), self.branch.clone(), self.merge.clone());
        let (stem, branch, merge) = maps;
        Ok(River { network: self, water: Water { data, stem, branch, merge } })
    }
}

/// The array of the network, in memory.
pub struct River<'a> {
    network: &'a Network,
    water: Water,
}

/// The data that go through the layers. Each method queues one kernel.
pub struct Water {
    data: CudaSlice<u32>,
    stem: Map,
    branch: Map,
    merge: Map,
}

impl Water {
    /// The first kernel of a layer, over all of the array.
    pub fn stem(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        Self::over_all(&self.stem, stream, &mut self.data)
    }

    /// The left branch, over the first half.
    pub fn left(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let half = self.data.len() / 2;
        self.branch.launch_blocks(stream, &mut self.data.slice_mut(..half), BRANCH_BLOCKS)
    }

    /// The right branch, over the second half.
    pub fn right(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let half = self.data.len() / 2;
        self.branch.launch_blocks(stream, &mut self.data.slice_mut(half..), BRANCH_BLOCKS)
    }

    /// The last kernel of a layer, over all of the array again.
    pub fn merge(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        Self::over_all(&self.merge, stream, &mut self.data)
    }

    /// One block on each multiprocessor keeps all of them busy and leaves room: where a branch does
    /// not wait for the stem, it starts beside it.
    fn over_all(map: &Map, stream: &Arc<CudaStream>, data: &mut CudaSlice<u32>) -> Result<()> {
        map.launch_blocks(stream, &mut data.as_view_mut(), map.multiprocessors() as u32)
    }
}

impl River<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut Water) -> Result<()>) -> Result<()> {
        let Self { network, water } = self;
        let buffers = [INPUT, OUTPUT].map(|array| vec![device_buffer(array, 0, &water.data)]);
        network.lab.measure(&network.task, buffers, || body(water))
    }
}

impl Exercise for Network {
    fn open(lab: &Lab) -> Result<Self> {
        let task = lab.task(&SPEC);
        let map = |stage| Map::load(lab.context(), stage, task.rounds(), lab.scale);
        let (stem, branch, merge) = (map(Stage::A)?, map(BRANCH)?, map(Stage::C)?);
        Ok(Self { lab: lab.clone(), task, stem, branch, merge })
    }

    fn calibrate(&self) -> Result<()> {
        let mut water = self.allocate()?.water;
        // All layers in one: the same work, and what a launch costs only once.
        for map in [&mut water.stem, &mut water.branch, &mut water.merge] {
            *map = map.with_rounds(self.task.rounds() * LAYERS as u32);
        }
        self.lab.alone("kernels", |stream| {
            water.stem(stream)?;
            water.left(stream)?;
            water.right(stream)?;
            water.merge(stream)?;
            Ok(())
        })?;
        // The same work as grids that leave no multiprocessor empty.
        self.lab.alone("kernels_packed", |stream| {
            for map in [&water.stem, &water.branch, &water.merge] {
                map.launch(stream, &mut water.data)?;
            }
            Ok(())
        })
    }
}

/// Kernels of each branch of the puzzle.
pub const KERNELS: usize = 4;

/// The time of a kernel of the puzzle that is alone, in µs, whatever its grid: long against any
/// call.
const KERNEL_US: u64 = 1000;

/// Elements of a multiprocessor that has blocks of such a kernel: four for each thread of the
/// largest grid, four times over.
const ELEMENTS: usize = 32_768;

/// A branch of the puzzle: kernels that have nothing to do with those of another branch.
pub struct Branch {
    map: Map,
    data: CudaSlice<u32>,
    blocks: u32,
}

impl Branch {
    /// Its kernels have 32 blocks: a quarter of the multiprocessors of an H200 have one each.
    pub fn narrow(lab: &Lab) -> Result<Self> {
        Self::of(lab, KERNEL_US, Self::few)
    }

    /// The same for so many milliseconds.
    pub fn narrow_for(lab: &Lab, ms: u64) -> Result<Self> {
        Self::of(lab, ms * 1000, Self::few)
    }

    fn few(multiprocessors: usize) -> usize {
        multiprocessors.min(BRANCH_BLOCKS as usize)
    }

    /// Its kernels have one block for each multiprocessor, which has room for eight.
    pub fn wide(lab: &Lab) -> Result<Self> {
        Self::of(lab, KERNEL_US, |multiprocessors| multiprocessors)
    }

    /// Its kernels have eight blocks for each multiprocessor, and no other block has room beside
    /// them.
    pub fn full(lab: &Lab) -> Result<Self> {
        Self::of(lab, KERNEL_US, |multiprocessors| multiprocessors * MOST_BLOCKS)
    }

    fn of(lab: &Lab, us: u64, blocks: impl FnOnce(usize) -> usize) -> Result<Self> {
        let map = Map::load(lab.context(), Stage::A, 1, lab.scale)?;
        let multiprocessors = map.multiprocessors();
        let blocks = blocks(multiprocessors);
        let elements = ELEMENTS * blocks.min(multiprocessors);
        let units = lab.speeds.map_units_per_us / multiprocessors as u64 * us;
        Ok(Self {
            map: map.with_rounds((units / ELEMENTS as u64) as u32),
            data: lab.context().default_stream().alloc_zeros(lab.elements(elements))?,
            blocks: blocks as u32,
        })
    }

    /// Queues its next kernel.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch_blocks(stream, &mut self.data.as_view_mut(), self.blocks)
    }
}
