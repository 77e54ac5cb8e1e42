//! A small convolutional network in fixed point: `dense`, `dense_relu`, `dense_input_gradient`,
//! `dense_weight_gradient`, `softmax_cross_entropy` and `sgd_step` of `cuda/network.cu`.
//!
//! Its convolutions have patches that do not overlap, and the pixels of an image are in Z-order, so that each is a
//! matrix multiplication with one row for each patch. The file of the sources says how numbers are kept. Sums of
//! integers do not depend on their order: the twins give the kernels' bits.

use crate::{Access, Argument, Blocks, Body, Kernel, Mode, Parameter, Twin, Work};

/// The PTX of `cuda/network.cu`.
pub const IMAGE: &str = include_str!("../ptx/network.ptx");

/// Threads of a block of each of the kernels.
pub const THREADS: u32 = 128;

/// Rows and columns that a block of a matrix multiplication has at a time.
const TILE: [u64; 2] = [64, 32];
/// How many numbers of each row it multiplies before it gets the next.
const DEPTH: u64 = 32;

/// The rows of a gradient of weights are cut into slices, each with a sum of its own: as many as make so many blocks …
const GRADIENT_BLOCKS: u64 = 512;
/// … but not fewer than these …
const LEAST_SLICES: u64 = 32;
/// … and not more.
const MOST_SLICES: u64 = 128;

/// Slices of a gradient of so many weights.
#[must_use]
pub fn slices(inputs: u64, outputs: u64) -> u64 {
    let tiles = inputs.div_ceil(TILE[0]).saturating_mul(outputs / TILE[1]);
    (GRADIENT_BLOCKS / tiles.max(1)).clamp(LEAST_SLICES, MOST_SLICES)
}

/// Numbers of a pixel: three colours, and one that is always 0.
pub const CHANNELS: u64 = 4;
/// As `CHANNEL_SCALE` of the sources: 2^24 / (255 * deviation).
const CHANNEL_SCALE: [i32; CHANNELS as usize] = [287_306, 293_719, 292_413, 0];
/// As `CHANNEL_SHIFT` of the sources: 2^24 * mean / deviation.
const CHANNEL_SHIFT: [i32; CHANNELS as usize] = [35_532_532, 34_153_618, 30_273_554, 0];

/// Classes that a pixel can belong to.
pub const CLASSES: u32 = 32;

/// The learning rate is 2^-3.
const LEARNING_SHIFT: u32 = 3;

/// A value of 1, as activations are kept.
pub const ONE: i32 = 1 << 8;
/// A weight of 1, as weights are kept.
pub const WEIGHT_ONE: i32 = 1 << 24;
/// A gradient of 1, as those of activations are kept.
pub const GRADIENT_ONE: i32 = 1 << 15;
/// A loss of 1 nat.
pub const LOSS_ONE: u32 = 1 << 16;

/// From weights as they are kept to weights as they are multiplied.
const WEIGHT_SHIFT: u32 = 12;
/// From activation times weight to activation, and from gradient times weight to gradient.
const ACTIVATION_SHIFT: u32 = 12;

/// Which of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `normalise`: from the bytes of pixels to activations.
    Normalise,
    /// `dense`: `y = x * w`.
    Dense,
    /// `dense_relu`: the same, and zero where it would be negative.
    DenseRelu,
    /// `dense_input_gradient`: from the gradient of a layer's output to that of its input.
    InputGradient,
    /// `dense_weight_gradient`: from the same to that of its weights, slice by slice.
    WeightGradient,
    /// `softmax_cross_entropy`: losses, and their gradients to the logits.
    Loss,
    /// `sgd_step`: a step of gradient descent.
    Step,
}

impl Operation {
    /// All of them, in the order in which a step of training first needs them.
    pub const ALL: [Self; 7] = [
        Self::Normalise,
        Self::Dense,
        Self::DenseRelu,
        Self::Loss,
        Self::WeightGradient,
        Self::InputGradient,
        Self::Step,
    ];

