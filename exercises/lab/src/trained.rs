//! Layers that are trained.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::network::{Operation, slices};
use kernels::task::training::{Layer, Training};
use trace::lab_protocol::Buffer;

use crate::Result;
use crate::memory::device_buffer;
use crate::network::{Launch, Layers};

/// Two layers, and all that their training needs beside what goes in and the labels.
pub struct Trained {
    of: Training,
    weights: [CudaSlice<u32>; 2],
    /// Activations and gradients of the batch that they are trained on.
    _memory: [CudaSlice<u32>; 6],
    /// Of each batch.
    losses: Vec<CudaSlice<u32>>,
    launches: [Launch; 8],
    trained: usize,
}

impl Trained {
    pub(crate) fn new(context: &Arc<CudaContext>, layers: &Layers, of: &Training) -> Result<Self> {
        use Operation::{Dense, DenseRelu, InputGradient, Loss, Step, WeightGradient};
        let stream = context.default_stream();
        let words = |words: u64| Ok::<_, crate::Error>(stream.alloc_zeros(words as usize)?);
        let shape = |layer: &Layer| layer.shape(of.batch, layers.scale());
        let rows = |layer: &Layer, columns: u64| words(shape(layer).rows * columns);
        let sliced = |layer: &Layer| words(layer.weights() * slices(layer.inputs, layer.outputs));
        let [first, second] = &of.layers;
        let losses: Vec<CudaSlice<u32>> =
            (0..of.batches).map(|_| rows(second, 1)).collect::<Result<_>>()?;
        let weights = [words(first.weights())?, words(second.weights())?];
        let hidden = rows(first, first.outputs)?;
        let from_hidden = rows(first, first.outputs)?;
        let logits = rows(second, second.outputs)?;
        let from_logits = rows(second, second.outputs)?;
        let (of_first, of_second) = (sliced(first)?, sliced(second)?);
        let (first, second) = (shape(first), shape(second));
        let launch = |operation, shape, operands: &[&_]| layers.launch(operation, shape, operands);
        // Where inputs, labels and losses are is said at each call: until then, anywhere.
        let any = &hidden;
        let launches = [
            launch(DenseRelu, &first, &[any, &weights[0], &hidden])?,
            launch(Dense, &second, &[&hidden, &weights[1], &logits])?,
            launch(Loss, &second, &[&logits, any, &from_logits, any])?,
            launch(WeightGradient, &second, &[&hidden, &from_logits, &of_second])?,
            launch(InputGradient, &second, &[&from_logits, &weights[1], &hidden, &from_hidden])?,
            launch(WeightGradient, &first, &[any, &from_hidden, &of_first])?,
            launch(Step, &second.of_step(), &[&of_second, &weights[1]])?,
            launch(Step, &first.of_step(), &[&of_first, &weights[0]])?,
        ];
        let memory = [hidden, from_hidden, logits, from_logits, of_first, of_second];
        Ok(Self { of: *of, weights, _memory: memory, losses, launches, trained: 0 })
    }

    /// Queues the kernels of a step of training: forward, loss, backward, and a step of gradient
    /// descent. Eight.
    pub fn train(
        &mut self,
        stream: &Arc<CudaStream>,
        inputs: &CudaSlice<u32>,
        labels: &CudaSlice<u32>,
    ) -> Result<()> {
        stream.context().bind_to_thread()?;
        let loss = &self.losses[self.trained % self.losses.len()];
        self.trained += 1;
        let [forward, _, losses, _, _, backward, ..] = &mut self.launches;
        forward.put(0, inputs, stream);
        losses.put(1, labels, stream);
        losses.put(3, loss, stream);
        backward.put(0, inputs, stream);
        self.launches.iter_mut().try_for_each(|launch| launch.queue(stream))
    }

    /// The weights of both layers.
    pub(crate) fn weights(&self) -> &[CudaSlice<u32>; 2] {
        &self.weights
    }

    /// The losses of a batch.
    pub(crate) fn losses(&self, number: usize) -> &CudaSlice<u32> {
        &self.losses[number]
    }

    /// The inputs: the weights before the first batch.
    pub(crate) fn inputs(&self) -> Vec<Buffer> {
        let weights = self.of.weights().into_iter().zip(&self.weights);
        weights.map(|(array, weights)| device_buffer(array, 0, weights)).collect()
    }

    /// The outputs: the weights after the last batch, and the losses.
    pub(crate) fn outputs(&self) -> Vec<Buffer> {
        let weights = self.of.weights().into_iter().zip(&self.weights);
        let after = |weights: &CudaSlice<u32>| self.losses.len() * weights.len();
        let weights = weights.map(|(array, weights)| device_buffer(array, after(weights), weights));
        let losses =
            self.losses.iter().enumerate().map(|(number, losses)| {
                device_buffer(self.of.losses(), number * losses.len(), losses)
            });
        weights.chain(losses).collect()
    }
}
