//! The training of `frozen_encoder`: an encoder whose weights no longer change makes features of images, and a decoder
//! is trained on them.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::network::{Operation, Shape};
use kernels::task::frozen_encoder::{
    self as task, ENCODER, ENCODER_WEIGHTS, IMAGES, LABELS, PIXELS, PLACES, UP,
};
use kernels::task::training::{self, Layer};
use trace::lab::{Buffer, Region};

use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::network::{Launch, Layers};
use crate::{HostBlock, HostMemory, Lab, Result};

pub use crate::trained::Trained as Decoder;

/// Buffers for what the encoder hands to the decoder: one for the batch that is trained on, one for the next.
const SLOTS: usize = 2;

/// Streams that keep the device full with batches of the exercise.
const PACKED: usize = 4;

/// The training, not yet in memory.
pub struct Training {
    lab: Lab,
    layers: Layers,
    /// Images of a batch.
    batch: usize,
    batches: usize,
}

impl Training {
    /// The same training on batches of so many images, so many times, for the puzzle.
    pub fn of(lab: &Lab, batch: usize, batches: usize) -> Result<Self> {
        Ok(Self { lab: lab.clone(), layers: Layers::load(lab)?, batch, batches })
    }

    /// The same, issued as a Python program would: before each kernel, what an operator of PyTorch costs the host.
    pub fn issued_by_python(self) -> Self {
        Self { layers: self.layers.issued_by_python(), ..self }
    }

    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates all batches in pinned host memory, and on the device both networks and two buffers for what goes
    /// from one to the other.
    pub fn allocate(&self) -> Result<Epoch<'_>> {
        let (pixels, places) = (self.words(PIXELS), self.words(PLACES));
        let batch = |number| {
            Ok(Batch {
                number,
                images: self.lab.host_block(HostMemory::Pinned, pixels)?,
                labels: self.lab.host_block(HostMemory::Pinned, places)?,
            })
        };
        let slot = |_| {
            Ok(Slot {
                images: self.device(pixels)?,
                labels: self.device(places)?,
                features: self.device(self.words(UP.rows * UP.inputs))?,
            })
        };
        Ok(Epoch {
            training: self,
            batches: (0..self.batches).map(batch).collect::<Result<_>>()?,
            slots: (0..SLOTS).map(slot).collect::<Result<_>>()?,
            encoder: Encoder::new(self)?,
            decoder: Decoder::new(self.context(), &self.layers, &self.decoder())?,
        })
    }

    /// The training of the decoder on these batches.
    fn decoder(&self) -> training::Training {
        let (batch, batches) = (self.batch as u64, self.batches as u64);
        training::Training { batch, batches, ..task::DECODER }
    }

    /// Words of a batch, of so many of an image.
    fn words(&self, of_an_image: u64) -> usize {
        (of_an_image * self.batch as u64 / self.layers.scale()) as usize
    }

    /// Memory of the device.
    fn device(&self, words: usize) -> Result<CudaSlice<u32>> {
        Ok(self.context().default_stream().alloc_zeros(words)?)
    }

    /// A layer for a batch.
    fn shape(&self, layer: &Layer) -> Shape {
        layer.shape(self.batch as u64, self.layers.scale())
    }

    /// What a layer is given, or makes, for a batch.
    fn rows(&self, layer: &Layer, columns: u64) -> Result<CudaSlice<u32>> {
        self.device((self.shape(layer).rows * columns) as usize)
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

/// The encoder. Its weights are frozen: it only reads them. There is one of everything in it, so it works on one batch at
/// a time.
pub struct Encoder {
    weights: Vec<CudaSlice<u32>>,
    /// What each layer is given.
    _activations: Vec<CudaSlice<u32>>,
    launches: Vec<Launch>,
}

impl Encoder {
    fn new(training: &Training) -> Result<Self> {
        let activations: Vec<CudaSlice<u32>> = ENCODER
            .iter()
            .map(|layer| training.rows(layer, layer.inputs))
            .collect::<Result<_>>()?;
        let weights: Vec<CudaSlice<u32>> = ENCODER
            .iter()
            .map(|layer| training.device(layer.weights() as usize))
            .collect::<Result<_>>()?;
        let layers = &training.layers;
        // Where images and features are is said at each call: until then, anywhere.
        let first = &activations[0];
        let pixels = Shape { rows: training.words(PIXELS) as u64, inputs: 0, outputs: 0 };
        let mut launches = vec![layers.launch(Operation::Normalise, &pixels, &[first, first])?];
        for (number, (layer, weights)) in ENCODER.iter().zip(&weights).enumerate() {
            let made = activations.get(number + 1).unwrap_or(first);
            let operands = [&activations[number], weights, made];
            launches.push(layers.launch(
                Operation::DenseRelu,
                &training.shape(layer),
                &operands,
            )?);
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
}

impl Epoch<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body` returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&[Batch], &mut [Slot], &mut Encoder, &mut Decoder) -> Result<()>,
    ) -> Result<()> {
        let [inputs, outputs] = self.buffers()?;
        let Self { training, batches, slots, encoder, decoder } = self;
        let is_the_exercises =
            (training.batch, training.batches) == (task::BATCH as usize, task::BATCHES as usize);
        // Other batches have no task: nothing is filled, and nothing looked at.
        let task = if is_the_exercises { task::NAME } else { "" };
        let region = Region { task: task.to_owned(), inputs, outputs, ..Region::default() };
        training.lab.region_on(region, || body(batches, slots, encoder, decoder)).map(drop)
    }

    /// What is given, and what is looked at.
    fn buffers(&self) -> Result<[Vec<Buffer>; 2]> {
        let Self { batches, encoder, decoder, .. } = self;
        let mut inputs = Vec::new();
        for batch in batches {
            let first = |block: &HostBlock| batch.number * block.len();
            inputs.push(batch.images.buffer(IMAGES, first(&batch.images))?);
            inputs.push(batch.labels.buffer(LABELS, first(&batch.labels))?);
        }
        for (array, weights) in (ENCODER_WEIGHTS..).zip(&encoder.weights) {
            inputs.push(device_buffer(array, 0, weights));
        }
        inputs.extend(decoder.inputs());
        Ok([inputs, decoder.outputs()])
    }
}

impl Exercise for Training {
    fn open(lab: &Lab) -> Result<Self> {
        Self::of(lab, task::BATCH as usize, task::BATCHES as usize)
    }

    fn calibrate(&self) -> Result<()> {
        let mut epoch = self.allocate()?;
        let Epoch { batches, slots, encoder, decoder, .. } = &mut epoch;
        let Slot { images, labels, features } = &mut slots[0];
        self.lab.alone("host_to_device", |stream| {
            for batch in batches.iter() {
                stream.memcpy_htod(&batch.images, images)?;
                stream.memcpy_htod(&batch.labels, labels)?;
            }
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            for _ in batches.iter() {
                encoder.encode(stream, images, features)?;
                decoder.train(stream, features, labels)?;
            }
            Ok(())
        })?;
        // The same work in so many streams that no multiprocessor is left empty. What they compute is nothing: no stream
        // waits for another.
        self.lab.alone("kernels_packed", |stream| {
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
