//! Matrices are multiplied on the tensor cores, and an array goes through a map that device memory bounds. Neither needs
//! the other.

use super::Side;
use crate::pipes::Pipe;
use crate::recipe::{Array, Launch, Recipe, Span, Values};

/// The name of the exercise.
pub const NAME: &str = "tensor_and_cuda_cores";

/// What goes into the product …
pub const MATRICES: u32 = 0;
/// … and what comes out.
pub const PRODUCTS: u32 = 1;
/// What goes into the map …
pub const ELEMENTS: u32 = 2;
/// … and what comes out.
pub const SHIFTED: u32 = 3;

/// Words of the matrices: as many as 132 multiprocessors share out evenly, whether one block of 256 threads works on each
/// of them or eight do. A warp takes 512 at a time.
pub const MATRIX_WORDS: u64 = 132 * 8 * 8 * 512;
/// Times that they are multiplied: 600 us on the tensor cores of an H100 or H200.
pub const ROUNDS: u32 = 2800;
/// Words of the array: 2 GiB pass, which takes an H200 550 us and an H100 770.
pub const MAP_WORDS: u64 = 1 << 28;

/// The task, one word in memory standing for `scale`.
#[must_use]
pub fn recipe(scale: u32) -> Recipe {
    let scale_of = u64::from(scale);
    let (matrices, elements) = (MATRIX_WORDS / scale_of, MAP_WORDS / scale_of);
    let wanted = |name, elements| Array { wanted_from: 0, ..Array::made(name, elements) };
    let arrays = vec![
        Array::given("matrices", Side::Device, matrices, Values::Any),
        wanted("products", matrices),
        Array::given("elements", Side::Device, elements, Values::Any),
        wanted("shifted elements", elements),
    ];
    let all = |array: u32| Span { array, first: 0, elements: arrays[array as usize].elements };
    let launches = vec![
        Launch::of_pipe(Pipe::Tensor, ROUNDS, all(MATRICES), all(PRODUCTS)),
        Launch::of_pipe(Pipe::Memory, 1, all(ELEMENTS), all(SHIFTED)),
    ];
    Recipe::new(NAME, scale, "array", arrays, launches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pipes::TILE;

    #[test]
    fn each_launch_reads_what_is_given_and_writes_what_is_wanted() {
        for scale in [1, 32] {
            let recipe = recipe(scale);
            crate::recipe::assert_sound(&recipe);
            let wanted = recipe.arrays().iter().filter(|it| it.wanted_from < it.elements);
            assert_eq!(wanted.count(), recipe.launches().len());
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
