//! The training of `frozen_encoder`: an encoder whose weights no longer change makes features of images, and a decoder
//! is trained on them.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::network::{Operation, Shape, slices};
use kernels::task::frozen_encoder::{
    self as task, CLASSIFY, CLASSIFY_WEIGHTS, ENCODER, ENCODER_WEIGHTS, IMAGES, LABELS, LOSSES,
    PIXELS, PLACES, UP, UP_WEIGHTS,
};
use trace::lab::{Buffer, Region};

use crate::exercise::Exercise;
use crate::memory::device_buffer;
use crate::network::{Launch, Layers};
use crate::{HostBlock, HostMemory, Lab, Result};

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
            decoder: Decoder::new(self)?,
        })
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
    fn shape(&self, layer: &task::Layer) -> Shape {
        layer.shape(self.batch as u64, self.layers.scale())
    }

    /// What a layer is given, or makes, for a batch.
    fn rows(&self, layer: &task::Layer, columns: u64) -> Result<CudaSlice<u32>> {
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
        let mut launches = vec![layers.launch(Operation::Normalise, &pixels, &[first, first])];
        for (number, (layer, weights)) in ENCODER.iter().zip(&weights).enumerate() {
            let made = activations.get(number + 1).unwrap_or(first);
            let operands = [&activations[number], weights, made];
            launches.push(layers.launch(Operation::DenseRelu, &training.shape(layer), &operands));
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

/// The decoder, and all that its training needs beside the features and the labels.
pub struct Decoder {
    up_weights: CudaSlice<u32>,
    classify_weights: CudaSlice<u32>,
    /// Activations and gradients of the batch that it is trained on.
    _memory: [CudaSlice<u32>; 6],
    /// Of each batch.
    losses: Vec<CudaSlice<u32>>,
    launches: [Launch; 8],
    trained: usize,
}

impl Decoder {
    fn new(training: &Training) -> Result<Self> {
        use Operation::{Dense, DenseRelu, InputGradient, Loss, Step, WeightGradient};
        let weights = |layer: &task::Layer| training.device(layer.weights() as usize);
        let sliced = |layer: &task::Layer| {
            training.device((layer.weights() * slices(layer.inputs, layer.outputs)) as usize)
        };
        let losses: Vec<CudaSlice<u32>> =
            (0..training.batches).map(|_| training.rows(&CLASSIFY, 1)).collect::<Result<_>>()?;
        let (up_weights, classify_weights) = (weights(&UP)?, weights(&CLASSIFY)?);
        let hidden = training.rows(&UP, UP.outputs)?;
        let from_hidden = training.rows(&UP, UP.outputs)?;
        let logits = training.rows(&CLASSIFY, CLASSIFY.outputs)?;
        let from_logits = training.rows(&CLASSIFY, CLASSIFY.outputs)?;
        let (of_up, of_classify) = (sliced(&UP)?, sliced(&CLASSIFY)?);
        let (up, classify) = (training.shape(&UP), training.shape(&CLASSIFY));
        let launch = |operation, shape: &Shape, operands: &[&_]| {
            training.layers.launch(operation, shape, operands)
        };
        // Where features, labels and losses are is said at each call: until then, anywhere.
        let any = &hidden;
        let launches = [
            launch(DenseRelu, &up, &[any, &up_weights, &hidden]),
            launch(Dense, &classify, &[&hidden, &classify_weights, &logits]),
            launch(Loss, &classify, &[&logits, any, &from_logits, any]),
            launch(WeightGradient, &classify, &[&hidden, &from_logits, &of_classify]),
            launch(
                InputGradient,
                &classify,
                &[&from_logits, &classify_weights, &hidden, &from_hidden],
            ),
            launch(WeightGradient, &up, &[any, &from_hidden, &of_up]),
            launch(Step, &classify.of_step(), &[&of_classify, &classify_weights]),
            launch(Step, &up.of_step(), &[&of_up, &up_weights]),
        ];
        let memory = [hidden, from_hidden, logits, from_logits, of_up, of_classify];
        let trained = 0;
        Ok(Self { up_weights, classify_weights, _memory: memory, losses, launches, trained })
    }

    /// Queues the kernels of a step of training: forward, loss, backward, and a step of gradient descent. Eight.
    pub fn train(
        &mut self,
        stream: &Arc<CudaStream>,
        features: &CudaSlice<u32>,
        labels: &CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let loss = &self.losses[self.trained % self.losses.len()];
        self.trained += 1;
        let [forward, _, losses, _, _, backward, ..] = &mut self.launches;
        forward.put(0, features, stream);
        losses.put(1, labels, stream);
        losses.put(3, loss, stream);
        backward.put(0, features, stream);
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
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for batch in batches {
            let first = |block: &HostBlock| batch.number * block.len();
            inputs.push(batch.images.buffer(IMAGES, first(&batch.images))?);
            inputs.push(batch.labels.buffer(LABELS, first(&batch.labels))?);
        }
        for (array, weights) in (ENCODER_WEIGHTS..).zip(&encoder.weights) {
            inputs.push(device_buffer(array, 0, weights));
        }
        let trained =
            [(UP_WEIGHTS, &decoder.up_weights), (CLASSIFY_WEIGHTS, &decoder.classify_weights)];
        for (array, weights) in trained {
            inputs.push(device_buffer(array, 0, weights));
            outputs.push(device_buffer(array, batches.len() * weights.len(), weights));
        }
        for (number, losses) in decoder.losses.iter().enumerate() {
            outputs.push(device_buffer(LOSSES, number * losses.len(), losses));
        }
        Ok([inputs, outputs])
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
