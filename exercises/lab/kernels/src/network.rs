//! A small convolutional network in fixed point: `dense`, `dense_relu`, `dense_input_gradient`,
//! `dense_weight_gradient`, `softmax_cross_entropy` and `sgd_step` of `cuda/network.cu`. Before
//! them what its images go through: `crop`, `resize`, `flip`, `blur` and `normalise`.
//!
//! Its convolutions have patches that do not overlap, and the pixels of an image are in Z-order, so
//! that each is a matrix multiplication with one row for each patch. The file of the sources says
//! how numbers are kept. Sums of integers do not depend on their order: the twins give the kernels'
//! bits.

mod images;
mod parts;
mod twins;

use crate::{Access, Argument, Blocks, Body, Kernel, Mode, Parameter, Twin, Work};

/// The PTX of `cuda/network.cu`.
pub const IMAGE: &str = include_str!("../ptx/network.ptx");

/// Threads of a block of each of the kernels.
pub const THREADS: u32 = 128;

/// Rows and columns that a block of a matrix multiplication has at a time.
const TILE: [u64; 2] = [64, 32];
/// How many numbers of each row it multiplies before it gets the next.
const DEPTH: u64 = 32;

/// The rows of a gradient of weights are cut into slices, each with a sum of its own: as many as
/// make so many blocks …
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

/// Pixels of an image as it is loaded: 64 x 64.
pub const LOADED: u64 = LOADED_SIDE * LOADED_SIDE;
/// Pixels of the window that is taken of it: 48 x 48.
pub const WINDOW: u64 = WINDOW_SIDE * WINDOW_SIDE;
/// Pixels that it is brought to: 128 x 128.
pub const PIXELS: u64 = SIDE * SIDE;
const LOADED_SIDE: u64 = 64;
const WINDOW_SIDE: u64 = 48;
const SIDE: u64 = 128;

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

/// Which of the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `crop`: windows of images.
    Crop,
    /// `resize`: from windows to images again, bilinear.
    Resize,
    /// `flip`: some of them, from left to right.
    Flip,
    /// `blur`: means of 5 x 5 pixels, in Z-order.
    Blur,
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
    pub const ALL: [Self; 11] = [
        Self::Crop,
        Self::Resize,
        Self::Flip,
        Self::Blur,
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
            Self::Crop => "crop",
            Self::Resize => "resize",
            Self::Flip => "flip",
            Self::Blur => "blur",
            Self::Normalise => "normalise",
            Self::Dense => "dense",
            Self::DenseRelu => "dense_relu",
            Self::InputGradient => "dense_input_gradient",
            Self::WeightGradient => "dense_weight_gradient",
            Self::Loss => "softmax_cross_entropy",
            Self::Step => "sgd_step",
        }
    }

    /// Whether it makes pixels, or an activation for each: its shape is that of so many pixels.
    #[must_use]
    pub const fn is_of_pixels(self) -> bool {
        matches!(self, Self::Crop | Self::Resize | Self::Flip | Self::Blur | Self::Normalise)
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
        // Whole images are read, even if only a part of the last is made.
        let read = |of: u64, from: u64| {
            let images = rows.div_ceil(of);
            [(images * from, Of::Rows), (images, Of::Rows)]
        };
        match self {
            Self::Crop => all(&read(WINDOW, LOADED), &[one]),
            Self::Resize => all(&read(PIXELS, WINDOW)[..1], &[one]),
            Self::Flip => all(&read(PIXELS, PIXELS), &[one]),
            Self::Blur => all(&read(PIXELS, PIXELS)[..1], &[one]),
            Self::Normalise => all(&[one], &[of_rows(CHANNELS)]),
            Self::Dense | Self::DenseRelu => all(&[x, w], &[y]),
            Self::InputGradient => all(&[y, w, x], &[x]),
            Self::WeightGradient => all(&[x, y], &[sliced(slices(inputs, outputs))]),
            Self::Loss => all(&[y, one], &[y, one]),
            Self::Step => all(&[w, sliced(rows)], &[w]),
        }
    }

    /// The arguments of a launch over a layer of this shape: pointers in the order of the kernel's
    /// parameters, of which there may be more than it takes.
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
            Self::Step => vec![inputs.saturating_mul(outputs), rows],
            _ => vec![rows],
        }
    }

    /// Blocks of a launch over a layer of this shape, its rows being nominal: one for each tile, or
    /// for as many items as it has threads.
    #[must_use]
    pub fn blocks(self, shape: &Shape) -> u64 {
        let Shape { rows, inputs, outputs } = *shape;
        let tiles = |rows: u64, columns: u64| rows.div_ceil(TILE[0]) * (columns / TILE[1]);
        let blocks = match self {
            _ if self.is_of_pixels() => rows.div_ceil(THREADS.into()),
            Self::Dense | Self::DenseRelu => tiles(rows, outputs),
            Self::InputGradient => tiles(rows, inputs),
            Self::WeightGradient => tiles(inputs, outputs) * slices(inputs, outputs),
            Self::Loss => rows.div_ceil(u64::from(THREADS / 32)),
            _ => (inputs * outputs).div_ceil(THREADS.into()),
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
            _ if self.is_of_pixels() => rows,
            Self::Dense | Self::DenseRelu => rows.saturating_mul(padded),
            Self::Loss => rows.saturating_mul(CLASSES.into()),
            _ => rows.saturating_mul(weights),
        }
    }
}

