//! The kernels of a network in Rust, bit for bit.

use super::parts::shared;
use super::{
    CHANNELS, GRADIENT_ONE, LEARNING_SHIFT, LOSS_ONE, Operation, Shape, images, read, slices,
};

use crate::Twin;

/// As `CHANNEL_SCALE` of the sources: 2^24 / (255 * deviation).
const CHANNEL_SCALE: [i32; CHANNELS as usize] = [287_306, 293_719, 292_413, 0];
/// As `CHANNEL_SHIFT` of the sources: 2^24 * mean / deviation.
const CHANNEL_SHIFT: [i32; CHANNELS as usize] = [35_532_532, 34_153_618, 30_273_554, 0];
/// From weights as they are kept to weights as they are multiplied.
const WEIGHT_SHIFT: u32 = 12;
/// From activation times weight to activation, and from gradient times weight to gradient.
const ACTIVATION_SHIFT: u32 = 12;

pub(super) fn of(operation: Operation) -> Twin {
    match operation {
        Operation::Crop => |_, inputs, outputs| images::crop(inputs, outputs),
        Operation::Resize => |_, inputs, outputs| images::resize(inputs, outputs),
        Operation::Flip => |_, inputs, outputs| images::flip(inputs, outputs),
        Operation::Blur => |_, inputs, outputs| images::blur(inputs, outputs),
        Operation::Normalise => |_, inputs, outputs| normalise(inputs, outputs),
        Operation::Dense => |arguments, inputs, outputs| {
            forward(&read(Operation::Dense, arguments).1, inputs, outputs, i32::MIN);
        },
        Operation::DenseRelu => |arguments, inputs, outputs| {
            forward(&read(Operation::DenseRelu, arguments).1, inputs, outputs, 0);
        },
        Operation::InputGradient => |arguments, inputs, outputs| {
            input_gradient(&read(Operation::InputGradient, arguments).1, inputs, outputs);
        },
        Operation::WeightGradient => |arguments, inputs, outputs| {
            weight_gradient(&read(Operation::WeightGradient, arguments).1, inputs, outputs);
        },
        Operation::Loss => |_, inputs, outputs| loss(inputs, outputs),
        Operation::Step => |_, inputs, outputs| step(inputs, outputs),
    }
}

pub(super) fn words(bytes: &[u8]) -> impl Iterator<Item = i32> {
    bytes.as_chunks().0.iter().map(|word| i32::from_le_bytes(*word))
}

/// Reads the elements of a matrix by row and column, as the 16 bits that activations, gradients of
/// them and weights are within when they are multiplied.
fn elements(matrix: &[u8], columns: usize) -> impl Fn(usize, usize) -> i16 {
    let words: &[[u8; 4]] = matrix.as_chunks().0;
    move |row, column| {
        words.get(row * columns + column).map_or(0, |word| i32::from_le_bytes(*word) as i16)
    }
}

/// Weights, as they are multiplied.
fn weights(bytes: &[u8]) -> Vec<i16> {
    words(bytes).map(|word| within_16_bits(shifted(word, WEIGHT_SHIFT)) as i16).collect()
}

/// Inputs and outputs of a layer; none where there is nothing to multiply.
fn columns(shape: &Shape) -> Option<(usize, usize)> {
    let columns = (shape.inputs as usize, shape.outputs as usize);
    (columns.0 > 0 && columns.1 > 0).then_some(columns)
}

/// `x / 2^shift`, rounded to the nearest.
fn shifted(x: i32, shift: u32) -> i32 {
    x.wrapping_add(1 << (shift - 1)) >> shift
}

fn within_16_bits(x: i32) -> i32 {
    x.clamp(i16::MIN.into(), i16::MAX.into())
}

fn write(bytes: &mut [u8], words: impl Iterator<Item = i32>) {
    for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
}

/// Pairs of products in a sum of 32 bits: all that there are.
const ALL: usize = usize::MAX;

/// Rows and columns of a product that are worked on together.
const TALL: usize = 4;
const WIDE: usize = 16;

/// So many elements of two rows or columns, two by two.
type Pairs<const COUNT: usize> = [[i16; 2]; COUNT];

/// Sums of a product, row by row.
type Tile<Sum> = [[Sum; WIDE]; TALL];

/// The right matrix of a product as it is multiplied: in panels of [`WIDE`] columns, and two rows
/// of a panel in one. Of [a b c] and [d e f], element by element, comes [a d b e c f]. A processor
/// multiplies two pairs of 16 bits and adds the products in one go. A missing element is zero.
struct Panels {
    pairs: Vec<Pairs<WIDE>>,
    /// Pairs of rows; each panel has one element of `pairs` for each.
    depth: usize,
    columns: usize,
}

