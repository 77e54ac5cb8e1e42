//! The feed of `gpu_augmentation`: the host loads images and uploads them, kernels augment them,
//! and a small network is trained on what comes out.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Recipe;
use kernels::network::{CHANNELS, LOADED, Operation, PIXELS, Shape, WINDOW};
use kernels::task::gpu_augmentation::{
    self as task, CHOICES, IMAGES, LABELS, LOADING_NS, PATCHES, TRAINING,
};
use kernels::task::training::Training;
use trace::lab_protocol::{Buffer, Region, Request};

use crate::clock::Instant;
use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::network::{Launch, Sizes};
use crate::trained::Trained;
use crate::{HostBlock, HostMemory, Lab, Result, driver, torch};

/// Slots: one for the batch that the network is trained on, one for the next.
const SLOTS: usize = 2;

/// Streams that keep the device full with batches of the exercise.
const PACKED: usize = 4;

/// The feed, not yet in memory.
pub struct Feed {
    sizes: Sizes,
    recipe: Recipe,
    batches: usize,
}

impl Feed {
    /// The same with batches of so many images, so many times, for the puzzle.
    pub fn of(lab: &Lab, batch: usize, batches: usize) -> Result<Self> {
        let recipe = task::recipe(lab.scale);
        Ok(Self { sizes: Sizes::of(lab, batch)?, recipe, batches })
    }

    /// The same, issued as a Python program would: before each kernel, what an operator of PyTorch
    /// costs the host.
    pub fn issued_by_python(self) -> Self {
        Self { sizes: self.sizes.issued_by_python(), ..self }
    }

    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.sizes.lab.context()
    }

    /// Allocates two slots, and on the device what augmentation and training need.
    pub fn allocate(&self) -> Result<Epoch<'_>> {
        let sizes = &self.sizes;
        let slot = |_| {
            Ok(Slot {
                loaded: sizes.lab.host_block(HostMemory::Pinned, sizes.words(LOADED))?,
                images: sizes.device(LOADED)?,
                views: sizes.device(PIXELS * CHANNELS)?,
            })
        };
        let batch = |number| Batch::of(sizes, &self.recipe, number);
        let (batch_of, batches) = (sizes.batch as u64, self.batches as u64);
        let training = Training { batch: batch_of, batches, ..TRAINING };
        let of_each = |of_an_image| -> Result<Vec<_>> {
            (0..self.batches).map(|_| sizes.device(of_an_image)).collect()
        };
        Ok(Epoch {
            feed: self,
            batches: (0..self.batches).map(batch).collect(),
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            augmentation: Augmentation::new(sizes, of_each(1)?)?,
            network: Network {
                trained: Trained::new(self.context(), &sizes.layers, &training)?,
                labels: of_each(PATCHES)?,
            },
        })
    }

    /// Pinned memory for images that are augmented on the host, for the puzzle.
    pub fn augmented_on_host(&self) -> Result<[OnHost; SLOTS]> {
        let sizes = &self.sizes;
        let block = || sizes.lab.host_block(HostMemory::Pinned, sizes.words(PIXELS * CHANNELS));
        Ok([OnHost { views: block()? }, OnHost { views: block()? }])
    }
}

/// The feed in memory.
pub struct Epoch<'a> {
    feed: &'a Feed,
    batches: Vec<Batch>,
    slots: Vec<Slot>,
    augmentation: Augmentation,
    network: Network,
}

/// A batch, wherever batches come from.
pub struct Batch {
    /// Its place in the epoch, from 0.
    pub number: usize,
    /// How many images it has.
    images: usize,
    /// Their pixels.
    stored: Vec<u32>,
}

impl Batch {
    /// Batch number `number` of a task.
    pub(crate) fn of(sizes: &Sizes, recipe: &Recipe, number: usize) -> Self {
        let mut stored = vec![0; sizes.words(LOADED)];
        let first = number * stored.len();
        recipe.input(IMAGES, sizes.lab.seed, first as u64, &mut stored);
        Self { number, images: sizes.batch, stored }
    }

