//! Kernels that are bound by one part of a multiprocessor each, of `cuda/pipes.cu` and
//! `cuda/tensor.cu`: what two kernels on one multiprocessor leave to each other depends on it.
//!
//! | entry | bound by | a word x becomes |
//! | --- | --- | --- |
//! | `fma_map` | instruction issue: eight multiply-adds of each thread are ready at any time | `5 x + r` |
//! | `chain_map` | a latency: each multiply-add waits for the one before | `9 x + r` |
//! | `stream_map` | device memory | `x + 2 654 435 769`; each round reads and writes all of it again |
//! | `tensor_product` | the tensor cores | `3 x + rounds * (W X)`, where X has the lower three bits of 16 x 8 words |
//!
//! `r` is the lower half of x after `rounds` steps of `f + 3` in 32-bit floats. All sums are whole
//! numbers below 2^24, and so exact: [`Pipe::most_rounds`].

use crate::{
    Access, Argument, Blocks, Body, Items, Kernel, Loop, Main, Mode, Parameter, Twin, Work,
};

/// The PTX of `cuda/pipes.cu`.
pub const IMAGE: &str = include_str!("../ptx/pipes.ptx");

/// The PTX of `cuda/tensor.cu`, for compute capability 8.0 and later.
pub const TENSOR_IMAGE: &str = include_str!("../ptx/tensor.ptx");

const WORD: usize = 4;

/// The number that `stream_map` adds.
const SHIFT: u32 = 2_654_435_769;

/// Rows and columns of a tile of `tensor_product`; W has as many columns as a tile has rows.
const ROWS: usize = 16;
const COLUMNS: usize = 8;

/// Words of a tile of `tensor_product`: the last one of an array may have fewer, and then counts as
/// if 0 came after.
pub const TILE: usize = ROWS * COLUMNS;

/// Which part of a multiprocessor bounds a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pipe {
    /// Instruction issue: `fma_map`.
    Issue,
    /// A latency: `chain_map`.
    Latency,
    /// Device memory: `stream_map`.
    Memory,
    /// The tensor cores: `tensor_product`.
    Tensor,
}

impl Pipe {
    /// All there are.
    pub const ALL: [Self; 4] = [Self::Issue, Self::Latency, Self::Memory, Self::Tensor];

    /// The name of its entry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Issue => "fma_map",
            Self::Latency => "chain_map",
            Self::Memory => "stream_map",
            Self::Tensor => "tensor_product",
        }
    }

    /// With more rounds, results are no longer exact.
    #[must_use]
    pub const fn most_rounds(self) -> u32 {
        const EXACT: u32 = 1 << 24;
        match self {
            // 3 for each round, after 2^16 - 1.
            Self::Issue | Self::Latency => (EXACT - (1 << 16)) / 3,
            Self::Memory => u32::MAX,
            // 16 products of at most 3 and 7.
            Self::Tensor => EXACT / (ROWS as u32 * 3 * 7),
        }
    }

    /// The arguments of a launch over so many words, with what it reads and what it writes.
    #[must_use]
    pub fn arguments([read, written]: [u64; 2], words: u32, rounds: u32) -> Vec<Argument> {
        let pointers = [Argument::Pointer(read), Argument::Pointer(written)];
        pointers.into_iter().chain([words, rounds].map(Argument::U32)).collect()
    }

    /// Read from what `cuobjdump -sass` prints for compute capability 9.0.
    const fn inner_loop(self) -> Loop {
        let (main, each_turn, chains, others) = match self {
            // Sixteen rounds of each chain; the counter, the compare and the branch.
            Self::Issue => (Main::Floats, 16 * 8, 8, 3),
            Self::Latency => (Main::Floats, 16, 1, 3),
            // Four loads under way together, waited for once.
            Self::Memory => (Main::Loads, 1, 1, 51),
            Self::Tensor => (Main::Tensor, 16, 4, 5),
        };
        Loop { main, each_turn, chains, others }
    }

    /// A word each; for the tensor cores four tiles of a warp, of which each thread has its part.
    ///
    /// Results go to what may be the input. So at the end, where each word is read once more, a
    /// read waits until the word before it is written.
    const fn items(self) -> Items {
        const BYTES: u32 = 2 * WORD as u32;
        const PART: u32 = 4 * TILE as u32 / 32;
        match self {
            Self::Issue => Items { bytes: BYTES, together: 8, waits: 1 + 8 },
            Self::Latency => Items { bytes: BYTES, together: 1, waits: 1 + 1 },
            // Four times 16 bytes.
            Self::Memory => Items { bytes: BYTES, together: 16, waits: 1 },
            Self::Tensor => Items { bytes: PART * BYTES, together: 1, waits: 1 + PART },
        }
    }
}

