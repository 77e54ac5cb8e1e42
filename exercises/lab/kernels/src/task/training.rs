//! Training of the last two layers of a network, batch by batch: what the tasks of several
//! exercises have in common.

use crate::network::{CLASSES, Operation, Shape, slices};
use crate::recipe::Side;
use crate::recipe::{Array, Launch, Span, Values, part};

/// A layer: rows of one image, and the numbers that go in and come out of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    /// Patches of an image.
    pub rows: u64,
    /// Numbers of a patch.
    pub inputs: u64,
    /// Numbers that become of them.
    pub outputs: u64,
}

impl Layer {
    /// For so many images, one word in memory standing for `scale`.
    #[must_use]
    pub fn shape(&self, images: u64, scale: u64) -> Shape {
        Shape { rows: self.rows * images / scale, inputs: self.inputs, outputs: self.outputs }
    }

    /// How many weights it has.
    #[must_use]
    pub fn weights(&self) -> u64 {
        self.inputs * self.outputs
    }

    /// Bits of the weights that it begins with: the more inputs, the smaller, so that activations
    /// stay as large as they are (He et al. 2015).
    #[must_use]
    pub fn values(&self) -> Values {
        // 23 bits are weights from -0.5 to 0.5.
        Values::Signed(23 - (self.inputs.ilog2() - 4) / 2)
    }
}

/// The training of two layers: a ReLU after the first, a softmax over the classes after the second.
#[derive(Clone, Copy, Debug)]
pub struct Training {
    /// The layers. A row of the first becomes one or several of the second.
    pub layers: [Layer; 2],
    /// The first of its arrays.
    pub array: u32,
    /// Images of a batch.
    pub batch: u64,
    /// Batches.
    pub batches: u64,
}

/// Its arrays, counted from [`Training::array`]: the weights of the layers, before the first batch
/// and after each.
const WEIGHTS: [u32; 2] = [0, 1];
const LOSSES: u32 = 2;
const HIDDEN: u32 = 3;
const LOGITS: u32 = 4;
const FROM_LOGITS: u32 = 5;
const FROM_HIDDEN: u32 = 6;
const OF_WEIGHTS: [u32; 2] = [7, 8];

impl Training {
    /// How many arrays it has.
    pub const ARRAYS: u32 = 9;

    /// The weights of each layer.
    #[must_use]
    pub const fn weights(&self) -> [u32; 2] {
        [self.array + WEIGHTS[0], self.array + WEIGHTS[1]]
    }

    /// The loss of each row of the second layer.
    #[must_use]
    pub const fn losses(&self) -> u32 {
        self.array + LOSSES
    }

    /// Its arrays, one word in memory standing for `scale`.
    #[must_use]
    pub fn arrays(&self, scale: u64) -> Vec<Array> {
        let [first, second] = self.layers;
        let rows = |layer: &Layer| layer.shape(self.batch, scale).rows;
        let trained = |layer: &Layer| Array {
            given: layer.weights(),
            values: layer.values(),
            wanted_from: self.batches * layer.weights(),
            ..Array::made("weights", (self.batches + 1) * layer.weights())
        };
        let made = |name, each: u64| Array::made(name, each * self.batches);
        let sliced = |layer: &Layer| slices(layer.inputs, layer.outputs) * layer.weights();
        vec![
            trained(&first),
            trained(&second),
            Array { wanted_from: 0, ..made("losses", rows(&second)) },
            made("activations", rows(&first) * first.outputs),
            made("logits", rows(&second) * second.outputs),
            made("gradients", rows(&second) * second.outputs),
            made("gradients", rows(&second) * second.inputs),
            made("gradients", sliced(&first)),
            made("gradients", sliced(&second)),
        ]
    }

    /// The launches of a batch, on what goes into the first layer and on labels for the rows of the
    /// second.
    #[must_use]
    pub fn step(&self, scale: u64, batch: u64, inputs: Span, labels: Span) -> Vec<Launch> {
        use Operation::{Dense, DenseRelu, InputGradient, Loss, Step, WeightGradient};
        let arrays = self.arrays(scale);
        let part =
            |array: u32| part(self.array + array, &arrays[array as usize], batch, self.batches);
        let weights = |layer: usize, version: u64| {
            let elements = self.layers[layer].weights();
            Span { array: self.weights()[layer], first: version * elements, elements }
        };
        let [hidden, logits, losses] = [HIDDEN, LOGITS, LOSSES].map(part);
        let [from_logits, from_hidden] = [FROM_LOGITS, FROM_HIDDEN].map(part);
        let of_weights = OF_WEIGHTS.map(part);
        let [first, second] = self.layers.map(|layer| layer.shape(self.batch, scale));
        let launch = |operation, shape: Shape, reads: &[Span], writes: &[Span]| {
            let (reads, writes) = (reads.to_vec(), writes.to_vec());
            Launch::of_layer(operation, shape, scale, reads, writes)
        };
        let step = |layer: usize, shape: Shape| {
            let reads = [weights(layer, batch), of_weights[layer]];
            launch(Step, shape.of_step(), &reads, &[weights(layer, batch + 1)])
        };
        vec![
            launch(DenseRelu, first, &[inputs, weights(0, batch)], &[hidden]),
            launch(Dense, second, &[hidden, weights(1, batch)], &[logits]),
            launch(Loss, second, &[logits, labels], &[from_logits, losses]),
            launch(WeightGradient, second, &[hidden, from_logits], &[of_weights[1]]),
            launch(
                InputGradient,
                second,
                &[from_logits, weights(1, batch), hidden],
                &[from_hidden],
            ),
            launch(WeightGradient, first, &[inputs, from_hidden], &[of_weights[0]]),
            step(1, second),
            step(0, first),
        ]
    }

    /// Fails where the mean loss of the last batch is no smaller than that of the first.
    #[cfg(test)]
    pub(crate) fn assert_learns(&self, recipe: &crate::Recipe) {
        let each = self.layers[1].shape(self.batch, recipe.scale().into()).rows;
        let mean = |batch: u64| {
            let mut losses = vec![0; each as usize];
            recipe.expected(self.losses(), 1, batch * each, &mut losses);
            losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / each as f64 / 65536.0
        };
        let (first, last) = (mean(0), mean(self.batches - 1));
        assert!(last < first, "{first} and {last}");
    }
}

/// The kind of values that labels are.
pub const LABELS: Values = Values::Bits(CLASSES.ilog2());

/// The array of labels of so many rows, on this side.
#[must_use]
pub fn labels(side: Side, elements: u64) -> Array {
    Array::given("labels", side, elements, LABELS)
}
