//! Everything at once: images are loaded, uploaded and augmented, a frozen encoder makes features
//! of them, and a head is trained on these. Losses go into a log, and every few batches the weights
//! of the head go into a checkpoint.

use super::frozen_encoder::{self, CLASSIFY, ENCODER, PLACES, UP};
use super::gpu_augmentation::{self, LOADING_NS};
use super::training::{Layer, Training, labels};
use crate::network::{CHANNELS, LOADED, PIXELS, WINDOW};
use crate::recipe::Side;
use crate::recipe::{Array, Recipe, Span, Values, part};

/// The name of the exercise.
pub const NAME: &str = "capstone";

/// Images of a batch: with fewer the calls would count for more than the kernels, with more these
/// would fill the device.
pub const BATCH: u64 = 32;
/// Batches: enough for the first, beside which nothing can run, hardly to show.
pub const BATCHES: u64 = 16;
/// After so many batches there is a checkpoint.
pub const LAP: u64 = 4;

/// The time in which the host writes a line of the log, in ns: a float is formatted and flushed,
/// as a training loop does for each batch.
pub const LOG_NS: u64 = 10_000;
/// The time in which the host writes a checkpoint of 280 kB, in ns: some 2 GB/s, as a file in a
/// cache takes it.
pub const SAVE_NS: u64 = 140_000;

/// Bytes of pixels, four in a word.
pub const IMAGES: u32 = 0;
/// For each image where its window is, and whether it is flipped.
pub const CHOICES: u32 = 1;
/// The class of each place.
pub const LABELS: u32 = 2;
/// The weights of the encoder: as many arrays as it has layers.
pub const ENCODER_WEIGHTS: u32 = 3;
/// The training of the head, whose arrays come next.
pub const HEAD: Training = Training {
    layers: [UP, CLASSIFY],
    array: ENCODER_WEIGHTS + ENCODER.len() as u32,
    batch: BATCH,
    batches: BATCHES,
};
/// The array of each kernel of the augmentation but the last one.
const AUGMENTED: u32 = HEAD.array + Training::ARRAYS;
/// Activations: the views that the augmentation ends with, what each layer of the encoder makes,
/// and last the features.
const ACTIVATIONS: u32 = AUGMENTED + 4;

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let scale_of = u64::from(scale);
    let words = |of_an_image: u64| of_an_image * BATCH / scale_of;
    let given = |name, side, of_an_image: u64| {
        Array::given(name, side, words(of_an_image) * BATCHES, Values::Any)
    };
    let made = |name, of_an_image: u64| Array::made(name, words(of_an_image) * BATCHES);
    let rows = |layer: &Layer| layer.shape(BATCH, scale_of).rows;
    let loading_ns = Some(LOADING_NS * BATCH * BATCHES);

    let mut arrays = vec![
        Array { loading_ns, ..given("images", Side::Host, LOADED) },
        given("choices", Side::Device, 1),
        labels(Side::Device, words(PLACES) * BATCHES),
    ];
    let weights = |it: &Layer| Array::given("weights", Side::Device, it.weights(), it.values());
    arrays.extend(ENCODER.iter().map(weights));
    arrays.extend(
        HEAD.arrays(scale_of).into_iter().map(|it| Array { wanted_from: it.elements, ..it }),
    );
    arrays.extend([
        made("windows", WINDOW),
        made("resized images", PIXELS),
        made("flipped images", PIXELS),
        made("blurred images", PIXELS),
        made("views", PIXELS * CHANNELS),
    ]);
    let activations =
        |layer: &Layer| Array::made("activations", rows(layer) * layer.inputs * BATCHES);
    arrays.extend(ENCODER[1..].iter().map(activations));
    arrays.push(Array::made("features", rows(&UP) * UP.inputs * BATCHES));

    // What the log has of each batch, and what is in each checkpoint. Weights are in memory as they
    // are on a GPU, so of these a part goes to the host, as of everything else.
    let losses = HEAD.losses();
    arrays[losses as usize].on_host = vec![(0, arrays[losses as usize].elements)];
    for (array, layer) in HEAD.weights().into_iter().zip(&HEAD.layers) {
        let after = |batch: u64| (batch * layer.weights(), layer.weights() / scale_of);
        arrays[array as usize].on_host = (1..=BATCHES / LAP).map(|lap| after(lap * LAP)).collect();
    }

    let mut launches = Vec::new();
    for batch in 0..BATCHES {
        let part = |array: u32| -> Span { part(array, &arrays[array as usize], batch, BATCHES) };
        let made = [0, 1, 2, 3, 4].map(|kernel| AUGMENTED + kernel).map(part);
        let given = [part(IMAGES), part(CHOICES)];
        launches.extend(gpu_augmentation::augment(scale_of, BATCH, given, made));
        let activations = [0, 1, 2, 3, 4, 5, 6].map(|layer| ACTIVATIONS + layer).map(part);
        launches.extend(frozen_encoder::encode(scale_of, BATCH, ENCODER_WEIGHTS, activations));
        let [.., features] = activations;
        launches.extend(HEAD.step(scale_of, batch, features, part(LABELS)));
    }
    let host_ns = BATCHES * LOG_NS + BATCHES / LAP * SAVE_NS;
    Recipe::new(NAME, scale, "batch", arrays, launches).with_host_work(host_ns)
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
        HEAD.assert_learns(&recipe(32));
    }

    #[test]
    fn what_goes_to_the_host_is_every_loss_and_the_weights_after_each_lap() {
        let recipe = recipe(32);
        let of = |array: u32| recipe.arrays()[array as usize].on_host.clone();
        assert_eq!(of(HEAD.losses()).len(), 1);
        let [first, second] = HEAD.weights().map(of);
        assert_eq!((first.len() as u64, second.len() as u64), (BATCHES / LAP, BATCHES / LAP));
        assert_eq!(first[0].0, LAP * UP.weights());
        let words: u64 = first.iter().chain(&second).map(|(_, words)| 32 * words).sum();
        assert_eq!(words, BATCHES / LAP * (UP.weights() + CLASSIFY.weights()));
    }
}
