//! The feed of `prefetch`: the host loads a batch and uploads it, a kernel trains on it, and losses
//! are downloaded.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut};
use kernels::Task;
use kernels::task::prefetch::{self as task, INPUT, OUTPUT, SPEC};
use trace::lab_protocol::{Buffer, Request};

use crate::clock::Instant;
use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result, driver};

/// Batches of the exercise.
const BATCHES: usize = task::BATCHES as usize;
/// Batches of the puzzle: few enough to be told apart in a figure.
const FEW_BATCHES: usize = 8;
/// Slots of the exercise: one for the batch that is trained on, one for the batch that is loaded.
const SLOTS: usize = 2;
/// Words of a batch for each of its losses.
const WORDS_PER_LOSS: usize = task::WORDS_PER_LOSS as usize;

/// The feed, not yet in memory.
pub struct Feed {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Feed {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the slots of the exercise, and room for all losses.
    pub fn allocate(&self) -> Result<Epoch<'_>> {
        self.epoch(BATCHES, SLOTS)
    }

    /// The same work in a few large batches, for the puzzle.
    pub fn short(&self) -> Result<Epoch<'_>> {
        self.epoch(FEW_BATCHES, SLOTS)
    }

    fn epoch(&self, batches: usize, slots: usize) -> Result<Epoch<'_>> {
        let stream = self.context().default_stream();
        let elements = self.task.elements() as usize / batches;
        let slot = |_| {
            // SAFETY: the copy up writes all of it before the map reads any.
            let data = unsafe { stream.alloc(elements)? };
            Ok(Slot {
                images: self.lab.host_block(HostMemory::Pinned, elements)?,
                device: OnDevice { data, losses: elements / WORDS_PER_LOSS },
                losses: self.lab.host_block(HostMemory::Pinned, elements / WORDS_PER_LOSS)?,
                map: self.map.clone(),
                loaded: None,
                trained: None,
            })
        };
        Ok(Epoch {
            feed: self,
            batches: Batch::all(&self.lab, &self.task, batches, elements / WORDS_PER_LOSS),
            slots: (0..slots).map(slot).collect::<Result<_>>()?,
            losses: Losses::of(batches, elements / WORDS_PER_LOSS),
        })
    }
}

/// The feed in memory.
pub struct Epoch<'a> {
    feed: &'a Feed,
    batches: Vec<Batch>,
    slots: Vec<Slot>,
    losses: Losses,
}

/// A batch, wherever batches come from.
pub struct Batch {
    /// Its place in the epoch, from 0.
    pub number: usize,
    /// How many words it has.
    elements: usize,
    /// Its first words, as many as losses are made of.
    stored: Vec<u32>,
    /// How long it takes to read and decode it.
    time: Duration,
}

impl Batch {
    /// So many batches of array 0 of a task. Of each only the first `stored` words are there to be
    /// loaded.
    pub(crate) fn all(lab: &Lab, task: &Task, batches: usize, stored: usize) -> Vec<Self> {
        let elements = task.elements() as usize / batches;
        let time = Duration::from_nanos(task.host_ns().div_ceil(batches as u64));
        let batch = |number| {
            let mut stored = vec![0; stored];
            task.input(INPUT, lab.seed, (number * elements) as u64, &mut stored);
            Self { number, elements, stored, time }
        };
        (0..batches).map(batch).collect()
    }

    /// Puts it into `images`. It is over when the batch's time has passed since `began`.
    pub(crate) fn load(&self, images: &mut [u32], began: Instant) -> Result<()> {
        images[..self.stored.len()].copy_from_slice(&self.stored);
        let place = Buffer {
            array: INPUT,
            first: (self.number * self.elements) as u64,
            address: images.as_ptr() as u64,
            bytes: self.elements.min(images.len()) as u64 * 4,
        };
        let written = self.stored.len() as u64 * 4;
        let ns = u64::try_from(self.time.as_nanos()).unwrap_or(u64::MAX);
        driver::ask(&Request::Load { place, written, ns, began_ns: began.ns() }).map(drop)
    }
}