    /// The time to load it, in ns.
    fn loading_ns(&self) -> u64 {
        LOADING_NS * self.images as u64
    }

    /// Loads its images into `loaded`. It is the host that does it, and it takes the host's time.
    pub(crate) fn load(&self, loaded: &mut HostBlock) -> Result<()> {
        let loaded = loaded.words_mut()?;
        let began = Instant::now()?;
        loaded.copy_from_slice(&self.stored);
        let place = Buffer {
            array: IMAGES,
            first: (self.number * loaded.len()) as u64,
            address: loaded.as_ptr() as u64,
            bytes: loaded.len() as u64 * 4,
        };
        let (written, ns, began_ns) = (place.bytes, self.loading_ns(), began.ns());
        driver::ask(&Request::Load { place, written, ns, began_ns }).map(drop)
    }
}

/// A place for a batch on its way.
pub struct Slot {
    /// Pinned host memory, where the host loads images to.
    pub loaded: HostBlock,
    /// Device memory for these images.
    pub images: CudaSlice<u32>,
    /// Device memory for what the augmentation makes of them, and the network is trained on.
    pub views: CudaSlice<u32>,
}

impl Slot {
    /// Loads the images of a batch into `loaded`. It is the host that does it, and it takes the
    /// host's time.
    pub fn load(&mut self, batch: &Batch) -> Result<()> {
        batch.load(&mut self.loaded)
    }
}

/// Images that are augmented on the host, for the puzzle.
pub struct OnHost {
    /// Pinned memory, four numbers for each pixel.
    pub views: HostBlock,
}

impl OnHost {
    /// Loads and augments a batch. It is the host's time alone that counts here: what comes out is
    /// not looked at.
    pub fn load(&mut self, batch: &Batch) -> Result<()> {
        self.views.words_mut()?;
        crate::host_work(std::time::Duration::from_nanos(batch.loading_ns()))?;
        torch::augment(batch.images)
    }
}

/// Crop, resize, flip, blur and normalise. There is one of everything in it, so it works on one
/// batch at a time.
pub struct Augmentation {
    /// Of each batch: where the windows of its images are, and which are flipped.
    choices: Vec<CudaSlice<u32>>,
    /// The output of each kernel but the last one.
    _memory: [CudaSlice<u32>; 4],
    launches: [Launch; 5],
}

impl Augmentation {
    pub(crate) fn new(sizes: &Sizes, choices: Vec<CudaSlice<u32>>) -> Result<Self> {
        let windows = sizes.device(WINDOW)?;
        let [resized, flipped, blurred] =
            [sizes.device(PIXELS)?, sizes.device(PIXELS)?, sizes.device(PIXELS)?];
        let pixels = |of_an_image| Shape::of_pixels(sizes.words(of_an_image) as u64);
        let launch = |operation, of_an_image, operands: &[&_]| {
            sizes.layers.launch(operation, &pixels(of_an_image), operands)
        };
        // Where images, choices and views are is said at each call: until then, anywhere.
        let any = &windows;
        let launches = [
            launch(Operation::Crop, WINDOW, &[any, any, &windows])?,
            launch(Operation::Resize, PIXELS, &[&windows, &resized])?,
            launch(Operation::Flip, PIXELS, &[&resized, any, &flipped])?,
            launch(Operation::Blur, PIXELS, &[&flipped, &blurred])?,
            launch(Operation::Normalise, PIXELS, &[&blurred, any])?,
        ];
        Ok(Self { choices, _memory: [windows, resized, flipped, blurred], launches })
    }

    /// The inputs: the choices for each batch, in an array that is called `array`.
    pub(crate) fn inputs(&self, array: u32) -> Vec<Buffer> {
        of_each(array, &self.choices)
    }

