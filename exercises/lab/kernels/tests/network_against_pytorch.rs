//! Holds the integer kernels' twins against PyTorch in double precision: `pytorch/network.py` says what it computes, and
//! `pytorch/network.json` what came of it. The kernels on a GPU give the twins' bits: `checker calibrate` looks at that.

use kernels::network::{
    CLASSES, GRADIENT_ONE, LOADED, LOSS_ONE, ONE, Operation, PIXELS as IMAGE, Shape, WEIGHT_ONE,
    WINDOW, slices,
};
use kernels::{Argument, Mode};

const PIXELS: u64 = 4 * 16 * 16;
const HIDDEN: u64 = 32;

/// A byte of a pixel: half of it is what rounding after the blur takes, and as much may come of a tie before it.
const OF_A_BYTE: f64 = 1.0;
/// What an activation may be off by: weights are rounded to 2^-12 and activations to 2^-8, in each of up to three layers.
const OF_AN_ACTIVATION: f64 = 3.0 / 256.0;
/// A loss: logits may be off by this much.
const OF_A_LOSS: f64 = 0.02;
/// A gradient of a weight of the last layer: the mean over the rows of a gradient and an activation.
const OF_A_GRADIENT: f64 = 1e-4;
/// The gradients of the layer before it, all together: root of the mean square, as a share. Where an activation is nearly
/// 0, it may be 0 here and not there, and then no gradient goes through it.
const OF_EARLIER_GRADIENTS: f64 = 0.05;

fn word(index: u64, salt: u64) -> u32 {
    let x = ((index + 1).wrapping_mul(2_654_435_761) + salt * 40503) as u32;
    let x = (x ^ x >> 15).wrapping_mul(2_246_822_519);
    x ^ x >> 13
}

fn weights(salt: u64, count: u64, bits: u32) -> Vec<i32> {
    (0..count).map(|index| word(index, salt) as i32 >> (31 - bits)).collect()
}

/// What the twin of a launch writes.
fn launch(operation: Operation, shape: Shape, inputs: &[&[i32]]) -> Vec<Vec<i32>> {
    let kernel = kernels::find(operation.name()).expect("it is listed");
    let arguments: Vec<Argument> = operation.arguments(&[0; 4], &shape);
    let accesses = kernel.accesses(&arguments, 1);
    let writes = accesses.iter().filter(|it| it.mode == Mode::Write);
    let mut outputs: Vec<Vec<u8>> = writes.map(|it| vec![0; it.bytes as usize]).collect();
    let bytes = |words: &&[i32]| words.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<u8>>();
    let inputs: Vec<Vec<u8>> = inputs.iter().map(bytes).collect();
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    kernel.twin().expect("it has one")(&arguments, &inputs, &mut outputs);
    let words = |bytes: &Vec<u8>| {
        bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word)).collect()
    };
    outputs.iter().map(words).collect()
}

fn the_one(mut outputs: Vec<Vec<i32>>) -> Vec<i32> {
    assert_eq!(outputs.len(), 1);
    outputs.remove(0)
}

/// A gradient of weights, its slices added up.
fn gradient(shape: Shape, x: &[i32], dy: &[i32]) -> Vec<i32> {
    let sliced = the_one(launch(Operation::WeightGradient, shape, &[x, dy]));
    let weights = (shape.inputs * shape.outputs) as usize;
    assert_eq!(sliced.len() as u64, weights as u64 * slices(shape.inputs, shape.outputs));
    let slice_of = |weight: usize| sliced.iter().skip(weight).step_by(weights).sum();
    (0..weights).map(slice_of).collect()
}

fn numbers(answers: &serde_json::Value, what: &str) -> Vec<f64> {
    let list = answers[what].as_array().expect("a list");
    list.iter().map(|it| it.as_f64().expect("a number")).collect()
}

/// Fails where numbers are further off, all together, than a share of what they are.
fn assert_alike(what: &str, found: &[i32], one: f64, answers: &serde_json::Value, share: f64) {
    let answers = numbers(answers, what);
    assert_eq!(found.len(), answers.len(), "{what}");
    let off = found.iter().zip(&answers).map(|(found, it)| (f64::from(*found) / one - it).powi(2));
    let all: f64 = answers.iter().map(|it| it.powi(2)).sum();
    let off = (off.sum::<f64>() / all).sqrt();
    assert!(off <= share, "{what}: {off}");
}

