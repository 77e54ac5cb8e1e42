//! A frozen encoder makes features of batches of images, and a decoder is trained on them: after Chaim Rand,
//! "Pipelining AI/ML training workloads with CUDA streams", whose networks have convolutions of 1 x 1 and of 2 x 2 with
//! stride 2.

use super::Side;
use crate::network::{CHANNELS, CLASSES, Operation, Shape, slices};
use crate::recipe::{Array, Launch, Recipe, Span, Values};

/// The name of the exercise.
pub const NAME: &str = "frozen_encoder";

/// Pixels of an image: 128 x 128.
pub const PIXELS: u64 = 128 * 128;
/// Places of an image that have a label: what the decoder has an output for.
pub const PLACES: u64 = 32 * 32;

/// Images of a batch: with fewer the calls would count for more than the kernels, with more these would fill the device.
pub const BATCH: u64 = 24;
/// Batches: enough for the first, beside which nothing can run, hardly to show.
pub const BATCHES: u64 = 12;

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
}

/// The encoder: three times a convolution of 2 x 2 with stride 2, and one of 1 x 1 after it, each with a ReLU.
pub const ENCODER: [Layer; 6] = [
    Layer { rows: PIXELS / 4, inputs: 4 * CHANNELS, outputs: 32 },
    Layer { rows: PIXELS / 4, inputs: 32, outputs: 32 },
    Layer { rows: PIXELS / 16, inputs: 4 * 32, outputs: 64 },
    Layer { rows: PIXELS / 16, inputs: 64, outputs: 64 },
    Layer { rows: PIXELS / 64, inputs: 4 * 64, outputs: 128 },
    Layer { rows: PIXELS / 64, inputs: 128, outputs: 128 },
];

/// The decoder's transposed convolution of 2 x 2 with stride 2 and a ReLU: of each patch it makes four. It is so large that
/// a step of training takes about as long as uploading and encoding a batch: then there is most to gain.
pub const UP: Layer = Layer { rows: PIXELS / 64, inputs: 128, outputs: 4 * 128 };
/// The decoder's convolution of 1 x 1, to the classes.
pub const CLASSIFY: Layer = Layer { rows: PLACES, inputs: 128, outputs: CLASSES as u64 };

/// Bytes of pixels, four in a word.
pub const IMAGES: u32 = 0;
/// The class of each place.
pub const LABELS: u32 = 1;
/// The weights of the encoder: as many arrays as it has layers.
pub const ENCODER_WEIGHTS: u32 = 2;
/// The weights of [`UP`], before the first batch and after each.
pub const UP_WEIGHTS: u32 = ENCODER_WEIGHTS + ENCODER.len() as u32;
/// The weights of [`CLASSIFY`], likewise.
pub const CLASSIFY_WEIGHTS: u32 = UP_WEIGHTS + 1;
/// The loss at each place.
pub const LOSSES: u32 = CLASSIFY_WEIGHTS + 1;
/// Activations: what each layer of the encoder is given, and then the features.
const ACTIVATIONS: u32 = LOSSES + 1;
const FEATURES: u32 = ACTIVATIONS + ENCODER.len() as u32;
const HIDDEN: u32 = FEATURES + 1;
const LOGITS: u32 = FEATURES + 2;
const LOGITS_GRADIENT: u32 = FEATURES + 3;
const CLASSIFY_GRADIENT: u32 = FEATURES + 4;
const HIDDEN_GRADIENT: u32 = FEATURES + 5;
const UP_GRADIENT: u32 = FEATURES + 6;