    /// Queues the kernels that crop, resize, flip and blur the images of a batch: four. What they
    /// make stays in here.
    pub fn augment(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &Batch,
        images: &CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let choices = &self.choices[batch.number];
        let [crop, _, flip, ..] = &mut self.launches;
        crop.put(0, images, stream);
        crop.put(1, choices, stream);
        flip.put(1, choices, stream);
        self.launches[..4].iter_mut().try_for_each(|launch| launch.queue(stream))
    }

    /// Queues the kernel that makes views of the images that were augmented last: it normalises
    /// them.
    pub fn normalise(
        &mut self,
        stream: &Arc<CudaStream>,
        views: &mut CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let [.., normalise] = &mut self.launches;
        normalise.put(1, views, stream);
        normalise.queue(stream)
    }
}

/// Device memory of each batch, which together is an array.
pub(crate) fn of_each(array: u32, all: &[CudaSlice<u32>]) -> Vec<Buffer> {
    let buffers = all.iter().enumerate();
    buffers.map(|(number, it)| device_buffer(array, number * it.len(), it)).collect()
}

/// The network that is trained.
pub struct Network {
    trained: Trained,
    /// Of each batch.
    labels: Vec<CudaSlice<u32>>,
}

impl Network {
    /// Queues the kernels of a step of training on the views of a batch: eight.
    pub fn train(
        &mut self,
        stream: &Arc<CudaStream>,
        batch: &Batch,
        views: &CudaSlice<u32>,
    ) -> Result<()> {
        self.trained.train(stream, views, &self.labels[batch.number])
    }
}

impl Epoch<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut [Slot], &mut Augmentation, &mut Network) -> Result<()>,
    ) -> Result<()> {
        let Self { feed, batches, slots, augmentation, network } = self;
        let mut inputs = augmentation.inputs(CHOICES);
        inputs.extend(of_each(LABELS, &network.labels));
        inputs.extend(network.trained.inputs());
        let outputs = network.trained.outputs();
        let is_the_exercises =
            (feed.sizes.batch, feed.batches) == (task::BATCH as usize, task::BATCHES as usize);
        // Other batches have no task: nothing is filled, and nothing looked at.
        let task = if is_the_exercises { task::NAME } else { "" };
        let region = Region { task: task.to_owned(), inputs, outputs, ..Region::default() };
        feed.sizes.lab.region_on(region, || body(batches, slots, augmentation, network)).map(drop)
    }
}

impl Exercise for Feed {
    fn open(lab: &Lab) -> Result<Self> {
        Self::of(lab, task::BATCH as usize, task::BATCHES as usize)
    }

    fn calibrate(&self) -> Result<()> {
        let lab = &self.sizes.lab;
        let mut epoch = self.allocate()?;
        let Epoch { batches, slots, augmentation, network, .. } = &mut epoch;
        let slot = &mut slots[0];
        lab.alone("host", |_| batches.iter().try_for_each(|batch| slot.load(batch)))?;
        lab.alone("host_to_device", |stream| {
            for _ in batches.iter() {
                stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            }
            Ok(())
        })?;
        lab.alone("kernels", |stream| {
            for batch in batches.iter() {
                augmentation.augment(stream, batch, &slot.images)?;
                augmentation.normalise(stream, &mut slot.views)?;
                network.train(stream, batch, &slot.views)?;
            }
            Ok(())
        })?;
        // The same work in so many streams that no multiprocessor is left empty. What they compute
        // is nothing: no stream waits for another.
        lab.alone("kernels_packed", |stream| {
            let mut streams = vec![stream.clone()];
            for _ in 1..PACKED {
                streams.push(self.context().new_stream()?);
            }
            for batch in batches.iter() {
                let side = &streams[batch.number % PACKED];
                augmentation.augment(side, batch, &slot.images)?;
                augmentation.normalise(side, &mut slot.views)?;
                network.train(side, batch, &slot.views)?;
            }
            streams.iter().try_for_each(|side| Ok(stream.join(side)?))
        })
    }
}
