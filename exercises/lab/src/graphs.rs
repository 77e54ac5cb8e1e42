//! The inference of `graphs`: the host loads a batch, and a small network of two branches makes
//! answers of it. And the kernels of its puzzle.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::network::{Operation, Shape};
use kernels::task::graphs::{self as task, BRANCH_BLOCKS, LAYER, LAYERS, OUTPUT, SPEC};
use kernels::{Stage, Task};
use trace::lab_protocol::{Buffer, Request};

use crate::clock::Instant;
use crate::exercise::Exercise;
use crate::map::Map;
use crate::network::{Launch, Layers};
use crate::prefetch::Batch;
use crate::{HostBlock, HostMemory, Lab, Result, driver};

/// Buffers that are used in turn: one for the batch that the device works on, one for the batch
/// that is loaded.
const SLOTS: usize = 2;

/// The inference, not yet in memory.
pub struct Inference {
    lab: Lab,
    task: Task,
    /// Of the stem, of a layer of a branch, and of the merge.
    maps: [Map; 3],
}

impl Inference {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the two slots, and room for all answers.
    pub fn allocate(&self) -> Result<Session<'_>> {
        let elements = self.task.elements() as usize / task::BATCHES;
        Ok(Session {
            inference: self,
            batches: Batch::all(&self.lab, &self.task, task::BATCHES, elements),
            slots: (0..SLOTS).map(|_| self.slot(elements)).collect::<Result<_>>()?,
            answers: Answers::of(task::BATCHES, elements),
        })
    }

    fn slot(&self, elements: usize) -> Result<Slot> {
        Ok(Slot {
            images: self.lab.host_block(HostMemory::Pinned, elements)?,
            // SAFETY: any bits are a valid `u32`, and the upload writes it before a kernel reads
            // it.
            device: unsafe { self.context().default_stream().alloc(elements)? },
            answers: self.lab.host_block(HostMemory::Pinned, elements)?,
            maps: self.maps.clone(),
            loaded: None,
        })
    }
}

/// The inference, in memory.
pub struct Session<'a> {
    inference: &'a Inference,
    batches: Vec<Batch>,
    slots: Vec<Slot>,
    answers: Answers,
}

/// Memory for a batch on its way: where the host loads it, where the network works on it, and where
/// its answers are downloaded to. All of it stays where it is.
pub struct Slot {
    /// The images that the host loads and the upload reads, in pinned host memory.
    pub images: HostBlock,
    /// The data that the network works on, in device memory.
    pub device: CudaSlice<u32>,
    /// Where the answers are downloaded to, in pinned host memory.
    pub answers: HostBlock,
    maps: [Map; 3],
    loaded: Option<usize>,
}

impl Slot {
    /// Loads a batch. It is the host that does it, and it takes the host's time.
    pub fn load(&mut self, batch: &Batch) -> Result<()> {
        let images = self.images.words_mut()?;
        let began = Instant::now()?;
        self.loaded = Some(batch.number);
        batch.load(images, began)
    }

    /// Launches the first kernel of the network, over all of the batch.
    pub fn stem(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let [stem, ..] = &self.maps;
        stem.launch_blocks(stream, &mut self.device.as_view_mut(), 2 * BRANCH_BLOCKS)
    }

    /// Launches the eight kernels of the left branch, over the first half of the batch.
    pub fn left(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let [_, layer, _] = &self.maps;
        let half = self.device.len() / 2;
        let mut data = self.device.slice_mut(..half);
        (0..LAYERS).try_for_each(|_| layer.launch_blocks(stream, &mut data, BRANCH_BLOCKS))
    }

    /// Launches the eight kernels of the right branch, over the second half of the batch.
    pub fn right(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let [_, layer, _] = &self.maps;
        let half = self.device.len() / 2;
        let mut data = self.device.slice_mut(half..);
        (0..LAYERS).try_for_each(|_| layer.launch_blocks(stream, &mut data, BRANCH_BLOCKS))
    }

    /// Launches the last kernel of the network, over all of the batch again.
    pub fn merge(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        let [.., merge] = &self.maps;
        merge.launch_blocks(stream, &mut self.device.as_view_mut(), 2 * BRANCH_BLOCKS)
    }
}

/// The answers to all batches, in pageable memory.
pub struct Answers {
    to_batch: Vec<Vec<u32>>,
}

