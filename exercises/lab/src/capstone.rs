//! The training of `capstone`, and the team that runs it: a loader, an augmentation, a frozen
//! encoder, a head that is trained, a log, and checkpoints.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Recipe;
use kernels::network::{CHANNELS, LOADED, PIXELS};
use kernels::task::capstone::{
    self as task, CHOICES, ENCODER_WEIGHTS, HEAD, LABELS, LAP, LOG_NS, SAVE_NS,
};
use kernels::task::frozen_encoder::{PLACES, UP};
use trace::lab_protocol::{Buffer, Region, Request};

use crate::exercise::Exercise;
use crate::gpu_augmentation::{Augmentation as Kernels, of_each};
use crate::implicit_sync::{Block, SynchronousMemory};
use crate::network::Sizes;
use crate::trained::Trained;
use crate::{HostBlock, HostMemory, Lab, Result, driver, frozen_encoder};

pub use crate::gpu_augmentation::Batch;

/// Streams that keep the device full with batches of the exercise.
const PACKED: usize = 4;

/// The training, not yet in memory.
pub struct Relay {
    sizes: Sizes,
    recipe: Recipe,
    batches: usize,
}

impl Relay {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.sizes.lab.context()
    }

    /// Gets the team ready: on the device, all that it keeps for itself.
    pub fn team(&self) -> Result<Team<'_>> {
        let sizes = &self.sizes;
        let of_each = |of_an_image| -> Result<Vec<_>> {
            (0..self.batches).map(|_| sizes.device(of_an_image)).collect()
        };
        let labels = of_each(PLACES)?;
        let trained = Trained::new(self.context(), &sizes.layers, &HEAD)?;
        let losses = trained.losses(0).len();
        let scale = sizes.layers.scale() as usize;
        let saved = [0, 1].map(|layer| trained.weights()[layer].len() / scale);
        Ok(Team {
            relay: self,
            batches: (0..self.batches)
                .map(|number| Batch::of(sizes, &self.recipe, number))
                .collect(),
            runners: Runners {
                loader: Loader(()),
                augmentation: Augmentation(Kernels::new(sizes, of_each(1)?)?),
                encoder: Encoder(frozen_encoder::Encoder::new(sizes)?),
                head: Head { trained, labels, scale },
                log: Log(vec![vec![u32::MAX; losses]; self.batches]),
                checkpoints: Checkpoints(vec![
                    saved.map(|words| vec![u32::MAX; words]);
                    self.batches / LAP as usize
                ]),
            },
        })
    }

    /// The memory of one batch, but for its features: host memory of this kind, and device
    /// memory.
    pub fn slot(&self, memory: HostMemory) -> Result<Slot> {
        let sizes = &self.sizes;
        let losses = sizes.shape(&HEAD.layers[1]).rows as usize;
        Ok(Slot {
            loaded: sizes.lab.host_block(memory, sizes.words(LOADED))?,
            images: sizes.device(LOADED)?,
            views: sizes.device(PIXELS * CHANNELS)?,
            losses: sizes.lab.host_block(memory, losses)?,
        })
    }

    /// Device memory for the features of a batch, by `cuMemAlloc`. When it is dropped, `cuMemFree`
    /// frees it.
    pub fn features(&self) -> Result<Block> {
        let words = self.sizes.words(UP.rows * UP.inputs);
        // SAFETY: any bits are a valid `u32`, and the encoder writes all of it before the head
        // reads any.
        unsafe { SynchronousMemory::of(self.context()).alloc(words) }
    }

    /// Host memory of this kind for the weights of the head, which are in two blocks.
    pub fn weights(&self, memory: HostMemory) -> Result<[HostBlock; 2]> {
        let scale = self.sizes.layers.scale();
        let [first, second] = HEAD.layers.map(|layer| (layer.weights() / scale) as usize);
        let block = |words| self.sizes.lab.host_block(memory, words);
        Ok([block(first)?, block(second)?])
    }
}

/// The training, in memory.
pub struct Team<'a> {
    relay: &'a Relay,
    batches: Vec<Batch>,
    runners: Runners,
}

