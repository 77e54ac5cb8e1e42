//! Affine maps of 32-bit integers, `x -> multiplier * x + increment (mod 2^32)`, iterated `rounds`
//! times for each element: `map_a`, `map_b` and `map_c` of `cuda/map.cu`.
//!
//! The GPU iterates; the twin composes the map with itself in O(log rounds) and multiplies once per
//! element. The maps of the three stages do not commute, and each has the full period 2^32, so a
//! stage that runs too early, twice or not at all changes every element.
//!
//! Choose `rounds` with care: two stages of `r` and `s` rounds differ in the two orders by a number
//! modulo 2^32. It has the factors of two of `r` and of `s` and at most six more. Odd
//! numbers of rounds keep the stages apart; 2^13 rounds of each would let them commute.

use crate::{
    Access, Argument, Blocks, Body, Items, Kernel, Loop, Main, Mode, Parameter, Twin, Work,
};

/// The PTX of `cuda/map.cu`.
pub const IMAGE: &str = include_str!("../ptx/map.ptx");

/// 8 blocks of 256 threads and 32 registers fill an SM's 2048 threads and 65 536 registers.
const THREADS: u32 = 256;

/// As compiled for compute capability 9.0; `__launch_bounds__` allows no more.
const REGISTERS: u32 = 32;

const ELEMENT_BYTES: u64 = 4;

/// As `CHAINS` in `cuda/map.cu`: elements that a thread iterates side by side.
const CHAINS: u32 = 4;

/// Sixteen rounds of each element; the counter, the compare and the branch. Read from what
/// `cuobjdump -sass` prints for compute capability 9.0.
const INNER_LOOP: Loop =
    Loop { main: Main::Integers, each_turn: 16 * CHAINS as u16, chains: CHAINS as u8, others: 3 };

/// Which of the maps: a pipeline's stages use different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// `map_a`.
    A,
    /// `map_b`.
    B,
    /// `map_c`.
    C,
}

impl Stage {
    /// All stages, in order.
    pub const ALL: [Self; 3] = [Self::A, Self::B, Self::C];

    /// The name of its entry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::A => "map_a",
            Self::B => "map_b",
            Self::C => "map_c",
        }
    }
}

/// The map that one round of a stage applies.
///
/// Well-known generators of full period: odd increments and multipliers that are 1 modulo 4.
#[must_use]
pub const fn map_constants(stage: Stage) -> Affine {
    match stage {
        // Numerical Recipes, 2nd edition, section 7.1, "quick and dirty".
        Stage::A => Affine { multiplier: 1_664_525, increment: 1_013_904_223 },
        // The `rand` of Borland C++.
        Stage::B => Affine { multiplier: 22_695_477, increment: 1 },
        // The example of `rand` in the C standard.
        Stage::C => Affine { multiplier: 1_103_515_245, increment: 12_345 },
    }
}

/// `x -> multiplier * x + increment (mod 2^32)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Affine {
    /// The factor.
    pub multiplier: u32,
    /// The number that is added to the product.
    pub increment: u32,
}

impl Affine {
    /// Leaves every element as it is.
    pub const IDENTITY: Self = Self { multiplier: 1, increment: 0 };

    /// This map, and `next` applied to its result.
    #[must_use]
    pub const fn then(self, next: Self) -> Self {
        Self {
            multiplier: self.multiplier.wrapping_mul(next.multiplier),
            increment: next.apply(self.increment),
        }
    }

    /// This map applied `rounds` times, by repeated squaring.
    #[must_use]
    pub const fn power(self, rounds: u32) -> Self {
        let mut result = Self::IDENTITY;
        let mut square = self;
        let mut left = rounds;
        while left > 0 {
            if left & 1 == 1 {
                result = result.then(square);
            }
            square = square.then(square);
            left >>= 1;
        }
        result
    }

    /// The map's value at `x`.
    #[must_use]
    pub const fn apply(self, x: u32) -> u32 {
        self.multiplier.wrapping_mul(x).wrapping_add(self.increment)
    }
}

pub(crate) const fn kernel(stage: Stage) -> Kernel {
    Kernel {
        name: stage.name(),
        image: IMAGE,
        parameters: &[Parameter::Pointer, Parameter::Pointer, Parameter::U32, Parameter::U32],
        rate: "map",
        registers: REGISTERS,
        shared_bytes: 0,
        threads: THREADS,
        blocks: Blocks::Any,
        items: Some(Items { bytes: 2 * ELEMENT_BYTES as u32, together: CHAINS, waits: 1 }),
        inner_loop: Some(INNER_LOOP),
        body: Body::Map(stage),
    }
}

struct Launch {
    input: u64,
    output: u64,
    elements: u32,
    rounds: u32,
}

impl Launch {
    fn read(arguments: &[Argument]) -> Self {
        let &[
            Argument::Pointer(input),
            Argument::Pointer(output),
            Argument::U32(elements),
            Argument::U32(rounds),
        ] = arguments
        else {
            panic!("a map takes two pointers and two 32-bit integers, not {arguments:?}");
        };
        Self { input, output, elements, rounds }
    }
}