impl Answers {
    /// Room for all of them. It is written once, so that no page of it is touched for the first
    /// time in the region.
    fn of(batches: usize, elements: usize) -> Self {
        Self { to_batch: (0..batches).map(|_| vec![u32::MAX; elements]).collect() }
    }

    /// Keeps the answers to the batch that a slot was last loaded with. Nothing, if there was none.
    pub fn keep(&mut self, slot: &Slot) -> Result<()> {
        let Some(number) = slot.loaded else { return Ok(()) };
        let kept = &mut self.to_batch[number];
        let answers = slot.answers.words()?;
        kept.copy_from_slice(answers);
        let (source, target) = (answers.as_ptr() as u64, kept.as_ptr() as u64);
        driver::ask(&Request::HostCopy { source, target, bytes: kept.len() as u64 * 4 }).map(drop)
    }
}

impl Session<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut [Slot], &mut Answers) -> Result<()>,
    ) -> Result<()> {
        let Self { inference, batches, slots, answers } = self;
        let output = |(number, answers): (usize, &Vec<u32>)| Buffer {
            array: OUTPUT,
            first: (number * answers.len()) as u64,
            address: answers.as_ptr() as u64,
            bytes: answers.len() as u64 * 4,
        };
        let outputs = answers.to_batch.iter().enumerate().map(output).collect();
        inference
            .lab
            .measure(&inference.task, [Vec::new(), outputs], || body(batches, slots, answers))
    }
}

impl Exercise for Inference {
    fn open(lab: &Lab) -> Result<Self> {
        let task = lab.task(&SPEC);
        let map = |stage| Map::load(lab.context(), stage, task.rounds(), lab.scale);
        let maps = [map(Stage::A)?, map(LAYER)?, map(Stage::C)?];
        Ok(Self { lab: lab.clone(), task, maps })
    }

    fn calibrate(&self) -> Result<()> {
        let Session { batches, .. } = self.allocate()?;
        let mut one = self.slot(self.task.elements() as usize / task::BATCHES)?;
        self.lab.alone("host", |_| batches.iter().try_for_each(|it| one.load(it)))?;
        // All batches in one: the same work, and what a call costs only once.
        let mut all = self.slot(self.task.elements() as usize)?;
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&all.images, &mut all.device)?;
            Ok(())
        })?;
        let [stem, layer, merge] = &self.maps;
        let layers = layer.with_rounds(self.task.rounds() * LAYERS as u32);
        self.lab.alone("kernels", |stream| {
            stem.launch(stream, &mut all.device)?;
            layers.launch_blocks(stream, &mut all.device.as_view_mut(), BRANCH_BLOCKS)?;
            merge.launch(stream, &mut all.device)
        })?;
        self.lab.alone("kernels_packed", |stream| {
            [stem, &layers, merge]
                .into_iter()
                .try_for_each(|map| map.launch(stream, &mut all.device))
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&all.device, &mut all.answers)?;
            Ok(())
        })
    }
}

/// A tensor of the puzzle: a thread for each of its weights, in eight blocks. Its gradient comes in
/// 32 slices, and a thread loads all of them at a time.
const WEIGHTS: Shape = Shape { rows: 32, inputs: 16, outputs: 64 };
/// How many tensors there are.
const TENSORS: usize = 200;

/// A kernel of the puzzle: it updates the weights of one tensor.
pub struct Update {
    launch: Launch,
    _memory: [CudaSlice<u32>; 2],
}

impl Update {
    /// Launches it.
    pub fn launch(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        stream.context().bind_to_thread()?;
        self.launch.queue(stream)
    }
}

/// The kernels of a step of gradient descent over 200 tensors. Each is shorter than the call that
/// launches it.
pub fn updates(lab: &Lab) -> Result<Vec<Update>> {
    let (layers, stream) = (Layers::load(lab)?, lab.context().default_stream());
    let weights = (WEIGHTS.inputs * WEIGHTS.outputs) as usize;
    let update = |_| {
        let memory =
            [stream.alloc_zeros(weights * WEIGHTS.rows as usize)?, stream.alloc_zeros(weights)?];
        let launch = layers.launch(Operation::Step, &WEIGHTS, &[&memory[0], &memory[1]])?;
        Ok(Update { launch, _memory: memory })
    };
    (0..TENSORS).map(update).collect()
}
