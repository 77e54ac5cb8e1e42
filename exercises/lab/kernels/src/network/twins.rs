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

/// As 16 bits: what activations, gradients of them and weights are within when they are multiplied.
fn narrow(bytes: &[u8]) -> Vec<i16> {
    words(bytes).map(|word| word as i16).collect()
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

/// Two rows of a matrix in one, element by element: [a b c] and [d e f] become [a d b e c f]. A
/// processor multiplies two pairs of 16 bits and adds the products in one go.
fn paired(rows: &[i16], columns: usize) -> Vec<[i16; 2]> {
    let pair = |pair: &[i16]| {
        let (first, second) = pair.split_at(columns.min(pair.len()));
        let second = second.iter().copied().chain(std::iter::repeat(0));
        first.iter().copied().zip(second).map(|(a, b)| [a, b]).collect::<Vec<_>>()
    };
    rows.chunks(2 * columns.max(1)).flat_map(pair).collect()
}

/// Adds `a` times the matrix of paired rows to `sums`.
fn multiply(a: &[i16], rows: &[[i16; 2]], sums: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if sums.len().is_multiple_of(WIDE)
        && a.len().is_multiple_of(2)
        && is_x86_feature_detected!("avx2")
    {
        // SAFETY: this processor has it.
        return unsafe { multiply_wide(a, rows, sums) };
    }
    multiply_one_by_one(a, rows, sums);
}

/// Sums that are worked on together.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 16;

/// The same, three to four times as fast, for a multiple of [`WIDE`] sums and an even number of
/// factors. An instruction multiplies eight pairs and adds them up, two by two; compilers do not
/// find it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn multiply_wide(a: &[i16], rows: &[[i16; 2]], sums: &mut [i32]) {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi32, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_set1_epi32,
        _mm256_storeu_si256,
    };
    let columns = sums.len().max(1);
    for (number, part) in sums.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let places = part.as_mut_ptr().cast::<__m256i>();
        // SAFETY: sixteen sums are two of these, which need not be aligned.
        let mut all = unsafe { [_mm256_loadu_si256(places), _mm256_loadu_si256(places.add(1))] };
        for (pair, row) in a.as_chunks::<2>().0.iter().zip(rows.chunks_exact(columns)) {
            let [first, second] = pair.map(i16::to_le_bytes);
            let pair = [first[0], first[1], second[0], second[1]];
            let pair = _mm256_set1_epi32(i32::from_le_bytes(pair));
            let Some(row) = row[number * WIDE..].first_chunk::<WIDE>() else { break };
            let row = row.as_ptr().cast::<__m256i>();
            // SAFETY: sixteen pairs are two of these, which need not be aligned.
            let row = unsafe { [_mm256_loadu_si256(row), _mm256_loadu_si256(row.add(1))] };
            for (sums, row) in all.iter_mut().zip(row) {
                *sums = _mm256_add_epi32(*sums, _mm256_madd_epi16(pair, row));
            }
        }
        // SAFETY: as above.
        unsafe {
            _mm256_storeu_si256(places, all[0]);
            _mm256_storeu_si256(places.add(1), all[1]);
        }
    }
}

fn multiply_one_by_one(a: &[i16], rows: &[[i16; 2]], sums: &mut [i32]) {
    let columns = sums.len().max(1);
    for (pair, row) in a.chunks(2).zip(rows.chunks_exact(columns)) {
        let (first, second) = (pair[0], pair.get(1).copied().unwrap_or(0));
        let (first, second) = (i32::from(first), i32::from(second));
        for (sum, [one, two]) in sums.iter_mut().zip(row) {
            let both = (first * i32::from(*one)).wrapping_add(second * i32::from(*two));
            *sum = sum.wrapping_add(both);
        }
    }
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
    let (x, w) = (narrow(x), paired(&weights(w), outputs));
    let bytes = y.len();
    shared(y, 4 * outputs, bytes, |first, y| {
        let mut sums = vec![0; outputs];
        for (x, y) in x.chunks(inputs).skip(first).zip(y.chunks_mut(4 * outputs)) {
            sums.fill(0);
            multiply(x, &w, &mut sums);
            let value = |sum: &i32| within_16_bits(shifted(*sum, ACTIVATION_SHIFT)).max(least);
            write(y, sums.iter().map(value));
        }
    });
}