/// Those who hand a batch on.
pub struct Runners {
    /// Reads and decodes images.
    pub loader: Loader,
    /// Makes views of images.
    pub augmentation: Augmentation,
    /// Makes features of views.
    pub encoder: Encoder,
    /// Is trained on features.
    pub head: Head,
    /// Keeps the losses.
    pub log: Log,
    /// Keeps weights of the head.
    pub checkpoints: Checkpoints,
}

/// The memory of one batch, but for its features.
pub struct Slot {
    /// Host memory, where the loader puts images.
    pub loaded: HostBlock,
    /// Device memory for these images.
    pub images: CudaSlice<u32>,
    /// Device memory for what the augmentation makes of them.
    pub views: CudaSlice<u32>,
    /// Host memory for the losses.
    pub losses: HostBlock,
}

impl Batch {
    /// Whether there is a checkpoint after it.
    pub fn ends_lap(&self) -> bool {
        (self.number + 1).is_multiple_of(LAP as usize)
    }
}

/// Reads and decodes images.
pub struct Loader(());

impl Loader {
    /// Loads the images of a batch. It is the host that does it, and it takes the host's time.
    pub fn load(&self, batch: &Batch, loaded: &mut HostBlock) -> Result<()> {
        batch.load(loaded)
    }
}

/// Crop, resize, flip, blur and normalise. There is one of everything in it, so it works on one
/// batch at a time.
pub struct Augmentation(Kernels);

impl Augmentation {
    /// Queues the kernels that make views of the images of a batch: five.
    pub fn augment(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &Batch,
        images: &CudaSlice<u32>,
        views: &mut CudaSlice<u32>,
    ) -> Result<()> {
        self.0.augment(stream, batch, images)?;
        self.0.normalise(stream, views)
    }
}

/// The frozen encoder. There is one of everything in it, so it works on one batch at a time.
pub struct Encoder(frozen_encoder::Encoder);

impl Encoder {
    /// Queues the kernels that make features of views: six.
    pub fn encode(
        &mut self,
        stream: &Arc<CudaStream>,
        views: &CudaSlice<u32>,
        features: &mut CudaSlice<u32>,
    ) -> Result<()> {
        self.0.encode_views(stream, views, features)
    }
}

/// The head, which is trained.
pub struct Head {
    trained: Trained,
    /// Of each batch.
    labels: Vec<CudaSlice<u32>>,
    scale: usize,
}

impl Head {
    /// Queues the kernels of a step of training on the features of a batch: eight. They read the
    /// weights, and the last two write them.
    pub fn train(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &Batch,
        features: &CudaSlice<u32>,
    ) -> Result<()> {
        self.trained.train(stream, features, &self.labels[batch.number])
    }

    /// Where the losses of a batch are on the device, once it has been trained on.
    pub fn losses(&self, batch: &Batch) -> &CudaSlice<u32> {
        self.trained.losses(batch.number)
    }

    /// Queues the copies that download the weights, in two blocks: those that there are when the
    /// stream gets to it.
    pub fn download(&self, stream: &Arc<CudaStream>, weights: &mut [HostBlock; 2]) -> Result<()> {
        for (from, to) in self.trained.weights().iter().zip(weights) {
            stream.memcpy_dtoh(&from.slice(..from.len() / self.scale), to)?;
        }
        Ok(())
    }
}

/// The losses of all batches, in pageable memory.
pub struct Log(Vec<Vec<u32>>);

impl Log {
    /// Writes down the losses of a batch. It takes the host's time.
    pub fn write(&mut self, batch: &Batch, losses: &HostBlock) -> Result<()> {
        keep(losses, &mut self.0[batch.number])?;
        crate::host_work(Duration::from_nanos(LOG_NS))
    }
}

/// The weights after each lap, in pageable memory that stands for files.
pub struct Checkpoints(Vec<[Vec<u32>; 2]>);

impl Checkpoints {
    /// Saves the weights after the lap that this batch ends. It takes the host's time.
    pub fn save(&mut self, batch: &Batch, weights: &[HostBlock; 2]) -> Result<()> {
        let lap = (batch.number + 1) / LAP as usize;
        let Some(kept) = self.0.get_mut(lap.wrapping_sub(1)) else { return Ok(()) };
        weights.iter().zip(kept).try_for_each(|(weights, kept)| keep(weights, kept))?;
        crate::host_work(Duration::from_nanos(SAVE_NS))
    }
}