    /// The name of its entry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normalise => "normalise",
            Self::Dense => "dense",
            Self::DenseRelu => "dense_relu",
            Self::InputGradient => "dense_input_gradient",
            Self::WeightGradient => "dense_weight_gradient",
            Self::Loss => "softmax_cross_entropy",
            Self::Step => "sgd_step",
        }
    }

    /// The operands of a launch over a layer of this shape.
    fn operands(self, shape: &Shape) -> Vec<Operand> {
        let Shape { rows, inputs, outputs } = *shape;
        let of_rows = |columns: u64| (rows.saturating_mul(columns), Of::Rows);
        let (x, y, one) = (of_rows(inputs), of_rows(outputs), of_rows(1));
        let w = (inputs.saturating_mul(outputs), Of::Weights);
        let sliced = |slices: u64| (w.0.saturating_mul(slices), Of::Weights);
        let all = |reads: &[(u64, Of)], writes: &[(u64, Of)]| {
            let reads = reads.iter().map(|&(words, of)| Operand { words, of, mode: Mode::Read });
            let writes = writes.iter().map(|&(words, of)| Operand { words, of, mode: Mode::Write });
            reads.chain(writes).collect()
        };
        match self {
            Self::Normalise => all(&[one], &[of_rows(CHANNELS)]),
            Self::Dense | Self::DenseRelu => all(&[x, w], &[y]),
            Self::InputGradient => all(&[y, w, x], &[x]),
            Self::WeightGradient => all(&[x, y], &[sliced(slices(inputs, outputs))]),
            Self::Loss => all(&[y, one], &[y, one]),
            Self::Step => all(&[w, sliced(rows)], &[w]),
        }
    }

    /// The arguments of a launch over a layer of this shape: pointers in the order of the kernel's parameters, of which
    /// there may be more than it takes.
    #[must_use]
    pub fn arguments(self, pointers: &[u64], shape: &Shape) -> Vec<Argument> {
        let taken = kernel(self).parameters.iter().filter(|it| **it == Parameter::Pointer).count();
        let pointers = pointers.iter().take(taken).map(|&at| Argument::Pointer(at));
        let sizes = self.sizes(shape);
        let sizes = sizes.into_iter().map(|size| Argument::U32(size.min(u32::MAX.into()) as u32));
        pointers.chain(sizes).collect()
    }

    /// The integers after the pointers.
    fn sizes(self, shape: &Shape) -> Vec<u64> {
        let Shape { rows, inputs, outputs } = *shape;
        match self {
            Self::Dense | Self::DenseRelu | Self::InputGradient | Self::WeightGradient => {
                vec![rows, inputs, outputs]
            }
            Self::Normalise | Self::Loss => vec![rows],
            Self::Step => vec![inputs.saturating_mul(outputs), rows],
        }
    }

    /// Blocks of a launch over a layer of this shape, its rows being nominal: one for each tile, or for as many items
    /// as it has threads.
    #[must_use]
    pub fn blocks(self, shape: &Shape) -> u64 {
        let Shape { rows, inputs, outputs } = *shape;
        let tiles = |rows: u64, columns: u64| rows.div_ceil(TILE[0]) * (columns / TILE[1]);
        let blocks = match self {
            Self::Dense | Self::DenseRelu => tiles(rows, outputs),
            Self::InputGradient => tiles(rows, inputs),
            Self::WeightGradient => tiles(inputs, outputs) * slices(inputs, outputs),
            Self::Normalise => rows.div_ceil(THREADS.into()),
            Self::Loss => rows.div_ceil(u64::from(THREADS / 32)),
            Self::Step => (inputs * outputs).div_ceil(THREADS.into()),
        };
        blocks.max(1)
    }

    /// Its work, in units of its rate: pixels, multiply-adds, logits, or words added up.
    #[must_use]
    pub fn units(self, shape: &Shape) -> u64 {
        let Shape { rows, inputs, outputs } = *shape;
        let weights = inputs.saturating_mul(outputs);
        // Where a patch is smaller than the depth of a tile, the rest of it is multiplied too.
        let padded = inputs.next_multiple_of(DEPTH).saturating_mul(outputs);
        match self {
            Self::Normalise => rows,
            Self::Dense | Self::DenseRelu => rows.saturating_mul(padded),
            Self::InputGradient | Self::WeightGradient => rows.saturating_mul(weights),
            Self::Loss => rows.saturating_mul(CLASSES.into()),
            Self::Step => rows.saturating_mul(weights),
        }
    }
}

/// The shape of a layer: a matrix of weights, and how many rows go through it. For a loss, `outputs` are the classes; for
/// a step, `rows` are the slices of the gradient: see [`Shape::of_step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Patches.
    pub rows: u64,
    /// Numbers of a patch.
    pub inputs: u64,
    /// Numbers that become of them.
    pub outputs: u64,
}