/// Bits of the weights that a layer begins with: the more inputs, the smaller, so that activations stay as large as they
/// are (He et al. 2015).
fn weight_bits(layer: &Layer) -> Values {
    // 23 bits are weights from -0.5 to 0.5.
    Values::Signed(23 - (layer.inputs.ilog2() - 4) / 2)
}

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let scale_of = u64::from(scale);
    let rows = |layer: &Layer| layer.rows * BATCH / scale_of;
    let (pixels, places) = (PIXELS * BATCH / scale_of, PLACES * BATCH / scale_of);

    let made = |name, each: u64| {
        let elements = each * BATCHES;
        let (side, values) = (Side::Device, Values::Any);
        Array { name, side, elements, given: 0, values, wanted_from: elements }
    };
    let given = |name, side, elements, values| Array {
        name,
        side,
        elements,
        given: elements,
        values,
        wanted_from: elements,
    };
    let trained = |name, layer: &Layer| Array {
        name,
        side: Side::Device,
        elements: (BATCHES + 1) * layer.weights(),
        given: layer.weights(),
        values: weight_bits(layer),
        wanted_from: BATCHES * layer.weights(),
    };
    let mut arrays = vec![
        given("images", Side::Host, pixels * BATCHES, Values::Any),
        given("labels", Side::Host, places * BATCHES, Values::Bits(CLASSES.ilog2())),
    ];
    for layer in &ENCODER {
        arrays.push(given("weights", Side::Device, layer.weights(), weight_bits(layer)));
    }
    arrays.extend([
        trained("weights", &UP),
        trained("weights", &CLASSIFY),
        Array { wanted_from: 0, ..made("losses", places) },
    ]);
    arrays.extend(ENCODER.iter().map(|layer| made("activations", rows(layer) * layer.inputs)));
    arrays.extend([
        made("features", rows(&UP) * UP.inputs),
        made("activations", rows(&UP) * UP.outputs),
        made("logits", rows(&CLASSIFY) * CLASSIFY.outputs),
        made("gradients", rows(&CLASSIFY) * CLASSIFY.outputs),
        made("gradients", slices(CLASSIFY.inputs, CLASSIFY.outputs) * CLASSIFY.weights()),
        made("gradients", rows(&CLASSIFY) * CLASSIFY.inputs),
        made("gradients", slices(UP.inputs, UP.outputs) * UP.weights()),
    ]);

    let mut launches = Vec::new();
    for batch in 0..BATCHES {
        let part = |array: u32| {
            let elements = arrays[array as usize].elements / BATCHES;
            Span { array, first: batch * elements, elements }
        };
        let weights = |array: u32, layer: &Layer, version: u64| {
            let elements = layer.weights();
            Span { array, first: version * elements, elements }
        };
        let mut launch = |operation, shape, reads: &[Span], writes: &[Span]| {
            let (reads, writes) = (reads.to_vec(), writes.to_vec());
            launches.push(Launch { operation, shape, reads, writes });
        };
        let of_pixels = Shape { rows: pixels, inputs: 0, outputs: 0 };
        launch(Operation::Normalise, of_pixels, &[part(IMAGES)], &[part(ACTIVATIONS)]);
        for (number, layer) in (0..).zip(&ENCODER) {
            let reads = [part(ACTIVATIONS + number), weights(ENCODER_WEIGHTS + number, layer, 0)];
            let writes = [part(ACTIVATIONS + number + 1)];
            launch(Operation::DenseRelu, layer.shape(BATCH, scale_of), &reads, &writes);
        }
        let (up, classify) = (UP.shape(BATCH, scale_of), CLASSIFY.shape(BATCH, scale_of));
        let up_weights = |version| weights(UP_WEIGHTS, &UP, version);
        let classify_weights = |version| weights(CLASSIFY_WEIGHTS, &CLASSIFY, version);
        let [features, hidden, logits] = [FEATURES, HIDDEN, LOGITS].map(part);
        let [from_logits, from_hidden] = [LOGITS_GRADIENT, HIDDEN_GRADIENT].map(part);
        let [of_classify, of_up] = [CLASSIFY_GRADIENT, UP_GRADIENT].map(part);
        let now = batch;
        launch(Operation::DenseRelu, up, &[features, up_weights(now)], &[hidden]);
        launch(Operation::Dense, classify, &[hidden, classify_weights(now)], &[logits]);
        launch(Operation::Loss, classify, &[logits, part(LABELS)], &[from_logits, part(LOSSES)]);
        launch(Operation::WeightGradient, classify, &[hidden, from_logits], &[of_classify]);
        let reads = [from_logits, classify_weights(now), hidden];
        launch(Operation::InputGradient, classify, &reads, &[from_hidden]);
        launch(Operation::WeightGradient, up, &[features, from_hidden], &[of_up]);
        let reads = [classify_weights(now), of_classify];
        launch(Operation::Step, classify.of_step(), &reads, &[classify_weights(now + 1)]);
        launch(Operation::Step, up.of_step(), &[up_weights(now), of_up], &[up_weights(now + 1)]);
    }
    Recipe::new(NAME, scale, "batch", arrays, launches)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_launch_reads_what_another_has_made_of_the_same_batch() {
        for scale in [1, 32] {
            crate::recipe::assert_sound(&recipe(scale));
        }
    }

    #[test]
    fn the_loss_falls() {
        let recipe = recipe(32);
        let each = PLACES * BATCH / 32;
        let mean = |batch: u64| {
            let mut losses = vec![0; each as usize];
            recipe.expected(LOSSES, 1, batch * each, &mut losses);
            losses.iter().map(|loss| f64::from(*loss)).sum::<f64>() / each as f64 / 65536.0
        };
        assert!(mean(BATCHES - 1) < mean(0), "{} and {}", mean(0), mean(BATCHES - 1));
    }

    #[test]
    fn what_does_not_belong_together_is_named() {
        let recipe = recipe(32);
        let loss = recipe.launches().iter().find(|it| it.operation == Operation::Loss);
        let mut reads = loss.expect("there are losses").reads.clone();
        assert!(recipe.made("softmax_cross_entropy", &reads).is_some());
        reads[1].first += 3 * reads[1].elements;
        assert!(recipe.made("softmax_cross_entropy", &reads).is_none());
        let misfit = recipe.misfit("softmax_cross_entropy", &reads);
        assert_eq!(misfit.as_deref(), Some("labels of batch 3 with logits of batch 0"));
        assert_eq!(recipe.misfit("dense", &reads), None);
    }
}