/// Fails where a number is further off than the bound, or where the numbers say nothing since all are smaller than it.
fn assert_near(what: &str, found: &[i32], one: f64, answers: &serde_json::Value, bound: f64) {
    let answers = numbers(answers, what);
    assert!(found.len() >= answers.len(), "{what}");
    let largest = answers.iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    assert!(largest > 10.0 * bound, "{what}: {largest}");
    for (index, (found, answer)) in found.iter().zip(&answers).enumerate() {
        let found = f64::from(*found) / one;
        assert!((found - answer).abs() <= bound, "{what} {index}: {found}, PyTorch has {answer}");
    }
}

#[test]
fn forward_loss_and_gradients_are_those_of_pytorch_within_what_fixed_point_rounds() {
    let answers: serde_json::Value =
        serde_json::from_str(include_str!("pytorch/network.json")).expect("JSON");
    let pixels: Vec<i32> = (0..PIXELS).map(|index| word(index, 1) as i32).collect();
    let labels: Vec<i32> = (0..PIXELS).map(|index| (word(index, 5) >> 27) as i32).collect();
    let down = weights(2, 16 * HIDDEN, 23);
    let up = weights(3, HIDDEN * 4 * HIDDEN, 22);
    let classify = weights(4, HIDDEN * u64::from(CLASSES), 22);

    let of_pixels = Shape { rows: PIXELS, inputs: 0, outputs: 0 };
    // A row for each patch of four pixels, and after the transposed convolution one for each pixel again.
    let of_down = Shape { rows: PIXELS / 4, inputs: 16, outputs: HIDDEN };
    let of_up = Shape { rows: PIXELS / 4, inputs: HIDDEN, outputs: 4 * HIDDEN };
    let of_classify = Shape { rows: PIXELS, inputs: HIDDEN, outputs: CLASSES.into() };

    let x = the_one(launch(Operation::Normalise, of_pixels, &[&pixels]));
    let features = the_one(launch(Operation::DenseRelu, of_down, &[&x, &down]));
    let hidden = the_one(launch(Operation::DenseRelu, of_up, &[&features, &up]));
    let logits = the_one(launch(Operation::Dense, of_classify, &[&hidden, &classify]));
    let results = launch(Operation::Loss, of_classify, &[&logits, &labels]);
    let [from_logits, losses] = results.as_slice() else { panic!("it writes two ranges") };
    let reads: [&[i32]; 3] = [from_logits, &classify, &hidden];
    let from_hidden = the_one(launch(Operation::InputGradient, of_classify, &reads));

    let (activation, weight) = (f64::from(ONE), f64::from(WEIGHT_ONE));
    assert_near("features", &features, activation, &answers, OF_AN_ACTIVATION);
    assert_near("losses", losses, f64::from(LOSS_ONE), &answers, OF_A_LOSS);
    let of_weights = gradient(of_classify, &hidden, from_logits);
    assert_near("classify_gradient", &of_weights, weight, &answers, OF_A_GRADIENT);
    // Of a transposed convolution: a weight has to do with one pixel of each patch, and PyTorch's mean is over pixels.
    let of_weights = gradient(of_up, &features, &from_hidden);
    assert_alike("up_gradient", &of_weights, 4.0 * weight, &answers, OF_EARLIER_GRADIENTS);
    assert_eq!(GRADIENT_ONE, 1 << 15);
}

#[test]
fn augmented_images_are_those_of_pytorch_within_a_step_of_a_byte() {
    let answers: serde_json::Value =
        serde_json::from_str(include_str!("pytorch/network.json")).expect("JSON");
    let loaded: Vec<i32> = (0..2 * LOADED).map(|index| word(index, 6) as i32).collect();
    let choices: Vec<i32> = (0..2).map(|index| word(index, 8) as i32).collect();
    let (of_windows, of_images) = (Shape::of_pixels(2 * WINDOW), Shape::of_pixels(2 * IMAGE));
    let windows = the_one(launch(Operation::Crop, of_windows, &[&loaded, &choices]));
    let resized = the_one(launch(Operation::Resize, of_images, &[&windows]));
    let flipped = the_one(launch(Operation::Flip, of_images, &[&resized, &choices]));
    let blurred = the_one(launch(Operation::Blur, of_images, &[&flipped]));
    let image = |image: &[i32]| image.iter().step_by(37).copied().collect::<Vec<_>>();
    let sampled = blurred.chunks(IMAGE as usize).flat_map(image);
    let bytes: Vec<i32> = sampled.flat_map(|pixel| pixel.to_le_bytes().map(i32::from)).collect();
    assert_eq!(bytes.len(), numbers(&answers, "augmented").len());
    assert_near("augmented", &bytes, 1.0, &answers, OF_A_BYTE);
    assert!(choices.iter().any(|choice| choice >> 16 & 1 == 1), "one of them is flipped");
}