impl Shape {
    /// That of the step that the gradient of such a layer leads to.
    #[must_use]
    pub fn of_step(&self) -> Self {
        Self { rows: slices(self.inputs, self.outputs), ..*self }
    }
}

/// A matrix that a launch reads or writes.
struct Operand {
    words: u64,
    of: Of,
    mode: Mode,
}

/// What a matrix grows with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// With the rows: on the simulated device there are fewer of them.
    Rows,
    /// With the layer alone: there are as many weights on every device.
    Weights,
}

pub(crate) const fn kernel(operation: Operation) -> Kernel {
    use Parameter::{Pointer, U32};
    let dense: &[Parameter] = &[Pointer, Pointer, Pointer, U32, U32, U32];
    // Registers as compiled for compute capability 9.0.
    let (parameters, rate, registers, shared_bytes): (&[Parameter], _, _, _) = match operation {
        Operation::Normalise => (&[Pointer, Pointer, U32], "normalise", 18, 0),
        Operation::Dense | Operation::DenseRelu => (dense, "dense", 77, 13_312),
        Operation::InputGradient => {
            (&[Pointer, Pointer, Pointer, Pointer, U32, U32, U32], "dense", 76, 13_312)
        }
        Operation::WeightGradient => (dense, "weight_gradient", 127, 13_312),
        Operation::Loss => (&[Pointer, Pointer, Pointer, Pointer, U32], "loss", 26, 0),
        Operation::Step => (&[Pointer, Pointer, U32, U32], "step", 32, 0),
    };
    Kernel {
        name: operation.name(),
        image: IMAGE,
        parameters,
        rate,
        registers,
        shared_bytes,
        threads: THREADS,
        blocks: Blocks::Any,
        items: None,
        body: Body::Network(operation),
    }
}

/// The pointers and the shape of a launch.
///
/// # Panics
///
/// When the arguments do not have the types of the kernel's parameters.
fn read(operation: Operation, arguments: &[Argument]) -> (Vec<u64>, Shape) {
    let (mut pointers, mut sizes) = (Vec::new(), Vec::new());
    for argument in arguments {
        match *argument {
            Argument::Pointer(at) => pointers.push(at),
            Argument::U32(size) => sizes.push(u64::from(size)),
        }
    }
    let shape = match (operation, sizes.as_slice()) {
        (Operation::Normalise, &[rows]) => Shape { rows, inputs: 0, outputs: 0 },
        (Operation::Loss, &[rows]) => Shape { rows, inputs: 0, outputs: CLASSES.into() },
        (Operation::Step, &[outputs, rows]) => Shape { rows, inputs: 1, outputs },
        (_, &[rows, inputs, outputs]) => Shape { rows, inputs, outputs },
        _ => panic!("`{}` does not take {arguments:?}", operation.name()),
    };
    (pointers, shape)
}

pub(crate) fn work(operation: Operation, arguments: &[Argument], scale: u32) -> Work {
    let (_, shape) = read(operation, arguments);
    let scale = u64::from(scale.max(1));
    let words = |operand: &Operand| match operand.of {
        Of::Rows => operand.words,
        Of::Weights => operand.words / scale,
    };
    let operands = operation.operands(&shape);
    let words = match operation {
        // They do nothing but wait for memory, and find in the cache what another kernel has just made: their rate is
        // that of the cache.
        Operation::Normalise | Operation::Step => 0,
        _ => operands.iter().map(words).fold(0, u64::saturating_add),
    };
    let units = operation.units(&shape);
    let units = if operation == Operation::Step { units / scale } else { units };
    Work { units, bytes: words.saturating_mul(4) }
}

pub(crate) fn accesses(operation: Operation, arguments: &[Argument]) -> Vec<Access> {
    let (pointers, shape) = read(operation, arguments);
    // What is written in place is read first: of the pointers of `sgd_step` the first is both.
    let places: &[usize] = match operation {
        Operation::Step => &[0, 1, 0],
        Operation::InputGradient | Operation::Loss => &[0, 1, 2, 3],
        Operation::Normalise => &[0, 1],
        _ => &[0, 1, 2],
    };
    let operands = operation.operands(&shape);
    let access = |(&place, operand): (&usize, &Operand)| Access {
        pointer: pointers[place],
        bytes: operand.words.saturating_mul(4),
        mode: operand.mode,
    };
    places.iter().zip(&operands).map(access).collect()
}

