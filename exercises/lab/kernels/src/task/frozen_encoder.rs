//! A frozen encoder makes features of batches of images, and a decoder is trained on them. It is
//! after Chaim Rand, "Pipelining AI/ML training workloads with CUDA streams", whose networks have
//! convolutions of 1 x 1 and of 2 x 2 with stride 2.

use super::training::{Layer, Training, labels};
use crate::network::{CHANNELS, CLASSES, Operation, Shape};
use crate::recipe::Side;
use crate::recipe::{Array, Launch, Recipe, Span, Values, part};

/// The name of the exercise.
pub const NAME: &str = "frozen_encoder";

/// Pixels of an image: 128 x 128.
pub const PIXELS: u64 = 128 * 128;
/// Places of an image that have a label: what the decoder has an output for.
pub const PLACES: u64 = 32 * 32;

/// Images of a batch: with fewer the calls would count for more than the kernels, with more these
/// would fill the device.
pub const BATCH: u64 = 24;
/// Batches: enough for the first, beside which nothing can run, hardly to show.
pub const BATCHES: u64 = 12;

/// The encoder: three times a convolution of 2 x 2 with stride 2, and one of 1 x 1 after it, each
/// with a ReLU.
pub const ENCODER: [Layer; 6] = [
    Layer { rows: PIXELS / 4, inputs: 4 * CHANNELS, outputs: 32 },
    Layer { rows: PIXELS / 4, inputs: 32, outputs: 32 },
    Layer { rows: PIXELS / 16, inputs: 4 * 32, outputs: 64 },
    Layer { rows: PIXELS / 16, inputs: 64, outputs: 64 },
    Layer { rows: PIXELS / 64, inputs: 4 * 64, outputs: 128 },
    Layer { rows: PIXELS / 64, inputs: 128, outputs: 128 },
];

/// The decoder's transposed convolution of 2 x 2 with stride 2 and a ReLU: of each patch it makes
/// four. It is so large that a step of training takes about as long as uploading and encoding a
/// batch: then there is most to gain.
pub const UP: Layer = Layer { rows: PIXELS / 64, inputs: 128, outputs: 4 * 128 };
/// The decoder's convolution of 1 x 1, to the classes.
pub const CLASSIFY: Layer = Layer { rows: PLACES, inputs: 128, outputs: CLASSES as u64 };

/// Bytes of pixels, four in a word.
pub const IMAGES: u32 = 0;
/// The class of each place.
pub const LABELS: u32 = 1;
/// The weights of the encoder: as many arrays as it has layers.
pub const ENCODER_WEIGHTS: u32 = 2;
/// The training of the decoder, whose arrays come next.
pub const DECODER: Training = Training {
    layers: [UP, CLASSIFY],
    array: ENCODER_WEIGHTS + ENCODER.len() as u32,
    batch: BATCH,
    batches: BATCHES,
};
/// Activations: what each layer of the encoder is given, and then the features.
const ACTIVATIONS: u32 = DECODER.array + Training::ARRAYS;

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let scale_of = u64::from(scale);
    let (pixels, places) = (PIXELS * BATCH / scale_of, PLACES * BATCH / scale_of);
    let rows = |layer: &Layer| layer.shape(BATCH, scale_of).rows;
    let made = |name, each: u64| Array::made(name, each * BATCHES);
    let mut arrays = vec![
        Array::given("images", Side::Host, pixels * BATCHES, Values::Any),
        labels(Side::Host, places * BATCHES),
    ];
    let weights = |it: &Layer| Array::given("weights", Side::Device, it.weights(), it.values());
    arrays.extend(ENCODER.iter().map(weights));
    arrays.extend(DECODER.arrays(scale_of));
    arrays.extend(ENCODER.iter().map(|layer| made("activations", rows(layer) * layer.inputs)));
    arrays.push(made("features", rows(&UP) * UP.inputs));

    let mut launches = Vec::new();
    for batch in 0..BATCHES {
        let part = |array: u32| part(array, &arrays[array as usize], batch, BATCHES);
        let (reads, writes) = (vec![part(IMAGES)], vec![part(ACTIVATIONS)]);
        let shape = Shape::of_pixels(pixels);
        launches.push(Launch::of_layer(Operation::Normalise, shape, scale_of, reads, writes));
        let activations = [0, 1, 2, 3, 4, 5, 6].map(|layer| part(ACTIVATIONS + layer));
        launches.extend(encode(scale_of, BATCH, ENCODER_WEIGHTS, activations));
        let [.., features] = activations;
        launches.extend(DECODER.step(scale_of, batch, features, part(LABELS)));
    }
    Recipe::new(NAME, scale, "batch", arrays, launches)
}

/// The launches of the encoder over so many images, with the array of its first weights, from what
/// the first layer is given to what the last one makes.
pub(super) fn encode(
    scale: u64,
    images: u64,
    weights: u32,
    activations: [Span; ENCODER.len() + 1],
) -> Vec<Launch> {
    let layers = (weights..).zip(&ENCODER).zip(activations.windows(2));
    let launch = |((array, layer), between): ((u32, &Layer), &[Span])| {
        let weights = Span { array, first: 0, elements: layer.weights() };
        let (reads, writes) = (vec![between[0], weights], vec![between[1]]);
        let shape = layer.shape(images, scale);
        Launch::of_layer(Operation::DenseRelu, shape, scale, reads, writes)
    };
    layers.map(launch).collect()
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
        DECODER.assert_learns(&recipe(32));
    }

    #[test]
    fn what_does_not_belong_together_is_named() {
        let recipe = recipe(32);
        let loss = recipe.launches().iter().find(|it| it.kernel.name == Operation::Loss.name());
        let mut reads = loss.expect("there are losses").reads.clone();
        assert!(recipe.made("softmax_cross_entropy", &reads).is_some());
        reads[1].first += 3 * reads[1].elements;
        assert!(recipe.made("softmax_cross_entropy", &reads).is_none());
        let misfit = recipe.misfit("softmax_cross_entropy", &reads);
        assert_eq!(misfit.as_deref(), Some("labels of batch 3 with logits of batch 0"));
        assert_eq!(recipe.misfit("dense", &reads), None);
    }
}
