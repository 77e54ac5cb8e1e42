//! The training of `frozen_encoder`: an encoder whose weights no longer change makes features of
//! images, and a decoder is trained on them.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::network::{Operation, Shape};
use kernels::task::frozen_encoder::{
    self as task, ENCODER, ENCODER_WEIGHTS, IMAGES, LABELS, PIXELS, PLACES, UP,
};
use kernels::task::training::{self, Layer};
use trace::lab_protocol::{Buffer, Region};

use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::network::{Launch, Sizes};
use crate::{HostBlock, HostMemory, Lab, Result};

pub use crate::trained::Trained as Decoder;

/// Buffers for what the encoder hands to the decoder: one for the batch that is trained on, one for
/// the next.
const SLOTS: usize = 2;

/// Streams that keep the device full with batches of the exercise.
const PACKED: usize = 4;

/// The training, not yet in memory.
pub struct Training {
    sizes: Sizes,
    batches: usize,
}

impl Training {
    /// The same training on batches of so many images, so many times, for the puzzle.
    pub fn of(lab: &Lab, batch: usize, batches: usize) -> Result<Self> {
        Ok(Self { sizes: Sizes::of(lab, batch)?, batches })
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

    /// Allocates all batches in pinned host memory, and on the device both networks and two buffers
    /// for what goes from one to the other.
    pub fn allocate(&self) -> Result<Epoch<'_>> {
        let sizes = &self.sizes;
        let batch = |number| {
            let block =
                |of_an_image| sizes.lab.host_block(HostMemory::Pinned, sizes.words(of_an_image));
            Ok(Batch { number, images: block(PIXELS)?, labels: block(PLACES)? })
        };
        let slot = |_| {
            Ok(Slot {
                images: sizes.device(PIXELS)?,
                labels: sizes.device(PLACES)?,
                features: sizes.device(UP.rows * UP.inputs)?,
            })
        };
        Ok(Epoch {
            training: self,
            batches: (0..self.batches).map(batch).collect::<Result<_>>()?,
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            encoder: Encoder::new(sizes)?,
            decoder: Decoder::new(self.context(), &sizes.layers, &self.decoder())?,
        })
    }

    /// The training of the decoder on these batches.
    fn decoder(&self) -> training::Training {
        let (batch, batches) = (self.sizes.batch as u64, self.batches as u64);
        training::Training { batch, batches, ..task::DECODER }
    }
}

/// The training, in memory.
pub struct Epoch<'a> {
    training: &'a Training,
    batches: Vec<Batch>,
    slots: Vec<Slot>,
    encoder: Encoder,
    decoder: Decoder,
}

/// A batch in pinned host memory.
pub struct Batch {
    /// Its place in the epoch, from 0.
    pub number: usize,
    /// Its images.
    pub images: HostBlock,
    /// The classes of what is in them.
    pub labels: HostBlock,
}

/// Device memory for what belongs to one batch.
pub struct Slot {
    /// Its images, which the encoder reads.
    pub images: CudaSlice<u32>,
    /// Their labels, which the decoder reads.
    pub labels: CudaSlice<u32>,
    /// Their features, which the encoder writes and the decoder reads.
    pub features: CudaSlice<u32>,
}

/// The encoder. Its weights are frozen: it only reads them. There is one of everything in it, so it
/// works on one batch at a time.
pub struct Encoder {
    weights: Vec<CudaSlice<u32>>,
    /// The input of each layer.
    _activations: Vec<CudaSlice<u32>>,
    launches: Vec<Launch>,
}

impl Encoder {
    pub(crate) fn new(sizes: &Sizes) -> Result<Self> {
        let given = |layer: &Layer| sizes.memory((sizes.shape(layer).rows * layer.inputs) as usize);
        let activations: Vec<_> = ENCODER.iter().map(given).collect::<Result<_>>()?;
        let weights = |layer: &Layer| sizes.memory(layer.weights() as usize);
        let weights: Vec<_> = ENCODER.iter().map(weights).collect::<Result<_>>()?;
        let layers = &sizes.layers;
        // Where images and features are is said at each call: until then, anywhere.
        let first = &activations[0];
        let pixels = Shape::of_pixels(sizes.words(PIXELS) as u64);
        let mut launches = vec![layers.launch(Operation::Normalise, &pixels, &[first, first])?];
        for (number, (layer, weights)) in ENCODER.iter().zip(&weights).enumerate() {
            let made = activations.get(number + 1).unwrap_or(first);
            let operands = [&activations[number], weights, made];
            let shape = sizes.shape(layer);
            launches.push(layers.launch(Operation::DenseRelu, &shape, &operands)?);
        }
        Ok(Self { weights, _activations: activations, launches })
    }