/// The shape of a layer: a matrix of weights, and how many rows go through it. For a loss,
/// `outputs` are the classes; for a step, `rows` are the slices of the gradient: see
/// [`Shape::of_step`]; for images, they are the pixels that are made.
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
    /// That of so many pixels.
    #[must_use]
    pub fn of_pixels(rows: u64) -> Self {
        Self { rows, inputs: 0, outputs: 0 }
    }

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

/// The size that a matrix grows with.
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
        Operation::Crop => (&[Pointer, Pointer, Pointer, U32], "crop", 16, 0),
        Operation::Resize => (&[Pointer, Pointer, U32], "resize", 26, 0),
        Operation::Flip => (&[Pointer, Pointer, Pointer, U32], "flip", 14, 0),
        Operation::Blur => (&[Pointer, Pointer, U32], "blur", 32, 0),
        Operation::Normalise => (&[Pointer, Pointer, U32], "normalise", 18, 0),
        Operation::Dense | Operation::DenseRelu => (dense, "dense", 77, 13_312),
        Operation::InputGradient => {
            (&[Pointer, Pointer, Pointer, Pointer, U32, U32, U32], "input_gradient", 76, 13_312)
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
        inner_loop: None,
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
        (Operation::Loss, &[rows]) => Shape { rows, inputs: 0, outputs: CLASSES.into() },
        (Operation::Step, &[outputs, rows]) => Shape { rows, inputs: 1, outputs },
        (_, &[rows, inputs, outputs]) => Shape { rows, inputs, outputs },
        (_, &[rows]) => Shape::of_pixels(rows),
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
        // They find in the cache what another kernel has just made: their rate is that of the
        // cache.
        _ if operation.is_of_pixels() => 0,
        Operation::Step => 0,
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
        Operation::Resize | Operation::Blur | Operation::Normalise => &[0, 1],
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
    units: u64,
    copies: u64,
) -> Option<Vec<Argument>> {
    let nothing = Shape { rows: 0, inputs: 0, outputs: 0 };
    let words = |(access, operand): (&Access, Operand)| match operand.of {
        Of::Rows => access.bytes / 4,
        Of::Weights => access.bytes / 4 / copies.max(1),
    };
    let words: Vec<u64> = accesses.iter().zip(operation.operands(&nothing)).map(words).collect();
    // rows * inputs, inputs * outputs and rows * outputs: the product of two over the third is a
    // square.
    let layer = |x: u64, w: u64, y: u64| {
        let rows = (u128::from(x) * u128::from(y)).checked_div(w.into())?.isqrt();
        let rows = u64::try_from(rows).ok()?;
        Some(Shape { rows, inputs: x.checked_div(rows)?, outputs: y.checked_div(rows)? })
    };
    let (shape, pointers): (Shape, &[usize]) = match (operation, words.as_slice()) {
        (Operation::Dense | Operation::DenseRelu, &[x, w, y]) => (layer(x, w, y)?, &[0, 1, 2]),
        (Operation::InputGradient, &[y, w, x, _]) => (layer(x, w, y)?, &[0, 1, 2, 3]),
        (Operation::WeightGradient, &[x, y, sliced]) => {
            // With as many slices as belong to the layer, it fits; so may another layer, which has
            // other work.
            let counts = (LEAST_SLICES..=MOST_SLICES).filter(|it| sliced.is_multiple_of(*it));
            let mut layers = counts.filter_map(|count| Some((count, layer(x, sliced / count, y)?)));
            let fits = |(count, it): &(u64, Shape)| {
                slices(it.inputs, it.outputs) == *count && operation.units(it) == units
            };
            (layers.find(fits)?.1, &[0, 1, 2])
        }
        (Operation::Crop | Operation::Flip, &[_, _, rows]) => (Shape::of_pixels(rows), &[0, 1, 2]),
        (Operation::Resize | Operation::Blur, &[_, rows]) => (Shape::of_pixels(rows), &[0, 1]),
        (Operation::Normalise, &[rows, _]) => (Shape::of_pixels(rows), &[0, 1]),
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
    twins::of(operation)
}

#[cfg(test)]
mod tests;