/// Copies words of the host's.
fn keep(from: &HostBlock, to: &mut [u32]) -> Result<()> {
    let words = from.words()?;
    to.copy_from_slice(words);
    let (source, target) = (words.as_ptr() as u64, to.as_ptr() as u64);
    driver::ask(&Request::HostCopy { source, target, bytes: to.len() as u64 * 4 }).map(drop)
}

impl Team<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut Runners) -> Result<()>,
    ) -> Result<()> {
        let [inputs, outputs] = self.buffers();
        let Self { relay, batches, runners } = self;
        let region = Region { task: task::NAME.to_owned(), inputs, outputs, ..Region::default() };
        relay.sizes.lab.region_on(region, || body(batches, runners)).map(drop)
    }

    /// The inputs, and the outputs.
    fn buffers(&self) -> [Vec<Buffer>; 2] {
        let Runners { augmentation, encoder, head, log, checkpoints, .. } = &self.runners;
        let mut inputs = augmentation.0.inputs(CHOICES);
        inputs.extend(of_each(LABELS, &head.labels));
        inputs.extend(encoder.0.inputs(ENCODER_WEIGHTS));
        inputs.extend(head.trained.inputs());

        let kept = |array, first, words: &Vec<u32>| Buffer {
            array,
            first,
            address: words.as_ptr() as u64,
            bytes: words.len() as u64 * 4,
        };
        let of_log =
            |(number, it): (usize, &Vec<u32>)| kept(HEAD.losses(), (number * it.len()) as u64, it);
        let mut outputs: Vec<Buffer> = log.0.iter().enumerate().map(of_log).collect();
        for (after, weights) in (1..).map(|lap: u64| lap * LAP).zip(&checkpoints.0) {
            for ((array, layer), words) in HEAD.weights().into_iter().zip(&HEAD.layers).zip(weights)
            {
                outputs.push(kept(array, after * layer.weights(), words));
            }
        }
        [inputs, outputs]
    }
}

impl Exercise for Relay {
    fn open(lab: &Lab) -> Result<Self> {
        let (batch, batches) = (task::BATCH as usize, task::BATCHES as usize);
        Ok(Self { sizes: Sizes::of(lab, batch)?, recipe: task::recipe(lab.scale), batches })
    }

    fn calibrate(&self) -> Result<()> {
        let lab = &self.sizes.lab;
        let Team { batches, runners, .. } = &mut self.team()?;
        let Runners { loader, augmentation, encoder, head, log, checkpoints } = runners;
        let mut slot = self.slot(HostMemory::Pinned)?;
        let mut features = self.features()?;
        let mut saved = self.weights(HostMemory::Pinned)?;
        lab.alone("host", |_| {
            for batch in &*batches {
                loader.load(batch, &mut slot.loaded)?;
                log.write(batch, &slot.losses)?;
                if batch.ends_lap() {
                    checkpoints.save(batch, &saved)?;
                }
            }
            Ok(())
        })?;
        lab.alone("host_to_device", |stream| {
            batches.iter().try_for_each(|_| Ok(stream.memcpy_htod(&slot.loaded, &mut slot.images)?))
        })?;
        lab.alone("device_to_host", |stream| {
            for batch in &*batches {
                stream.memcpy_dtoh(head.losses(batch), &mut slot.losses)?;
                if batch.ends_lap() {
                    head.download(stream, &mut saved)?;
                }
            }
            Ok(())
        })?;
        let mut all = |stream: &Arc<CudaStream>, batch: &Batch| {
            augmentation.augment(stream, batch, &slot.images, &mut slot.views)?;
            encoder.encode(stream, &slot.views, &mut features)?;
            head.train(stream, batch, &features)
        };
        lab.alone("kernels", |stream| batches.iter().try_for_each(|batch| all(stream, batch)))?;
        // The same work in so many streams that no multiprocessor is left empty. What they compute
        // is nothing: no stream waits for another.
        lab.alone("kernels_packed", |stream| {
            let mut streams = vec![stream.clone()];
            for _ in 1..PACKED {
                streams.push(self.context().new_stream()?);
            }
            batches.iter().try_for_each(|batch| all(&streams[batch.number % PACKED], batch))?;
            streams.iter().try_for_each(|side| Ok(stream.join(side)?))
        })
    }
}