pub(crate) fn work(arguments: &[Argument]) -> Work {
    let launch = Launch::read(arguments);
    let elements = u64::from(launch.elements);
    Work {
        units: elements * u64::from(launch.rounds),
        bytes: 2 * ELEMENT_BYTES * elements, // each element is read once and written once
    }
}

pub(crate) fn rounds(arguments: &[Argument]) -> u32 {
    Launch::read(arguments).rounds
}

pub(crate) fn accesses(arguments: &[Argument]) -> Vec<Access> {
    let launch = Launch::read(arguments);
    let bytes = ELEMENT_BYTES * u64::from(launch.elements);
    vec![
        Access { pointer: launch.input, bytes, mode: Mode::Read },
        Access { pointer: launch.output, bytes, mode: Mode::Write },
    ]
}

pub(crate) fn arguments(accesses: &[Access], units: u64) -> Option<Vec<Argument>> {
    let &[input, output] = accesses else { return None };
    let elements = input.bytes / ELEMENT_BYTES;
    // A launch over nothing does no rounds that anyone could count.
    let rounds = units.checked_div(elements).unwrap_or(0);
    Some(vec![
        Argument::Pointer(input.pointer),
        Argument::Pointer(output.pointer),
        Argument::U32(u32::try_from(elements).ok()?),
        Argument::U32(u32::try_from(rounds).ok()?),
    ])
}

pub(crate) fn twin(stage: Stage) -> Twin {
    match stage {
        Stage::A => |arguments, inputs, outputs| jump(Stage::A, arguments, inputs, outputs),
        Stage::B => |arguments, inputs, outputs| jump(Stage::B, arguments, inputs, outputs),
        Stage::C => |arguments, inputs, outputs| jump(Stage::C, arguments, inputs, outputs),
    }
}