pub(crate) fn arguments(
    operation: Operation,
    accesses: &[Access],
    copies: u64,
) -> Option<Vec<Argument>> {
    let nothing = Shape { rows: 0, inputs: 0, outputs: 0 };
    let words = |(access, operand): (&Access, Operand)| match operand.of {
        Of::Rows => access.bytes / 4,
        Of::Weights => access.bytes / 4 / copies.max(1),
    };
    let words: Vec<u64> = accesses.iter().zip(operation.operands(&nothing)).map(words).collect();
    // rows * inputs, inputs * outputs and rows * outputs: the product of two over the third is a square.
    let layer = |x: u64, w: u64, y: u64| {
        let rows = (u128::from(x) * u128::from(y)).checked_div(w.into())?.isqrt();
        let rows = u64::try_from(rows).ok()?;
        Some(Shape { rows, inputs: x.checked_div(rows)?, outputs: y.checked_div(rows)? })
    };
    let (shape, pointers): (Shape, &[usize]) = match (operation, words.as_slice()) {
        (Operation::Dense | Operation::DenseRelu, &[x, w, y]) => (layer(x, w, y)?, &[0, 1, 2]),
        (Operation::InputGradient, &[y, w, x, _]) => (layer(x, w, y)?, &[0, 1, 2, 3]),
        (Operation::WeightGradient, &[x, y, sliced]) => {
            // With as many slices as belong to the layer, it fits.
            let counts = (LEAST_SLICES..=MOST_SLICES).filter(|it| sliced.is_multiple_of(*it));
            let mut layers = counts.filter_map(|count| Some((count, layer(x, sliced / count, y)?)));
            let fits = |(count, it): &(u64, Shape)| slices(it.inputs, it.outputs) == *count;
            (layers.find(fits)?.1, &[0, 1, 2])
        }
        (Operation::Normalise, &[rows, _]) => (Shape { rows, inputs: 0, outputs: 0 }, &[0, 1]),
        (Operation::Loss, &[_, rows, _, _]) => {
            (Shape { rows, inputs: 0, outputs: CLASSES.into() }, &[0, 1, 2, 3])
        }
        (Operation::Step, &[weights, sliced, _]) => {
            let rows = sliced.checked_div(weights)?;
            (Shape { rows, inputs: 1, outputs: weights }, &[0, 1])
        }
        _ => return None,
    };
    let pointers = pointers.iter().map(|&index| Argument::Pointer(accesses[index].pointer));
    let sizes = operation.sizes(&shape);
    let sizes: Option<Vec<_>> =
        sizes.into_iter().map(|size| Some(Argument::U32(u32::try_from(size).ok()?))).collect();
    Some(pointers.chain(sizes?).collect())
}

