//! Images are loaded, uploaded and augmented, and a small network is trained on them. It is after
//! Chaim Rand, "Pipelining AI/ML training workloads with CUDA streams", whose augmentation moves
//! from the host to the GPU, and then into a stream of its own.

use super::training::{Layer, Training, labels};
use crate::network::{CHANNELS, CLASSES, LOADED, Operation, PIXELS, Shape, WINDOW};
use crate::recipe::Side;
use crate::recipe::{Array, Launch, Recipe, Span, Values, part};

/// The name of the exercise.
pub const NAME: &str = "gpu_augmentation";

/// Images of a batch: with fewer the calls would count for more than the kernels.
pub const BATCH: u64 = 64;
/// Batches: enough for the first, beside which nothing can run, hardly to show.
pub const BATCHES: u64 = 20;

/// The time in which the host loads an image, in ns: it is decoded, and copied into the middle
/// of a pinned block.
///
/// On the host of an H200 one thread of PyTorch copies an image of this size in 2400 ns, and
/// sixteen do it in 460 (2026-11-26). It is so short that the device is what a good program waits
/// for.
pub const LOADING_NS: u64 = 1500;

/// Patches of an image: of 4 x 4 pixels.
pub const PATCHES: u64 = PIXELS / 16;

/// The network: a convolution of 4 x 4 with stride 4 and a ReLU, and one of 1 x 1 to the classes.
pub const NETWORK: [Layer; 2] = [
    Layer { rows: PATCHES, inputs: 16 * CHANNELS, outputs: 128 },
    Layer { rows: PATCHES, inputs: 128, outputs: CLASSES as u64 },
];

/// Bytes of pixels, four in a word.
pub const IMAGES: u32 = 0;
/// For each image where its window is, and whether it is flipped.
pub const CHOICES: u32 = 1;
/// The class of each patch.
pub const LABELS: u32 = 2;
/// The training of the network, whose arrays come next.
pub const TRAINING: Training =
    Training { layers: NETWORK, array: LABELS + 1, batch: BATCH, batches: BATCHES };
/// The arrays of the augmentation's kernels: windows, resized, flipped and blurred images, and
/// views.
const WINDOWS: u32 = TRAINING.array + Training::ARRAYS;
const RESIZED: u32 = WINDOWS + 1;
const FLIPPED: u32 = WINDOWS + 2;
const BLURRED: u32 = WINDOWS + 3;
const VIEWS: u32 = WINDOWS + 4;

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let scale_of = u64::from(scale);
    let words = |of_an_image: u64| of_an_image * BATCH / scale_of;
    let given = |name, side, of_an_image: u64| {
        Array::given(name, side, words(of_an_image) * BATCHES, Values::Any)
    };
    let made = |name, of_an_image: u64| Array::made(name, words(of_an_image) * BATCHES);
    let loading_ns = Some(LOADING_NS * BATCH * BATCHES);
    let mut arrays = vec![
        Array { loading_ns, ..given("images", Side::Host, LOADED) },
        given("choices", Side::Device, 1),
        labels(Side::Device, words(PATCHES) * BATCHES),
    ];
    arrays.extend(TRAINING.arrays(scale_of));
    arrays.extend([
        made("windows", WINDOW),
        made("resized images", PIXELS),
        made("flipped images", PIXELS),
        made("blurred images", PIXELS),
        made("views", PIXELS * CHANNELS),
    ]);

    let mut launches = Vec::new();
    for batch in 0..BATCHES {
        let part = |array: u32| part(array, &arrays[array as usize], batch, BATCHES);
        let made = [WINDOWS, RESIZED, FLIPPED, BLURRED, VIEWS].map(part);
        launches.extend(augment(scale_of, BATCH, [part(IMAGES), part(CHOICES)], made));
        launches.extend(TRAINING.step(scale_of, batch, part(VIEWS), part(LABELS)));
    }
    Recipe::new(NAME, scale, "batch", arrays, launches)
}

/// The launches that make views of so many images, with the windows, the resized, flipped and
/// blurred images in between.
pub(super) fn augment(
    scale: u64,
    images: u64,
    [loaded, choices]: [Span; 2],
    [windows, resized, flipped, blurred, views]: [Span; 5],
) -> [Launch; 5] {
    let launch = |operation, of_an_image: u64, reads: &[Span], writes: Span| {
        let shape = Shape::of_pixels(of_an_image * images / scale);
        Launch::of_layer(operation, shape, scale, reads.to_vec(), vec![writes])
    };
    [
        launch(Operation::Crop, WINDOW, &[loaded, choices], windows),
        launch(Operation::Resize, PIXELS, &[windows], resized),
        launch(Operation::Flip, PIXELS, &[resized, choices], flipped),
        launch(Operation::Blur, PIXELS, &[flipped], blurred),
        launch(Operation::Normalise, PIXELS, &[blurred], views),
    ]
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
        TRAINING.assert_learns(&recipe(32));
    }

    #[test]
    fn loading_all_images_takes_all_of_the_hosts_work() {
        let recipe = recipe(32);
        let all = recipe.arrays()[IMAGES as usize].elements;
        assert_eq!(recipe.loading_ns(IMAGES, all), Some(LOADING_NS * BATCH * BATCHES));
        assert_eq!(recipe.loading_ns(IMAGES, all / BATCHES), Some(LOADING_NS * BATCH));
        assert_eq!(recipe.loading_ns(LABELS, 1), None);
    }
}