fn jump(stage: Stage, arguments: &[Argument], inputs: &[&[u8]], outputs: &mut [Vec<u8>]) {
    let map = map_constants(stage).power(Launch::read(arguments).rounds);
    let ([input], [output]) = (inputs, outputs) else {
        panic!("a map reads one range and writes one");
    };
    // Arrays of constant size, so that the loop becomes one vector multiply-add per group of
    // elements.
    let (from, _) = input.as_chunks::<{ ELEMENT_BYTES as usize }>();
    let (to, _) = output.as_chunks_mut::<{ ELEMENT_BYTES as usize }>();
    for (to, from) in to.iter_mut().zip(from) {
        *to = map.apply(u32::from_le_bytes(*from)).to_le_bytes();
    }
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
    }

    fn iterate(map: Affine, x: u32, rounds: u32) -> u32 {
        (0..rounds).fold(x, |x, _| map.apply(x))
    }

    fn launch(name: &str, data: &[u32], rounds: u32) -> Vec<u32> {
        let kernel = crate::find(name).expect("it is listed");
        let arguments = [
            Argument::Pointer(0x1000),
            Argument::Pointer(0x1000),
            Argument::U32(data.len() as u32),
            Argument::U32(rounds),
        ];
        let input: Vec<u8> = data.iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut outputs = vec![vec![0xa5; input.len()]];
        kernel.twin().expect("maps have twins")(&arguments, &[&input], &mut outputs);
        outputs[0]
            .chunks_exact(4)
            .map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes")))
            .collect()
    }

    #[test]
    fn the_twin_gives_what_iterating_gives() {
        let mut values = Values(1);
        for (name, stage) in [("map_a", Stage::A), ("map_b", Stage::B), ("map_c", Stage::C)] {
            for length in [0, 1, 3, 4, 31, 257] {
                let rounds = values.next() % 2000;
                let data: Vec<u32> = (0..length).map(|_| values.next()).collect();
                let expected: Vec<u32> =
                    data.iter().map(|x| iterate(map_constants(stage), *x, rounds)).collect();
                assert_eq!(
                    launch(name, &data, rounds),
                    expected,
                    "{name}, {length} elements, {rounds} rounds"
                );
            }
        }
    }

    #[test]
    fn powers_of_arbitrary_maps_give_what_iterating_gives() {
        let mut values = Values(2);
        for case in 0..500 {
            let map = Affine { multiplier: values.next(), increment: values.next() };
            let (x, rounds) = (values.next(), values.next() % 300);
            assert_eq!(
                map.power(rounds).apply(x),
                iterate(map, x, rounds),
                "case {case}: {map:?}, {rounds} rounds"
            );
        }
    }

    #[test]
    fn powers_add_up() {
        let mut values = Values(3);
        for stage in Stage::ALL {
            let map = map_constants(stage);
            for _ in 0..100 {
                // Halved, so that the sum is again a number of rounds.
                let (first, second) = (values.next() / 2, values.next() / 2);
                assert_eq!(map.power(first).then(map.power(second)), map.power(first + second));
            }
        }
    }

    #[test]
    fn no_rounds_copy() {
        assert_eq!(launch("map_b", &[7, 8, 9], 0), [7, 8, 9]);
    }

    #[test]
    fn then_applies_the_left_map_first() {
        let double = Affine { multiplier: 2, increment: 0 };
        let add_three = Affine { multiplier: 1, increment: 3 };
        assert_eq!(double.then(add_three).apply(10), 23);
        assert_eq!(add_three.then(double).apply(10), 26);
    }

    #[test]
    fn stages_do_not_commute() {
        for (i, first) in Stage::ALL.into_iter().enumerate() {
            for second in Stage::ALL.into_iter().skip(i + 1) {
                let (p, q) = (map_constants(first), map_constants(second));
                let forth = (p.multiplier - 1).wrapping_mul(q.increment);
                let back = (q.multiplier - 1).wrapping_mul(p.increment);
                assert_ne!(forth, back, "{first:?} and {second:?}");
                // An even number of rounds adds its factors of two; 2^32 is out of reach by this margin.
                assert!(forth.wrapping_sub(back).trailing_zeros() <= 6, "{first:?} and {second:?}");
                for rounds in [1, 255, 1001] {
                    let (p, q) = (p.power(rounds), q.power(rounds + 2));
                    assert_ne!(p.then(q), q.then(p), "{first:?} and {second:?}, {rounds} rounds");
                }
            }
        }
    }

    #[test]
    fn stages_in_the_wrong_order_are_seen_in_every_element() {
        let mut values = Values(4);
        let data: Vec<u32> = (0..1000).map(|_| values.next()).collect();
        let right = launch("map_b", &launch("map_a", &data, 501), 251);
        let wrong = launch("map_a", &launch("map_b", &data, 251), 501);
        assert!(right.iter().zip(&wrong).all(|(right, wrong)| right != wrong));
    }

    #[test]
    fn a_stage_launched_twice_is_seen_in_the_data() {
        let mut values = Values(5);
        let data: Vec<u32> = (0..1000).map(|_| values.next()).collect();
        for name in ["map_a", "map_b", "map_c"] {
            let once = launch(name, &data, 1001);
            let twice = launch(name, &once, 1001);
            assert!(once.iter().zip(&twice).all(|(once, twice)| once != twice), "{name}");
        }
    }

    #[test]
    fn every_map_has_the_full_period() {
        for stage in Stage::ALL {
            // Hull and Dobell for a modulus of 2^32: odd increment, multiplier 1 modulo 4.
            let map = map_constants(stage);
            assert_eq!(map.increment % 2, 1, "{stage:?}");
            assert_eq!(map.multiplier % 4, 1, "{stage:?}");
            // 2^31 rounds are the longest proper divisor of the period, and do not return.
            assert_ne!(map.power(1 << 31), Affine::IDENTITY, "{stage:?}");
            assert_eq!(map.power(1 << 31).then(map.power(1 << 31)), Affine::IDENTITY, "{stage:?}");
        }
    }

    #[test]
    fn a_thread_takes_up_as_many_elements_together_as_the_source_says() {
        let source = include_str!("../cuda/map.cu");
        assert!(source.contains(&format!("\n#define CHAINS {CHAINS}\n")));
    }

    #[test]
    fn the_image_holds_the_constants_of_each_stage() {
        for (name, stage) in [("map_a", Stage::A), ("map_b", Stage::B), ("map_c", Stage::C)] {
            let (_, rest) =
                IMAGE.split_once(&format!(".visible .entry {name}(")).expect("the entry exists");
            let body = rest.split(".visible .entry ").next().expect("a split has a first part");
            let Affine { multiplier, increment } = map_constants(stage);
            let immediates = format!(", {multiplier}, {increment};");
            let rounds: Vec<_> = body.lines().filter(|line| line.contains("mad.lo.u32")).collect();
            assert!(!rounds.is_empty());
            assert!(rounds.iter().all(|line| line.contains(&immediates)), "{name}: {rounds:?}");
        }
    }

    #[test]
    fn work_counts_element_rounds_and_both_directions_of_memory() {
        let kernel = crate::find("map_a").expect("it is listed");
        let arguments = [
            Argument::Pointer(16),
            Argument::Pointer(64),
            Argument::U32(u32::MAX),
            Argument::U32(u32::MAX),
        ];
        let work = kernel.work(&arguments, 1);
        assert_eq!(work.units, u64::from(u32::MAX) * u64::from(u32::MAX));
        assert_eq!(work.bytes, 8 * u64::from(u32::MAX));
        assert_eq!(
            kernel.accesses(&arguments, 1),
            [
                Access { pointer: 16, bytes: 4 * u64::from(u32::MAX), mode: Mode::Read },
                Access { pointer: 64, bytes: 4 * u64::from(u32::MAX), mode: Mode::Write },
            ]
        );
    }
}