impl Panels {
    /// A matrix of so many rows and columns.
    fn of(rows: usize, columns: usize, element: impl Fn(usize, usize) -> i16) -> Self {
        let depth = rows.div_ceil(2);
        let mut pairs = vec![[[0; 2]; WIDE]; depth * columns.div_ceil(WIDE)];
        for (number, panel) in pairs.chunks_exact_mut(depth.max(1)).enumerate() {
            for (row, places) in (0..rows).step_by(2).zip(panel) {
                for (column, place) in (number * WIDE..columns).zip(places) {
                    let second = if row + 1 < rows { element(row + 1, column) } else { 0 };
                    *place = [element(row, column), second];
                }
            }
        }
        Self { pairs, depth, columns }
    }
}

/// Multiplies a matrix of so many rows, whose element in a row and column is `factor`, by `matrix`.
/// `take` is given sums of a row: its number, the column of the first, and them. Sums of 32 bits,
/// which wrap, are added to those of 64 after so many pairs of products.
fn multiply(
    rows: usize,
    factor: impl Fn(usize, usize) -> i16,
    matrix: &Panels,
    pairs: usize,
    mut take: impl FnMut(usize, usize, &[i64]),
) {
    let mut factors = vec![[[0; 2]; TALL]; matrix.depth];
    for first in (0..rows).step_by(TALL) {
        for (number, factors) in factors.iter_mut().enumerate() {
            for (row, pair) in (first..rows).zip(factors) {
                // Where there is no second one, it is multiplied by 0.
                *pair = [factor(row, 2 * number), factor(row, 2 * number + 1)];
            }
        }
        for (number, column) in (0..matrix.columns).step_by(WIDE).enumerate() {
            let panel = &matrix.pairs[number * matrix.depth..][..matrix.depth];
            let sums = tile(&factors, panel, pairs);
            let wide = WIDE.min(matrix.columns - column);
            (first..rows).zip(&sums).for_each(|(row, sums)| take(row, column, &sums[..wide]));
        }
    }
}

/// A tile of a product, summed up as by [`multiply`].
fn tile(factors: &[Pairs<TALL>], panel: &[Pairs<WIDE>], pairs: usize) -> Tile<i64> {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: this processor has it.
        return unsafe { tile_of_vectors(factors, panel, pairs) };
    }
    tile_of_parts(factors, panel, pairs, part)
}

#[inline(always)]
fn tile_of_parts(
    factors: &[Pairs<TALL>],
    panel: &[Pairs<WIDE>],
    pairs: usize,
    part: impl Fn(&[Pairs<TALL>], &[Pairs<WIDE>]) -> Tile<i32>,
) -> Tile<i64> {
    let mut tile: Tile<i64> = Tile::default();
    for (factors, panel) in factors.chunks(pairs).zip(panel.chunks(pairs)) {
        for (sums, part) in tile.iter_mut().zip(&part(factors, panel)) {
            // Not `+=`: a build with checks would look at each.
            let sums = sums.iter_mut().zip(part);
            sums.for_each(|(sum, &part)| *sum = sum.wrapping_add(part.into()));
        }
    }
    tile
}

fn part(factors: &[Pairs<TALL>], panel: &[Pairs<WIDE>]) -> Tile<i32> {
    let mut part: Tile<i32> = Tile::default();
    for (factors, row) in factors.iter().zip(panel) {
        for (sums, [first, second]) in part.iter_mut().zip(factors) {
            let (first, second) = (i32::from(*first), i32::from(*second));
            for (sum, [one, two]) in sums.iter_mut().zip(row) {
                let both = (first * i32::from(*one)).wrapping_add(second * i32::from(*two));
                *sum = sum.wrapping_add(both);
            }
        }
    }
    part
}

/// A tile with an instruction that multiplies eight pairs and adds them up, two by two; compilers
/// do not find it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn tile_of_vectors(factors: &[Pairs<TALL>], panel: &[Pairs<WIDE>], pairs: usize) -> Tile<i64> {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32,
        _mm256_setzero_si256, _mm256_storeu_si256,
    };
    tile_of_parts(factors, panel, pairs, |factors, panel| {
        let mut sums = [[_mm256_setzero_si256(); 2]; TALL];
        for (factors, row) in factors.iter().zip(panel) {
            let row = row.as_ptr().cast::<__m256i>();
            // SAFETY: sixteen pairs are two of these, which need not be aligned.
            let row = unsafe { [_mm256_loadu_si256(row), _mm256_loadu_si256(row.add(1))] };
            for (sums, [first, second]) in sums.iter_mut().zip(factors) {
                let pair = i32::from(*first) & 0xffff | i32::from(*second) << 16;
                let pair = _mm256_set1_epi32(pair);
                for (sums, row) in sums.iter_mut().zip(row) {
                    *sums = _mm256_add_epi32(*sums, _mm256_madd_epi16(pair, row));
                }
            }
        }
        let mut part: Tile<i32> = Tile::default();
        for (part, [left, right]) in part.iter_mut().zip(sums) {
            let place = part.as_mut_ptr().cast::<__m256i>();
            // SAFETY: sixteen sums are two of these, which need not be aligned.
            unsafe {
                _mm256_storeu_si256(place, left);
                _mm256_storeu_si256(place.add(1), right);
            }
        }
        part
    })
}