/// A place for a batch on its way: pinned host memory, device memory, and pinned host memory again.
pub struct Slot {
    /// The images that the host loads, and the copy up reads.
    pub images: HostBlock,
    /// Its place on the device.
    pub device: OnDevice,
    /// The losses that the copy down writes, and the host keeps.
    pub losses: HostBlock,
    map: Map,
    loaded: Option<usize>,
    trained: Option<usize>,
}

impl Slot {
    /// Reads and decodes a batch into `images`. It is the host that does it, and it takes the
    /// host's time.
    pub fn load(&mut self, batch: &Batch) -> Result<()> {
        // Of a batch only what losses are made of is looked at, so only that is written here.
        // Writing all of it takes a GPU's host about as long again, and the declared work stands
        // for that and the decoding.
        let images = self.images.words_mut()?;
        let began = Instant::now()?;
        self.loaded = Some(batch.number);
        batch.load(images, began)
    }

    /// Queues the kernel that trains on what is on the device, and leaves the losses there.
    pub fn train(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.trained = self.loaded;
        self.map.launch(stream, &mut self.device.data)
    }
}

/// The place of a slot on the device.
pub struct OnDevice {
    data: CudaSlice<u32>,
    losses: usize,
}

impl OnDevice {
    /// Where the images go.
    pub fn images(&mut self) -> CudaViewMut<'_, u32> {
        self.data.slice_mut(..)
    }

    /// Where the losses are, once the kernel has made them.
    pub fn losses(&self) -> CudaView<'_, u32> {
        self.data.slice(..self.losses)
    }
}

/// The losses of all batches, in pageable memory.
pub struct Losses {
    of_batch: Vec<Vec<u32>>,
}

impl Losses {
    /// Room for the losses of all batches. It is written once, so that no page of it is touched for
    /// the first time in the region: that takes the host longer than the losses do.
    fn of(batches: usize, losses: usize) -> Self {
        Self { of_batch: (0..batches).map(|_| vec![u32::MAX; losses]).collect() }
    }

    /// Keeps the losses in `slot`: those of the batch that it was last used to train on. Nothing,
    /// where there was none.
    pub fn keep(&mut self, slot: &Slot) -> Result<()> {
        if let Some(number) = slot.trained {
            let kept = &mut self.of_batch[number];
            let losses = slot.losses.words()?;
            kept.copy_from_slice(losses);
            let (source, target) = (losses.as_ptr() as u64, kept.as_ptr() as u64);
            driver::ask(&Request::HostCopy { source, target, bytes: kept.len() as u64 * 4 })?;
        }
        Ok(())
    }
}

impl Epoch<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut [Slot], &mut Losses) -> Result<()>,
    ) -> Result<()> {
        let Self { feed, batches, slots, losses } = self;
        let elements = feed.task.elements() as usize / batches.len();
        let output = |(number, losses): (usize, &Vec<u32>)| Buffer {
            array: OUTPUT,
            first: (number * elements) as u64,
            address: losses.as_ptr() as u64,
            bytes: losses.len() as u64 * 4,
        };
        let outputs = losses.of_batch.iter().enumerate().map(output).collect();
        feed.lab.measure(&feed.task, [Vec::new(), outputs], || body(batches, slots, losses))
    }
}

impl Exercise for Feed {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut epoch = self.epoch(BATCHES, 1)?;
        let (batches, slot) = (&epoch.batches, &mut epoch.slots[0]);
        self.lab.alone("host", |_| batches.iter().try_for_each(|batch| slot.load(batch)))?;
        self.lab.alone("host_to_device", |stream| {
            for _ in batches {
                stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            }
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            for _ in batches {
                slot.train(stream)?;
            }
            Ok(())
        })
    }
}
