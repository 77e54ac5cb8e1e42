use super::twins::words;
use super::*;

/// Arbitrary values, the same in every run (Vigna's splitmix64).
struct Values(u64);

impl Values {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 32) as u32
    }

    /// So many words of so many bits and a sign; now and then the largest that there are.
    fn words(&mut self, count: u64, bits: u32) -> Vec<i32> {
        let mut word = || match self.next() % 97 {
            0 => i32::MIN >> (31 - bits),
            1 => i32::MAX >> (31 - bits),
            _ => self.next() as i32 >> (31 - bits),
        };
        (0..count).map(|_| word()).collect()
    }
}

fn bytes(words: &[i32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// What the twin of a launch over such a layer writes.
fn launch(operation: Operation, shape: &Shape, inputs: &[&[i32]]) -> Vec<Vec<i32>> {
    let kernel = crate::find(operation.name()).expect("it is listed");
    let arguments = operation.arguments(&[0; 4], shape);
    let accesses = kernel.accesses(&arguments, 1);
    let lengths = |mode| accesses.iter().filter(move |it| it.mode == mode).map(|it| it.bytes);
    let inputs: Vec<_> = inputs.iter().map(|words| bytes(words)).collect();
    assert!(inputs.iter().map(|it| it.len() as u64).eq(lengths(Mode::Read)), "{operation:?}");
    let inputs: Vec<&[u8]> = inputs.iter().map(Vec::as_slice).collect();
    let mut outputs: Vec<_> =
        lengths(Mode::Write).map(|bytes| vec![0xa5; bytes as usize]).collect();
    kernel.twin().expect("they all have one")(&arguments, &inputs, &mut outputs);
    outputs.iter().map(|bytes| words(bytes).collect()).collect()
}

/// Shapes that end in every stage of the loops.
const SHAPES: [Shape; 5] = [
    Shape { rows: 1, inputs: 32, outputs: 32 },
    Shape { rows: 3, inputs: 16, outputs: 32 },
    Shape { rows: 33, inputs: 48, outputs: 64 },
    Shape { rows: 100, inputs: 7, outputs: 5 },
    Shape { rows: 1030, inputs: 4, outputs: 3 },
];

/// Row `r` and column `c` of a matrix with so many columns.
fn at(matrix: &[i32], columns: u64, r: u64, c: u64) -> i32 {
    matrix[(r * columns + c) as usize]
}

fn narrow_weight(kept: i32) -> i32 {
    nearest(kept).clamp(-32768, 32767)
}

fn nearest(x: i32) -> i32 {
    (f64::from(x) / 4096.0 + 0.5).floor() as i32
}

fn sum(terms: impl Iterator<Item = (i32, i32)>) -> i32 {
    terms.fold(0, |sum: i32, (a, b)| sum.wrapping_add(a.wrapping_mul(b)))
}

#[test]
fn a_layer_is_a_product_of_matrices_number_by_number() {
    let mut values = Values(1);
    for shape in SHAPES {
        let Shape { rows, inputs, outputs } = shape;
        let x = values.words(rows * inputs, 15);
        let w = values.words(inputs * outputs, 27);
        for (operation, least) in [(Operation::Dense, i32::MIN), (Operation::DenseRelu, 0)] {
            let y = launch(operation, &shape, &[&x, &w]).remove(0);
            for (r, o) in (0..rows).flat_map(|r| (0..outputs).map(move |o| (r, o))) {
                let term = |i| (at(&x, inputs, r, i), narrow_weight(at(&w, outputs, i, o)));
                let expected = nearest(sum((0..inputs).map(term))).clamp(-32768, 32767);
                assert_eq!(at(&y, outputs, r, o), expected.max(least), "{shape:?} {r} {o}");
            }
        }
    }
}

#[test]
fn the_gradient_of_an_input_is_the_product_with_the_transposed_weights_where_the_input_is_positive()
{
    let mut values = Values(2);
    for shape in SHAPES {
        let Shape { rows, inputs, outputs } = shape;
        let dy = values.words(rows * outputs, 15);
        let w = values.words(inputs * outputs, 24);
        let x = values.words(rows * inputs, 15);
        let dx = launch(Operation::InputGradient, &shape, &[&dy, &w, &x]).remove(0);
        for (r, i) in (0..rows).flat_map(|r| (0..inputs).map(move |i| (r, i))) {
            let term = |o| (at(&dy, outputs, r, o), narrow_weight(at(&w, outputs, i, o)));
            let all = nearest(sum((0..outputs).map(term))).clamp(-32768, 32767);
            let expected = if at(&x, inputs, r, i) > 0 { all } else { 0 };
            assert_eq!(at(&dx, inputs, r, i), expected, "{shape:?} {r} {i}");
        }
    }
}

#[test]
fn the_slices_of_a_gradient_of_weights_add_up_to_the_mean_over_the_rows() {
    let mut values = Values(3);
    for shape in SHAPES {
        let Shape { rows, inputs, outputs } = shape;
        let (x, dy) = (values.words(rows * inputs, 11), values.words(rows * outputs, 12));
        let slices = launch(Operation::WeightGradient, &shape, &[&x, &dy]).remove(0);
        for (i, o) in (0..inputs).flat_map(|i| (0..outputs).map(move |o| (i, o))) {
            let found: i64 = (0..super::slices(inputs, outputs))
                .map(|slice| i64::from(at(&slices, outputs, slice * inputs + i, o)))
                .sum();
            let products = (0..rows)
                .map(|r| i64::from(at(&x, inputs, r, i)) * i64::from(at(&dy, outputs, r, o)));
            let mean = (products.sum::<i64>() * 2) >> rows.ilog2();
            // Each slice is rounded down.
            assert!((0..MOST_SLICES as i64).contains(&(mean - found)), "{shape:?} {mean} {found}");
        }
    }
}

#[test]
fn losses_and_their_gradients_are_those_of_a_softmax() {
    let mut values = Values(4);
    let shape = Shape { rows: 500, inputs: 0, outputs: CLASSES.into() };
    let logits = values.words(shape.rows * shape.outputs, 11);
    let labels: Vec<i32> = (0..500).map(|_| (values.next() % CLASSES) as i32).collect();
    let results = launch(Operation::Loss, &shape, &[&logits, &labels]);
    let [gradients, losses] = results.as_slice() else { panic!("it writes two ranges") };
    let classes = CLASSES as usize;
    for (row, logits) in logits.chunks(classes).enumerate() {
        let logits: Vec<f64> = logits.iter().map(|&it| f64::from(it) / f64::from(ONE)).collect();
        let sum: f64 = logits.iter().map(|it| it.exp()).sum();
        let label = labels[row] as usize;
        let loss = f64::from(losses[row]) / f64::from(LOSS_ONE);
        assert!((loss - (sum.ln() - logits[label])).abs() < 2e-4, "row {row}: {loss}");
        for (class, logit) in logits.iter().enumerate() {
            let found = f64::from(gradients[row * classes + class]) / f64::from(GRADIENT_ONE);
            let expected = logit.exp() / sum - f64::from(u8::from(class == label));
            assert!((found - expected).abs() < 2e-4, "row {row}: {found} {expected}");
        }
    }
}

#[test]
fn a_step_takes_an_eighth_of_the_gradient_off() {
    let shape = Shape { rows: 32, inputs: 1, outputs: 2 };
    let gradients: Vec<i32> = (0..32).flat_map(|slice| [slice, -1000]).collect();
    let stepped = launch(Operation::Step, &shape, &[&[100, -5], &gradients]);
    assert_eq!(stepped, [[100 - 496 / 8, -5 + 32_000 / 8]]);
}

#[test]
fn a_pixel_is_normalised_by_the_means_and_deviations_of_imagenet() {
    let shape = Shape { rows: 256, inputs: 0, outputs: 0 };
    let pixels: Vec<i32> = (0..256_u32).map(|byte| (byte * 0x0101_0101) as i32).collect();
    let x = launch(Operation::Normalise, &shape, &[&pixels]).remove(0);
    let statistics = [(0.485, 0.229), (0.456, 0.224), (0.406, 0.225)];
    for (byte, x) in x.chunks(4).enumerate() {
        for (found, (mean, deviation)) in x.iter().zip(statistics) {
            let expected = (byte as f64 / 255.0 - mean) / deviation;
            let found = f64::from(*found) / f64::from(ONE);
            assert!((0.0..1.0 / 256.0 + 1e-4).contains(&(expected - found)), "{byte}: {found}");
        }
        assert_eq!(x[3], 0);
    }
}

/// Three images of this many pixels, and a word of choices for each.
fn images(values: &mut Values, of_an_image: u64) -> [Vec<i32>; 2] {
    [values.words(3 * of_an_image, 31), vec![0, 0x0001_0f03, values.next() as i32]]
}

#[test]
fn a_window_is_where_the_choice_says() {
    let [images, choices] = images(&mut Values(6), LOADED);
    let shape = Shape::of_pixels(2 * WINDOW + 1);
    let windows = launch(Operation::Crop, &shape, &[&images, &choices]).remove(0);
    let window =
        |image: u64, row, column| at(&windows, WINDOW_SIDE, image * WINDOW_SIDE + row, column);
    let loaded = |image: u64, row, column| at(&images, LOADED_SIDE, image * 64 + row, column);
    assert_eq!(window(0, 47, 46), loaded(0, 47, 46));
    assert_eq!(window(1, 0, 0), loaded(1, 15, 3));
    assert_eq!(window(1, 10, 20), loaded(1, 25, 23));
}

#[test]
fn an_image_is_flipped_where_the_choice_says() {
    let [images, choices] = images(&mut Values(7), PIXELS);
    let shape = Shape::of_pixels(3 * PIXELS);
    let flipped = launch(Operation::Flip, &shape, &[&images, &choices]).remove(0);
    let pixels = PIXELS as usize;
    assert_eq!(flipped[..pixels], images[..pixels]);
    let rows = images[pixels..2 * pixels].chunks(SIDE as usize);
    let mirrored: Vec<i32> = rows.flat_map(|row| row.iter().rev().copied()).collect();
    assert_eq!(flipped[pixels..2 * pixels], mirrored);
}

#[test]
fn a_blurred_edge_counts_twice_and_pixels_come_in_z_order() {
    // A step from 0 to 160 between columns 63 and 64, the same in each row and channel.
    let step: Vec<i32> =
        (0..PIXELS).map(|at| if at % SIDE < 64 { 0 } else { 0xa0a0_a0a0_u32 as i32 }).collect();
    let blurred = launch(Operation::Blur, &Shape::of_pixels(PIXELS), &[&step]).remove(0);
    for (place, pixel) in blurred.iter().enumerate() {
        let expected = match images::in_z_order(place).1 {
            ..62 => 0,
            62 => 10,
            63 => 50,
            64 => 110,
            65 => 150,
            66.. => 160,
        };
        assert_eq!(*pixel as u32, expected * 0x0101_0101, "{place}");
    }
    assert_eq!([1, 2, 4, 3].map(images::in_z_order), [(0, 1), (1, 0), (0, 2), (1, 1)]);
}

#[test]
fn a_launch_of_a_recorded_program_is_known_though_its_weights_count_several_times() {
    let up = Shape { rows: 8192, inputs: 128, outputs: 512 };
    // Of this one the sizes are also those of twice the rows, with half the columns and twice the slices.
    let embed = Shape { rows: 65_536, inputs: 64, outputs: 128 };
    for (operation, layer) in Operation::ALL.into_iter().flat_map(|it| [(it, up), (it, embed)]) {
        let shape = if operation == Operation::Step { layer.of_step() } else { layer };
        let kernel = crate::find(operation.name()).expect("it is listed");
        let arguments = operation.arguments(&[4096, 8192, 12_288, 16_384], &shape);
        let mut accesses = kernel.accesses(&arguments, 1);
        for (access, operand) in accesses.iter_mut().zip(operation.operands(&shape)) {
            access.bytes *= if operand.of == Of::Weights { 32 } else { 1 };
        }
        let known = kernel.arguments(&accesses, kernel.work(&arguments, 1).units, 32);
        let sizes = |arguments: Option<Vec<Argument>>| {
            let sizes = arguments.into_iter().flatten();
            sizes.filter(|it| matches!(it, Argument::U32(_))).collect::<Vec<_>>()
        };
        let (known, meant) = (sizes(known), sizes(Some(arguments)));
        // A step has its weights as one row.
        assert_eq!(known, meant, "{operation:?}");
    }
}

#[test]
fn shapes_of_nothing_and_of_everything_are_no_trouble() {
    for operation in Operation::ALL {
        let kernel = crate::find(operation.name()).expect("it is listed");
        for size in [0, 1, u64::from(u32::MAX)] {
            let shape = Shape { rows: size, inputs: size, outputs: size };
            let arguments = operation.arguments(&[0; 4], &shape);
            let accesses = kernel.accesses(&arguments, 1);
            let _ = kernel.work(&arguments, 32);
            if size == 0 {
                let written = accesses.iter().filter(|it| it.mode == Mode::Write).count();
                let read = accesses.len() - written;
                let inputs: Vec<&[u8]> = vec![&[]; read];
                kernel.twin().expect("it has one")(&arguments, &inputs, &mut vec![vec![]; written]);
            }
        }
    }
}

#[test]
fn the_sources_say_the_same_about_tiles_slices_and_the_rate_of_learning() {
    let source = include_str!("../../cuda/network.cu");
    for (name, number) in [
        ("TILE_ROWS", TILE[0]),
        ("TILE_COLUMNS", TILE[1]),
        ("TILE_DEPTH", DEPTH),
        ("THREADS", THREADS.into()),
        ("GRADIENT_BLOCKS", GRADIENT_BLOCKS),
        ("LEAST_SLICES", LEAST_SLICES),
        ("MOST_SLICES", MOST_SLICES),
        ("CLASSES", CLASSES.into()),
        ("LOADED", LOADED_SIDE),
        ("WINDOW", WINDOW_SIDE),
        ("SIDE", SIDE),
        ("LEARNING_SHIFT", LEARNING_SHIFT.into()),
    ] {
        assert!(source.contains(&format!("\n#define {name} {number}\n")), "{name}");
    }
}

#[test]
fn a_grid_has_a_block_for_each_tile() {
    let shape = Shape { rows: 129, inputs: 64, outputs: 96 };
    let blocks = |operation: Operation| operation.blocks(&shape);
    assert_eq!(blocks(Operation::Dense), 3 * 3);
    assert_eq!(blocks(Operation::InputGradient), 3 * 2);
    assert_eq!(blocks(Operation::WeightGradient), 3 * 128);
    assert_eq!(blocks(Operation::Loss), 33);
    assert_eq!(blocks(Operation::Step), 48);
}