pub(crate) const fn kernel(pipe: Pipe) -> Kernel {
    Kernel {
        name: pipe.name(),
        image: if matches!(pipe, Pipe::Tensor) { TENSOR_IMAGE } else { IMAGE },
        parameters: &[Parameter::Pointer, Parameter::Pointer, Parameter::U32, Parameter::U32],
        rate: match pipe {
            Pipe::Issue => "fma",
            Pipe::Latency => "chain",
            Pipe::Memory => "stream",
            Pipe::Tensor => "tensor",
        },
        registers: if matches!(pipe, Pipe::Latency) { 16 } else { 32 },
        shared_bytes: 0,
        threads: 256,
        blocks: Blocks::Any,
        items: Some(pipe.items()),
        inner_loop: Some(pipe.inner_loop()),
        body: Body::Pipe(pipe),
    }
}

struct Launch {
    input: u64,
    output: u64,
    words: u32,
    rounds: u32,
}

impl Launch {
    fn read(arguments: &[Argument]) -> Self {
        let [
            Argument::Pointer(input),
            Argument::Pointer(output),
            Argument::U32(words),
            Argument::U32(rounds),
        ] = *arguments
        else {
            panic!("it takes two pointers and two 32-bit integers, not {arguments:?}")
        };
        Self { input, output, words, rounds }
    }
}

/// Units are rounds of a word.
pub(crate) fn work(pipe: Pipe, arguments: &[Argument]) -> Work {
    let Launch { words, rounds, .. } = Launch::read(arguments);
    let units = u64::from(words) * u64::from(rounds);
    let passed = if pipe == Pipe::Memory { units } else { words.into() };
    Work { units, bytes: 2 * WORD as u64 * passed }
}

pub(crate) fn accesses(arguments: &[Argument]) -> Vec<Access> {
    let Launch { input, output, words, .. } = Launch::read(arguments);
    let bytes = WORD as u64 * u64::from(words);
    vec![
        Access { pointer: input, bytes, mode: Mode::Read },
        Access { pointer: output, bytes, mode: Mode::Write },
    ]
}

pub(crate) fn arguments(accesses: &[Access], units: u64) -> Option<Vec<Argument>> {
    let &[input, output] = accesses else { return None };
    let words = input.bytes / WORD as u64;
    let rounds = u32::try_from(units.checked_div(words).unwrap_or(0)).ok()?;
    let pointers = [input.pointer, output.pointer];
    Some(Pipe::arguments(pointers, u32::try_from(words).ok()?, rounds))
}

pub(crate) fn twin(pipe: Pipe) -> Twin {
    match pipe {
        Pipe::Issue => |arguments, inputs, outputs| {
            let rounds = Launch::read(arguments).rounds;
            each(inputs, outputs, |x| multiply_add(5, x, rounds));
        },
        Pipe::Latency => |arguments, inputs, outputs| {
            let rounds = Launch::read(arguments).rounds;
            each(inputs, outputs, |x| multiply_add(9, x, rounds));
        },
        Pipe::Memory => |arguments, inputs, outputs| {
            if Launch::read(arguments).rounds > 0 {
                each(inputs, outputs, |x| x.wrapping_add(SHIFT));
            }
        },
        Pipe::Tensor => product,
    }
}

fn each(inputs: &[&[u8]], outputs: &mut [Vec<u8>], map: impl Fn(u32) -> u32) {
    let ([input], [output]) = (inputs, outputs) else {
        panic!("it reads one range and writes one");
    };
    let (from, _) = input.as_chunks::<WORD>();
    let (to, _) = output.as_chunks_mut::<WORD>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = map(u32::from_le_bytes(*from)).to_le_bytes();
    }
}

fn multiply_add(factor: u32, x: u32, rounds: u32) -> u32 {
    let low = (x & 0xffff).wrapping_add(rounds.wrapping_mul(3));
    factor.wrapping_mul(x).wrapping_add(low)
}

/// The element of W in this row and column; `weight` in `cuda/tensor.cu`.
const fn weight(row: usize, k: usize) -> u32 {
    ((3 * row + 5 * k + row * k + 1) & 3) as u32
}

