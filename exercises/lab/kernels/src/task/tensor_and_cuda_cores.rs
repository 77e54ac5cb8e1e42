//! Matrices are multiplied on the tensor cores, time and again, and an array goes through a map
//! that device memory bounds, as often. Neither needs the other.

use crate::pipes::Pipe;
use crate::recipe::Side;
use crate::recipe::{Array, Launch, Recipe, Span, Values};

/// The name of the exercise.
pub const NAME: &str = "tensor_and_cuda_cores";

/// How often each kernel is launched: each time on what the time before has made of it.
pub const STEPS: u32 = 6;

/// The input of the first product …
pub const MATRICES: u32 = 0;
/// … and what comes out of the last one; in between, of the others.
pub const PRODUCTS: u32 = MATRICES + STEPS;
/// The input of the first map …
pub const ELEMENTS: u32 = PRODUCTS + 1;
/// … and what comes out of the last one.
pub const SHIFTED: u32 = ELEMENTS + STEPS;

/// Words of the matrices: as many as the warps of one block on each of 132 multiprocessors take at
/// a time, 512 each. So no warp has to load any while the map takes all of the memory bandwidth.
/// With eight times as many, and as many turns for each warp, a product took 810 µs beside a map
/// instead of 600 (H200, driver 580.159.04, 2026-11-26). Further blocks have nothing to do.
pub const MATRIX_WORDS: u64 = 132 * 8 * 512;
/// Times that a product multiplies them: 150 µs on the tensor cores of an H100 or H200.
pub const ROUNDS: u32 = 5600;
/// Words of the array: no cache holds what a round of the map reads and writes, and a check of
/// the output on a GPU looks at every word of each step.
pub const MAP_WORDS: u64 = 1 << 24;
/// Times that a map goes over it: 512 MiB pass, which takes an H200 140 µs and an H100 190.
pub const MAP_ROUNDS: u32 = 4;

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let mut arrays = Vec::new();
    let mut launches = Vec::new();
    for (pipe, words, rounds, given, between, wanted) in [
        (Pipe::Tensor, MATRIX_WORDS, ROUNDS, "matrices", "products", "last products"),
        (Pipe::Memory, MAP_WORDS, MAP_ROUNDS, "elements", "shifted elements", "last elements"),
    ] {
        let elements = words / u64::from(scale);
        let first = arrays.len() as u32;
        arrays.push(Array::given(given, Side::Device, elements, Values::Any));
        arrays.extend((1..STEPS).map(|_| Array::made(between, elements)));
        arrays.push(Array { wanted_from: 0, ..Array::made(wanted, elements) });
        let all = |array: u32| Span { array, first: 0, elements };
        let step = |step| Launch::of_pipe(pipe, rounds, all(step), all(step + 1));
        launches.extend((first..first + STEPS).map(step));
    }
    Recipe::new(NAME, scale, "step", arrays, launches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipes::TILE;

    #[test]
    fn each_launch_reads_what_the_one_before_has_made_and_the_last_ones_are_wanted() {
        for scale in [1, 32] {
            let recipe = recipe(scale);
            crate::recipe::assert_sound(&recipe);
            let arrays = (0..).zip(recipe.arrays());
            let wanted = arrays.filter(|(_, it)| it.wanted_from < it.elements);
            assert_eq!(wanted.map(|it| it.0).collect::<Vec<_>>(), [PRODUCTS, SHIFTED]);
            for array in [MATRICES, ELEMENTS] {
                assert_eq!(
                    recipe.arrays()[array as usize].given,
                    recipe.arrays()[array as usize].elements
                );
            }
        }
    }

    #[test]
    fn the_products_are_exact_and_of_whole_tiles() {
        const { assert!(ROUNDS <= Pipe::Tensor.most_rounds()) };
        for scale in [1, 32] {
            assert_eq!(MATRIX_WORDS / scale % TILE as u64, 0);
        }
    }
}