fn normalise(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([pixels], [x]) = (inputs, outputs) else { return };
    for (pixel, x) in pixels.as_chunks::<4>().0.iter().zip(x.chunks_mut(4 * CHANNELS as usize)) {
        let channels = pixel.iter().zip(CHANNEL_SCALE).zip(CHANNEL_SHIFT);
        write(x, channels.map(|((&byte, scale), shift)| (i32::from(byte) * scale - shift) >> 16));
    }
}

fn forward(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>], least: i32) {
    let ([x, w], [y]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let w = weights(w);
    let matrix = Panels::of(w.len() / outputs, outputs, |row, column| w[row * outputs + column]);
    let bytes = y.len();
    shared(y, 4 * outputs, bytes, |first, y| {
        let x = x.get(4 * first * inputs..).unwrap_or_default();
        let rows = (x.len() / (4 * inputs)).min(y.len() / (4 * outputs));
        multiply(rows, elements(x, inputs), &matrix, ALL, |row, column, sums| {
            let value =
                |sum: &i64| within_16_bits(shifted(*sum as i32, ACTIVATION_SHIFT)).max(least);
            write(&mut y[4 * (row * outputs + column)..], sums.iter().map(value));
        });
    });
}

fn input_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([dy, w, x], [dx]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let w = weights(w);
    let matrix = Panels::of(outputs, w.len() / outputs, |row, column| w[column * outputs + row]);
    let bytes = dx.len();
    shared(dx, 4 * inputs, bytes, |first, dx| {
        let dy = dy.get(4 * first * outputs..).unwrap_or_default();
        let x = x.get(4 * first * inputs..).unwrap_or_default();
        let rows = (dy.len() / (4 * outputs)).min(x.len().min(dx.len()) / (4 * inputs));
        multiply(rows, elements(dy, outputs), &matrix, ALL, |row, column, sums| {
            let place = 4 * (row * inputs + column);
            let masked = words(&x[place..]).zip(sums).map(|(x, sum)| match x > 0 {
                true => within_16_bits(shifted(*sum as i32, ACTIVATION_SHIFT)),
                false => 0,
            });
            write(&mut dx[place..], masked);
        });
    });
}

fn weight_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([x, dy], [dw]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let all = shape.rows as usize;
    let per_slice = shape.rows.div_ceil(slices(shape.inputs, shape.outputs)) as usize;
    let shift = shape.rows.checked_ilog2().unwrap_or(0);
    let (x, dy) = (elements(x, inputs), elements(dy, outputs));
    let slice = |number: usize, slice: &mut [u8]| {
        let from = (number * per_slice).min(all);
        let rows = per_slice.min(all - from);
        let matrix = Panels::of(rows, outputs, |row, column| dy(from + row, column));
        let factor = |input, row| x(from + row, input);
        multiply(inputs, factor, &matrix, super::DEPTH as usize / 2, |input, column, sums| {
            // From value * 2^23 to value * 2^24.
            let values = sums.iter().map(|sum| ((sum * 2) >> shift) as i32);
            write(&mut slice[4 * (input * outputs + column)..], values);
        });
    };
    let (bytes, over) = (4 * inputs * outputs, 4 * inputs * all);
    shared(dw, bytes, over, |first, slices| {
        slices.chunks_mut(bytes).zip(first..).for_each(|(it, number)| slice(number, it));
    });
}

/// 2^(-x / 2^16) * 2^16.
fn half_lives(x: u32) -> u32 {
    if x >> 16 >= 31 {
        return 0;
    }
    let f = x & 0xffff;
    // The coefficients are those of the kernel.
    let polynomial = [3609, 15753, 45427].into_iter().fold(516, |y, next| next - ((f * y) >> 16));
    (65536 - ((f * polynomial) >> 16)) >> (x >> 16)
}

/// log2(x / 2^16) * 2^16, for x from 2^16 on.
fn log2_of(x: u32) -> u32 {
    let whole = x.ilog2() - 16;
    let mut y = u64::from(x) << (15 - whole);
    let part = (0..16).fold(0, |part, _| {
        y = (y * y) >> 31;
        let bit = (y >> 32) as u32;
        y >>= bit;
        (part << 1) | bit
    });
    (whole << 16) | part
}

fn loss(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    /// log2(e) * 2^16
    const LOG2_E: u32 = 94_548;
    /// ln(2) * 2^16
    const LN_2: u64 = 45_426;
    const CLASSES: usize = super::CLASSES as usize;
    let ([logits, labels], [gradients, losses]) = (inputs, outputs) else { return };
    let rows = logits.chunks(4 * CLASSES).zip(words(labels));
    let results = gradients.chunks_mut(4 * CLASSES).zip(losses.as_chunks_mut().0);
    for ((logits, label), (gradients, loss)) in rows.zip(results) {
        let label = label as u32 as usize % CLASSES;
        let most = words(logits).max().unwrap_or(0);
        let below: Vec<u32> = words(logits)
            .map(|logit| most.wrapping_sub(logit).min(i32::from(i16::MAX)) as u32)
            .collect();
        let power = |below: u32| half_lives(below.wrapping_mul(LOG2_E) >> 8);
        let sum: u32 = below.iter().map(|&below| power(below)).sum();
        let gradient = |(class, &below): (usize, &u32)| {
            let share = ((power(below) << 15) / sum.max(1)) as i32;
            within_16_bits(if class == label { share - GRADIENT_ONE } else { share })
        };
        write(gradients, below.iter().enumerate().map(gradient));
        let log = ((u64::from(log2_of(sum.max(LOSS_ONE))) * LN_2) >> 16) as u32;
        *loss = log.wrapping_add(below[label] << 8).to_le_bytes();
    }
}

fn step(inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([was, gradients], [is]) = (inputs, outputs) else { return };
    let mut sums = vec![0_i32; was.len() / 4];
    for slice in gradients.chunks(was.len().max(1)) {
        sums.iter_mut().zip(words(slice)).for_each(|(sum, word)| *sum = sum.wrapping_add(word));
    }
    let stepped = words(was).zip(&sums).map(|(was, sum)| was.wrapping_sub(sum >> LEARNING_SHIFT));
    write(is, stepped);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_of_vectors_are_those_that_are_worked_on_one_by_one() {
        // The least number among them: twice its square is more than 32 bits hold.
        let mut state = 1_u32;
        let mut number = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 29 == 0 { i16::MIN } else { (state >> 16) as i16 }
        };
        for (depth, pairs) in [(0, 1), (1, 1), (2, 4), (7, 3), (64, 16), (64, ALL)] {
            let mut pair = || [number(), number()];
            let factors: Vec<_> = (0..depth).map(|_| [(); TALL].map(|()| pair())).collect();
            let panel: Vec<_> = (0..depth).map(|_| [(); WIDE].map(|()| pair())).collect();
            let one_by_one = tile_of_parts(&factors, &panel, pairs, part);
            assert_eq!(tile(&factors, &panel, pairs), one_by_one, "{depth} pairs by {pairs}");
        }
    }

    #[test]
    fn products_of_any_shape_are_sums_of_products_that_wrap_part_by_part() {
        fn elements(matrix: &[i16], columns: usize) -> impl Fn(usize, usize) -> i16 {
            move |row, column| matrix.get(row * columns + column).copied().unwrap_or(0)
        }
        const PAIRS: usize = 4;
        let number = |index: usize| ((index * 7919) % 65_536) as u16 as i16;
        for (rows, depth, columns) in [(1, 1, 1), (4, 2, 16), (5, 3, 17), (7, 32, 40), (3, 0, 5)] {
            let a: Vec<i16> = (0..rows * depth).map(number).collect();
            let b: Vec<i16> = (0..depth * columns).map(|index| number(index + 41)).collect();
            let mut product = vec![0; rows * columns];
            let matrix = Panels::of(depth, columns, elements(&b, columns));
            multiply(rows, elements(&a, depth), &matrix, PAIRS, |row, column, sums| {
                product[row * columns + column..][..sums.len()].copy_from_slice(sums);
            });
            for (index, sum) in product.iter().enumerate() {
                let (row, column) = (index / columns, index % columns);
                let product =
                    |k: usize| i32::from(a[row * depth + k]) * i32::from(b[k * columns + column]);
                let all: Vec<i32> = (0..depth).map(product).collect();
                let parts = all.chunks(2 * PAIRS);
                let parts = parts
                    .map(|part| i64::from(part.iter().fold(0, |a, b| i32::wrapping_add(a, *b))));
                assert_eq!(
                    *sum,
                    parts.sum::<i64>(),
                    "{rows} by {depth} by {columns}, {row}, {column}"
                );
            }
        }
    }
}