fn product(arguments: &[Argument], inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let rounds = Launch::read(arguments).rounds;
    let ([input], [output]) = (inputs, outputs) else {
        panic!("it reads one range and writes one");
    };
    let (from, _) = input.as_chunks::<WORD>();
    let (to, _) = output.as_chunks_mut::<WORD>();
    for (from, to) in from.chunks(TILE).zip(to.chunks_mut(TILE)) {
        let mut tile = [0; TILE];
        for (x, from) in tile.iter_mut().zip(from) {
            *x = u32::from_le_bytes(*from);
        }
        for (at, to) in to.iter_mut().enumerate() {
            let (row, column) = (at / COLUMNS, at % COLUMNS);
            let sum: u32 =
                (0..ROWS).map(|k| weight(row, k) * (tile[k * COLUMNS + column] & 7)).sum();
            *to = tile[at].wrapping_mul(3).wrapping_add(rounds.wrapping_mul(sum)).to_le_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Arbitrary words, the same in every run.
    fn words(count: usize) -> Vec<u32> {
        let mut x = 1_u32;
        std::iter::repeat_with(|| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            x ^ (x >> 13)
        })
        .take(count)
        .collect()
    }

    fn launch(pipe: Pipe, data: &[u32], rounds: u32) -> Vec<u32> {
        let arguments = Pipe::arguments([16, 16], data.len() as u32, rounds);
        let input: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut outputs = vec![vec![0xa5; input.len()]];
        twin(pipe)(&arguments, &[&input], &mut outputs);
        let (found, _) = outputs[0].as_chunks::<WORD>();
        found.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()
    }

    #[test]
    fn twins_of_multiply_adds_give_what_iterating_in_floats_gives() {
        for (pipe, factor) in [(Pipe::Issue, 5_u32), (Pipe::Latency, 9)] {
            for rounds in [0, 1, 2, 999, 40_000] {
                for x in words(20) {
                    let mut f = (x & 0xffff) as f32;
                    for _ in 0..rounds {
                        f = f.mul_add(1.0, 3.0);
                    }
                    let expected = factor.wrapping_mul(x).wrapping_add(f as u32);
                    assert_eq!(launch(pipe, &[x], rounds), [expected], "{pipe:?}, {rounds}");
                }
            }
        }
    }

    #[test]
    fn results_are_exact_in_floats_up_to_the_most_rounds_and_no_further() {
        let last = |rounds: u32| 0xffff + 3 * rounds;
        let multiply_adds = Pipe::Issue.most_rounds();
        assert!(last(multiply_adds) < 1 << 24);
        assert!(last(multiply_adds + 1) >= (1 << 24) - 1);
        let products = Pipe::Tensor.most_rounds();
        assert!(products * 16 * 21 <= 1 << 24);
        assert!((products + 1) * 16 * 21 > 1 << 24);
    }

    #[test]
    fn a_product_of_a_tile_is_the_sum_over_its_column_each_time() {
        let data = words(2 * TILE + 5);
        let found = launch(Pipe::Tensor, &data, 3);
        for (at, &x) in data.iter().enumerate() {
            let (first, within) = (at / TILE * TILE, at % TILE);
            let mut sum = 0;
            for _ in 0..3 {
                for k in 0..16 {
                    let element = data.get(first + 8 * k + within % 8).copied().unwrap_or(0);
                    sum += weight(within / 8, k) * (element & 7);
                }
            }
            assert_eq!(found[at], x.wrapping_mul(3).wrapping_add(sum), "word {at}");
        }
    }

    #[test]
    fn every_element_of_a_tile_has_a_weight_and_no_two_rows_are_the_same() {
        let rows: std::collections::BTreeSet<Vec<u32>> =
            (0..ROWS).map(|row| (0..ROWS).map(|k| weight(row, k)).collect()).collect();
        assert!(rows.len() > 1, "rows differ");
        for k in 0..ROWS {
            assert!((0..ROWS).any(|row| weight(row, k) > 0), "column {k}");
        }
    }

    #[test]
    fn weights_and_constants_are_those_of_the_source() {
        let tensor = include_str!("../cuda/tensor.cu");
        assert!(tensor.contains("(3 * row + 5 * k + row * k + 1) & 3"));
        assert!(tensor.contains("3u * in[at] + (unsigned)d[t][k]"));
        let pipes = include_str!("../cuda/pipes.cu");
        for line in [
            "multiply_add<CHAINS, 5u>",
            "multiply_add<1, 9u>",
            "FACTOR * in[i + k * stride] + (unsigned)f[k]",
            "x + 2654435769u",
            "#define CHAINS 8",
        ] {
            assert!(pipes.contains(line), "{line}");
        }
    }

    #[test]
    fn two_of_them_in_either_order_do_not_give_the_same() {
        let data = words(TILE);
        for first in Pipe::ALL {
            assert_ne!(launch(first, &data, 7), data, "{first:?}");
            for second in Pipe::ALL.into_iter().filter(|second| *second != first) {
                let one = launch(second, &launch(first, &data, 7), 7);
                let other = launch(first, &launch(second, &data, 7), 7);
                assert_ne!(one, other, "{first:?} and {second:?}");
            }
        }
    }
}