    /// Queues the kernels that make features of images: seven.
    pub fn encode(
        &mut self,
        stream: &Arc<CudaStream>,
        images: &CudaSlice<u32>,
        features: &mut CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let last = self.launches.len() - 1;
        self.launches[0].put(0, images, stream);
        self.launches[last].put(2, features, stream);
        self.launches.iter_mut().try_for_each(|launch| launch.queue(stream))
    }

    /// Queues the kernels that make features of views, which are normalised already: six.
    pub(crate) fn encode_views(
        &mut self,
        stream: &Arc<CudaStream>,
        views: &CudaSlice<u32>,
        features: &mut CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let last = self.launches.len() - 1;
        self.launches[1].put(0, views, stream);
        self.launches[last].put(2, features, stream);
        self.launches[1..].iter_mut().try_for_each(|launch| launch.queue(stream))
    }

    /// The inputs: its weights, the first of them called `array`.
    pub(crate) fn inputs(&self, array: u32) -> impl Iterator<Item = Buffer> {
        (array..).zip(&self.weights).map(|(array, weights)| device_buffer(array, 0, weights))
    }
}

impl Epoch<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut [Slot], &mut Encoder, &mut Decoder) -> Result<()>,
    ) -> Result<()> {
        let [inputs, outputs] = self.buffers()?;
        let Self { training, batches, slots, encoder, decoder } = self;
        let is_the_exercises = (training.sizes.batch, training.batches)
            == (task::BATCH as usize, task::BATCHES as usize);
        // Other batches have no task: nothing is filled, and nothing looked at.
        let task = if is_the_exercises { task::NAME } else { "" };
        let region = Region { task: task.to_owned(), inputs, outputs, ..Region::default() };
        training.sizes.lab.region_on(region, || body(batches, slots, encoder, decoder)).map(drop)
    }

    /// The inputs, and the outputs.
    fn buffers(&self) -> Result<[Vec<Buffer>; 2]> {
        let Self { batches, encoder, decoder, .. } = self;
        let mut inputs = Vec::new();
        for batch in batches {
            let first = |block: &HostBlock| batch.number * block.len();
            inputs.push(batch.images.buffer(IMAGES, first(&batch.images))?);
            inputs.push(batch.labels.buffer(LABELS, first(&batch.labels))?);
        }
        inputs.extend(encoder.inputs(ENCODER_WEIGHTS));
        inputs.extend(decoder.inputs());
        Ok([inputs, decoder.outputs()])
    }
}

impl Exercise for Training {
    fn open(lab: &Lab) -> Result<Self> {
        Self::of(lab, task::BATCH as usize, task::BATCHES as usize)
    }

    fn calibrate(&self) -> Result<()> {
        let lab = &self.sizes.lab;
        let mut epoch = self.allocate()?;
        let Epoch { batches, slots, encoder, decoder, .. } = &mut epoch;
        let Slot { images, labels, features } = &mut slots[0];
        lab.alone("host_to_device", |stream| {
            for batch in batches.iter() {
                stream.memcpy_htod(&batch.images, images)?;
                stream.memcpy_htod(&batch.labels, labels)?;
            }
            Ok(())
        })?;
        lab.alone("kernels", |stream| {
            for _ in batches.iter() {
                encoder.encode(stream, images, features)?;
                decoder.train(stream, features, labels)?;
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
                encoder.encode(side, images, features)?;
                decoder.train(side, features, labels)?;
            }
            streams.iter().try_for_each(|side| Ok(stream.join(side)?))
        })
    }
}