pub(crate) fn twin(operation: Operation) -> Twin {
    match operation {
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

fn words(bytes: &[u8]) -> impl Iterator<Item = i32> {
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

/// Two rows of a matrix in one, element by element: [a b c] and [d e f] become [a d b e c f]. A processor multiplies
/// two pairs of 16 bits and adds the products in one go.
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
    if sums.len().is_multiple_of(WIDE) && a.len().is_multiple_of(2) {
        // SAFETY: every processor of this architecture has it.
        return unsafe { multiply_wide(a, rows, sums) };
    }
    multiply_one_by_one(a, rows, sums);
}

/// Sums that are worked on together.
#[cfg(target_arch = "x86_64")]
const WIDE: usize = 8;

/// The same, five times as fast, for a multiple of [`WIDE`] sums and an even number of factors: an instruction multiplies
/// four pairs and adds them up, two by two, and compilers do not find it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2")]
fn multiply_wide(a: &[i16], rows: &[[i16; 2]], sums: &mut [i32]) {
    use std::arch::x86_64::{
        __m128i, _mm_add_epi32, _mm_loadu_si128, _mm_madd_epi16, _mm_set1_epi32, _mm_storeu_si128,
    };
    let columns = sums.len().max(1);
    for (number, part) in sums.as_chunks_mut::<WIDE>().0.iter_mut().enumerate() {
        let places = part.as_mut_ptr().cast::<__m128i>();
        // SAFETY: eight sums are two of these, which need not be aligned.
        let mut all = unsafe { [_mm_loadu_si128(places), _mm_loadu_si128(places.add(1))] };
        for (pair, row) in a.as_chunks::<2>().0.iter().zip(rows.chunks_exact(columns)) {
            let [first, second] = pair.map(i16::to_le_bytes);
            let pair = [first[0], first[1], second[0], second[1]];
            let pair = _mm_set1_epi32(i32::from_le_bytes(pair));
            let Some(row) = row[number * WIDE..].first_chunk::<WIDE>() else { break };
            let row = row.as_ptr().cast::<__m128i>();
            // SAFETY: eight pairs are two of these, which need not be aligned.
            let row = unsafe { [_mm_loadu_si128(row), _mm_loadu_si128(row.add(1))] };
            for (sums, row) in all.iter_mut().zip(row) {
                *sums = _mm_add_epi32(*sums, _mm_madd_epi16(pair, row));
            }
        }
        // SAFETY: as above.
        unsafe {
            _mm_storeu_si128(places, all[0]);
            _mm_storeu_si128(places.add(1), all[1]);
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
    let mut sums = vec![0; outputs];
    for (x, y) in x.chunks(inputs).zip(y.chunks_mut(4 * outputs)) {
        sums.fill(0);
        multiply(x, &w, &mut sums);
        write(y, sums.iter().map(|sum| within_16_bits(shifted(*sum, ACTIVATION_SHIFT)).max(least)));
    }
}

fn input_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let ([dy, w, x], [dx]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let (dy, w) = (narrow(dy), weights(w));
    let transposed: Vec<i16> =
        (0..outputs).flat_map(|o| w.iter().skip(o).step_by(outputs)).copied().collect();
    let w = paired(&transposed, inputs);
    let mut sums = vec![0; inputs];
    let rows = dy.chunks(outputs).zip(x.chunks(4 * inputs)).zip(dx.chunks_mut(4 * inputs));
    for ((dy, x), dx) in rows {
        sums.fill(0);
        multiply(dy, &w, &mut sums);
        let masked = words(x).zip(&sums).map(|(x, sum)| match x > 0 {
            true => within_16_bits(shifted(*sum, ACTIVATION_SHIFT)),
            false => 0,
        });
        write(dx, masked);
    }
}

fn weight_gradient(shape: &Shape, inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    // Sums of 32 bits are added to those of 64 after so many rows.
    const DEPTH: usize = self::DEPTH as usize;
    let ([x, dy], [dw]) = (inputs, outputs) else { return };
    let Some((inputs, outputs)) = columns(shape) else { return };
    let (x, dy) = (narrow(x), narrow(dy));
    let per_slice = shape.rows.div_ceil(slices(shape.inputs, shape.outputs)) as usize;
    let shift = shape.rows.checked_ilog2().unwrap_or(0);
    for (number, slice) in dw.chunks_mut(4 * inputs * outputs).enumerate() {
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
    }
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
    const CLASSES: usize = self::CLASSES as usize;
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
                assert!(
                    (0..MOST_SLICES as i64).contains(&(mean - found)),
                    "{shape:?} {mean} {found}"
                );
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
            let logits: Vec<f64> =
                logits.iter().map(|&it| f64::from(it) / f64::from(ONE)).collect();
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

    #[test]
    fn a_launch_of_a_recorded_program_is_known_though_its_weights_count_several_times() {
        let up = Shape { rows: 8192, inputs: 128, outputs: 512 };
        for operation in Operation::ALL {
            let shape = if operation == Operation::Step { up.of_step() } else { up };
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
                    kernel.twin().expect("it has one")(
                        &arguments,
                        &inputs,
                        &mut vec![vec![]; written],
                    );
                }
            }
        }
    }

    #[test]
    fn the_sources_say_the_same_about_tiles_slices_and_the_rate_of_learning() {
        let source = include_str!("../cuda/network.cu");
        for (name, number) in [
            ("TILE_ROWS", TILE[0]),
            ("TILE_COLUMNS", TILE[1]),
            ("TILE_DEPTH", DEPTH),
            ("THREADS", THREADS.into()),
            ("GRADIENT_BLOCKS", GRADIENT_BLOCKS),
            ("LEAST_SLICES", LEAST_SLICES),
            ("MOST_SLICES", MOST_SLICES),
            ("CLASSES", CLASSES.into()),
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
}