fn input_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([dy, w, x], [dx]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let (dy, w) = (narrow(dy), weights(w));
    let transposed: Vec<i16> =
        (0..outputs).flat_map(|o| w.iter().skip(o).step_by(outputs)).copied().collect();
    let w = paired(&transposed, inputs);
    let bytes = dx.len();
    shared(dx, 4 * inputs, bytes, |first, dx| {
        let mut sums = vec![0; inputs];
        let rows = dy.chunks(outputs).zip(x.chunks(4 * inputs)).skip(first);
        for ((dy, x), dx) in rows.zip(dx.chunks_mut(4 * inputs)) {
            sums.fill(0);
            multiply(dy, &w, &mut sums);
            let masked = words(x).zip(&sums).map(|(x, sum)| match x > 0 {
                true => within_16_bits(shifted(*sum, ACTIVATION_SHIFT)),
                false => 0,
            });
            write(dx, masked);
        }
    });
}

fn weight_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    // Sums of 32 bits are added to those of 64 after so many rows.
    const DEPTH: usize = super::DEPTH as usize;
    let ([x, dy], [dw]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let (x, dy) = (narrow(x), narrow(dy));
    let per_slice = shape.rows.div_ceil(slices(shape.inputs, shape.outputs)) as usize;
    let shift = shape.rows.checked_ilog2().unwrap_or(0);
    let slice = |number: usize, slice: &mut [u8]| {
        let from = (number * per_slice).min(shape.rows as usize);
        let to = (from + per_slice).min(shape.rows as usize);
        let mut all = vec![0_i64; inputs * outputs];
        for start in (from..to).step_by(DEPTH) {
            let end = (start + DEPTH).min(to);
            let rows = paired(&dy[start * outputs..end * outputs], outputs);
            let (mut column, mut sums) = ([0; DEPTH], vec![0; outputs]);
            for (input, all) in all.chunks_mut(outputs).enumerate() {
                for (place, row) in column.iter_mut().zip(start..end) {
                    *place = x[row * inputs + input];
                }
                sums.fill(0);
                multiply(&column[..end - start], &rows, &mut sums);
                all.iter_mut().zip(&sums).for_each(|(all, &sum)| *all += i64::from(sum));
            }
        }
        // From value * 2^23 to value * 2^24.
        write(slice, all.iter().map(|sum| ((sum * 2) >> shift) as i32));
    };
    let bytes = 4 * inputs * outputs;
    shared(dw, bytes, 4 * x.len(), |first, slices| {
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
    fn sums_that_are_worked_on_together_are_those_that_are_worked_on_one_by_one() {
        // The least number among them: twice its square is more than 32 bits hold.
        let mut state = 1_u32;
        let mut number = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            if state >> 29 == 0 { i16::MIN } else { (state >> 16) as i16 }
        };
        for (factors, columns) in [(2, 16), (16, 32), (64, 48), (7, 16), (16, 10), (0, 16)] {
            let a: Vec<i16> = (0..factors).map(|_| number()).collect();
            let b: Vec<i16> = (0..factors * columns).map(|_| number()).collect();
            let rows = paired(&b, columns);
            let begun: Vec<i32> = (0..columns).map(|_| number().into()).collect();
            let (mut together, mut one_by_one) = (begun.clone(), begun);
            multiply(&a, &rows, &mut together);
            multiply_one_by_one(&a, &rows, &mut one_by_one);
            assert_eq!(together, one_by_one, "{factors} factors, {columns} sums");
        }
    }
}
