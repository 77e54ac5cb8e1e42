//! Tasks: what an exercise sets out to do.
//!
//! Each has a line in the list below. Those that do more than take an array up, through a map, and
//! down have a file of their own, which says what arrays there are and what happens to them.
//!
//! A task fixes the ratios between its stages and how long they take; how many bytes and rounds
//! that is follows from the speeds of the device, so the lesson shows on any of them. It owns its
//! inputs, which follow from a seed, and knows its outputs.

use crate::map::{Affine, Stage, map_constants};
use crate::recipe::{Recipe, Side};

// Lists of launches: see `recipe`.
pub mod capstone;
pub mod frozen_encoder;
pub mod gpu_augmentation;
pub mod tensor_and_cuda_cores;
pub mod training;

/// The task of the exercise with this name, where that is a list of launches.
#[must_use]
pub fn recipe(name: &str, scale: u32) -> Option<Recipe> {
    match name {
        capstone::NAME => Some(capstone::recipe(scale)),
        frozen_encoder::NAME => Some(frozen_encoder::recipe(scale)),
        gpu_augmentation::NAME => Some(gpu_augmentation::recipe(scale)),
        tensor_and_cuda_cores::NAME => Some(tensor_and_cuda_cores::recipe(scale)),
        _ => None,
    }
}

/// The module of one task: from a file of its own, or, where an array goes up, through a map, and
/// down again, made here.
macro_rules! task {
    ($name:ident) => {
        pub mod $name;
    };
    ($(#[$what:meta])* $name:ident mapped($copy_us:literal, $kernel_percent:literal $(, $memory:literal)?)) => {
        $(#[$what])*
        pub mod $name {
            use super::Spec;

            /// The input.
            pub const INPUT: u32 = 0;
            /// The output.
            pub const OUTPUT: u32 = 1;

            /// The task.
            pub static SPEC: Spec =
                Spec::mapped(stringify!($name), $copy_us, $kernel_percent)$(.within($memory))?;
        }
    };
}

/// The modules of all tasks, and the list of them.
macro_rules! tasks {
    ($($(#[$what:meta])* $name:ident $(= $kind:ident($($number:literal),*))?;)*) => {
        $(task! { $(#[$what])* $name $($kind($($number),*))? })*

        static TASKS: &[&Spec] = &[$(&$name::SPEC),*];
    };
}

// Of those made here, the two numbers are [`Spec::copy_us`] and [`Spec::kernel_percent`], and a
// third [`Spec::memory_percent`]. A copy of 4800 µs is long against the cost of any call, and short
// enough for a run in real time to be over at once. Kernels of 125 hundredths take a little more
// than the copies do while both directions are at work: they set the pace, and every stage matters.
tasks! {
    /// One array is copied to the device, mapped, and copied back, batch by batch, within device
    /// memory for four of 16 batches.
    buffer_lifetime = mapped(4800, 125, 25);
    /// One array is copied to the device, mapped, and copied back.
    chunked_pipeline = mapped(4800, 125);
    /// One array is copied to the device, mapped there by a library, and copied back, block by
    /// block.
    default_stream = mapped(4800, 125);
    /// One array goes up, through a map, and down again, in buffers on the device that are used in
    /// turn.
    events = mapped(4800, 125);
    first_launch;
    fork_join;
    how_many_lanes;
    /// Requests of several sizes are copied to the device, go through a map there, and return.
    implicit_sync = mapped(4800, 125);
    /// One array is copied to the device, mapped, and copied back, by streams that each take whole
    /// chunks.
    issue_order = mapped(4800, 125);
    pinned_memory;
    prefetch;
    three_lanes;
    two_streams;
    /// One array is copied to the device, mapped there, and copied back, batch by batch and each
    /// batch in two halves.
    wrapper_tracking = mapped(4800, 125);
    /// One array is copied to the device, mapped, and copied back, by one plan of several. What a
    /// meter says of some traces is an output too: that is compared by the driver.
    measuring = mapped(4800, 125);
    priorities;
    graphs;
    peers;
}

/// How fast a device is, as far as the size of a task depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    /// From pinned host memory to the device, in bytes per µs.
    pub host_to_device_bytes_per_us: u64,
    /// From the device to pinned host memory, in bytes per µs.
    pub device_to_host_bytes_per_us: u64,
    /// Element-rounds of the map kernels on the whole device, per µs.
    pub map_units_per_us: u64,
}

/// The task of an exercise, without sizes.
#[derive(Debug, PartialEq, Eq)]
pub struct Spec {
    /// The name of the exercise.
    pub name: &'static str,
    /// How long one array takes across the link, in the slower direction, in µs.
    pub copy_us: u64,
    /// How long all kernels take together, in hundredths of [`Spec::copy_us`].
    pub kernel_percent: u64,
    /// How long the host's own work takes, in hundredths of [`Spec::copy_us`]; 0 where it has none.
    pub host_percent: u64,
    /// How much device memory there may be at one time, in hundredths of an array; none where it is
    /// no matter.
    pub memory_percent: Option<u64>,
    /// The arrays, which are all of one size. They are called by their place in this list.
    pub arrays: &'static [Array],
    /// Arrays that are nowhere as a whole: what is given in them is loaded piece by piece, and what
    /// is made in them gives way to the next piece.
    pub passing: &'static [u32],
    /// Parts of made arrays that come to the host as well.
    pub samples: &'static [Sample],
    /// Where two devices do the same on arrays of their own, what goes from one to the other.
    pub between: Option<Between>,
}

/// The exchange between two devices that do the same on arrays of their own.
#[derive(Debug, PartialEq, Eq)]
pub struct Between {
    /// The stage of the first device's kernels. All others are the second one's.
    pub first: Stage,
    /// How many arrays leave each device.
    pub arrays: u64,
}

impl Spec {
    /// A task of nothing: what most tasks have in common.
    pub(crate) const NOTHING: Self = Self {
        name: "",
        copy_us: 0,
        kernel_percent: 0,
        host_percent: 0,
        memory_percent: None,
        arrays: &[],
        passing: &[],
        samples: &[],
        between: None,
    };

    /// An array in host memory goes up, through a map, and down into another.
    const fn mapped(name: &'static str, copy_us: u64, kernel_percent: u64) -> Self {
        const ARRAYS: &[Array] = &[
            Array { side: Side::Host, contents: Contents::Given },
            Array { side: Side::Host, contents: Contents::Made { from: 0, stages: &[Stage::A] } },
        ];
        Self { name, copy_us, kernel_percent, arrays: ARRAYS, ..Self::NOTHING }
    }

    /// The same with no more device memory at one time than so many hundredths of an array.
    const fn within(self, memory_percent: u64) -> Self {
        Self { memory_percent: Some(memory_percent), ..self }
    }
}

/// A few elements of each piece of an array, which return to the host.
#[derive(Debug, PartialEq, Eq)]
pub struct Sample {
    /// The array.
    pub array: u32,
    /// How many pieces it is cut into.
    pub pieces: u64,
    /// First nominal element, counted from the start of the piece.
    pub first: u64,
    /// How many of each piece.
    pub length: Length,
}

/// How long a sample is.
#[derive(Debug, PartialEq, Eq)]
pub enum Length {
    /// So many nominal elements.
    Elements(u64),
    /// One element for so many of the piece.
    OneIn(u64),
}

/// Elements of an array that are in memory of their own when the measured region begins, or have to
/// be when it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The array.
    pub array: u32,
    /// On which side of the link.
    pub side: Side,
    /// Given at the beginning, or made by the end.
    pub role: Role,
    /// First element, as they are in memory.
    pub first: u64,
    /// How many.
    pub elements: u64,
}

/// Whether elements are given or made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// They are there before.
    Given,
    /// They are there after.
    Made,
}

/// The change that a launch makes to every element that it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The map.
    pub stage: Stage,
    /// How many rounds of it.
    pub rounds: u32,
}

/// An array of 32-bit words.
#[derive(Debug, PartialEq, Eq)]
pub struct Array {
    /// Where it is when the measured region begins, or has to be when it ends.
    pub side: Side,
    /// Its contents.
    pub contents: Contents,
}

/// Where the contents of an array come from.
#[derive(Debug, PartialEq, Eq)]
pub enum Contents {
    /// From the seed, before the region.
    Given,
    /// From another array, in the region.
    Made {
        /// Which is given.
        from: u32,
        /// The maps that it goes through, in order, each for all rounds.
        stages: &'static [Stage],
    },
    /// The same, by kernels of which some leave a part of the device empty.
    Branched {
        /// Which is given.
        from: u32,
        /// The maps that it goes through, in order, each for all rounds.
        stages: &'static [Stage],
        /// The stage whose kernels are small …
        branch: Stage,
        /// … and how small.
        small: Small,
    },
}

/// Kernels that leave a part of the device empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Small {
    /// Into how many parts they cut the array between them, each of the same size.
    pub branches: u32,
    /// On how many multiprocessors each of them runs.
    pub multiprocessors: u32,
}

impl Contents {
    /// The array that it is made from, and the maps in between; none where it is given.
    fn made(&self) -> Option<(u32, &'static [Stage])> {
        match self {
            Self::Given => None,
            Self::Made { from, stages } | Self::Branched { from, stages, .. } => {
                Some((*from, stages))
            }
        }
    }
}

/// A task for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    spec: &'static Spec,
    elements: u64,
    rounds: u32,
    host_ns: u64,
    scale: u32,
}

/// Elements are 32-bit words.
const ELEMENT: u64 = 4;

/// Arrays are a multiple of this many elements, so that they divide evenly into any power of two of
/// chunks up to 1024, at any scale up to 32.
const GRAIN: u64 = 1 << 20;

impl Task {
    /// The task of `spec` for a device of these speeds. One element in memory stands for `scale`.
    #[must_use]
    pub fn new(spec: &'static Spec, speeds: &Speeds, scale: u32) -> Self {
        let slower =
            speeds.host_to_device_bytes_per_us.min(speeds.device_to_host_bytes_per_us).max(1);
        let wanted = slower * spec.copy_us / ELEMENT;
        let nominal = ((wanted + GRAIN / 2) / GRAIN).max(1) * GRAIN;
        let copy_us = nominal * ELEMENT / slower;
        let maps = spec.maps().count().max(1) as u64;
        let rounds =
            speeds.map_units_per_us * copy_us * spec.kernel_percent / 100 / (nominal * maps);
        // An odd number of rounds keeps the order of two stages visible in the data (see `map`).
        let host_ns = copy_us * spec.host_percent * 10; // a hundredth of a µs is 10 ns
        let elements = nominal / u64::from(scale);
        Self { spec, elements, rounds: rounds as u32 | 1, host_ns, scale }
    }

    /// The task that the exercise with this name sets.
    #[must_use]
    pub fn find(name: &str, speeds: &Speeds, scale: u32) -> Option<Self> {
        let spec = TASKS.iter().find(|spec| spec.name == name)?;
        Some(Self::new(spec, speeds, scale))
    }

    /// The name of the exercise that sets it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.spec.name
    }

    /// Elements of each array, as they are in memory.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// How many nominal elements one in memory stands for.
    #[must_use]
    pub fn scale(&self) -> u32 {
        self.scale
    }

    /// Rounds of each map.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// The host's own work, in ns.
    #[must_use]
    pub fn host_ns(&self) -> u64 {
        self.host_ns
    }

    /// Nominal bytes that have to go from host to device, and from device to host.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        let array = self.elements * ELEMENT * u64::from(self.scale);
        let (up, down) = self.spec.crossings();
        (up * array, down * array)
    }

    /// The most device memory that there may be at one time, in nominal bytes; none where it is no
    /// matter.
    #[must_use]
    pub fn memory_bytes(&self) -> Option<u64> {
        let array = self.elements * ELEMENT * u64::from(self.scale);
        self.spec.memory_percent.map(|percent| array * percent / 100)
    }

    /// Nominal bytes that have to go from each of two devices to the other; 0 where the task has
    /// one.
    #[must_use]
    pub fn bytes_between(&self) -> u64 {
        let array = self.elements * ELEMENT * u64::from(self.scale);
        self.spec.between.as_ref().map_or(0, |it| it.arrays * array)
    }

    /// Whether the kernels of this name are the first device's. The second one has as much to do.
    #[must_use]
    pub fn is_on_the_first(&self, kernel: &str) -> bool {
        self.spec.between.as_ref().is_none_or(|it| it.first.name() == kernel)
    }

    /// Nominal element-rounds of each kernel, by its name.
    #[must_use]
    pub fn units(&self) -> Vec<(&'static str, u64)> {
        let once = self.elements * u64::from(self.scale) * u64::from(self.rounds);
        let times = |stage| self.spec.maps().filter(|&map| map == stage).count() as u64;
        let units = Stage::ALL.map(|stage| (stage.name(), times(stage) * once));
        units.into_iter().filter(|&(_, units)| units > 0).collect()
    }

    /// Kernels that leave a part of the device empty, by their names.
    #[must_use]
    pub fn small(&self) -> Vec<(&'static str, Small)> {
        let small = |array: &Array| match array.contents {
            Contents::Branched { branch, small, .. } => Some((branch.name(), small)),
            _ => None,
        };
        self.spec.arrays.iter().filter_map(small).collect()
    }

    /// The memory of a measured region of this task, array by array.
    #[must_use]
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (array, it) in (0..).zip(self.spec.arrays) {
            let role = if it.contents == Contents::Given { Role::Given } else { Role::Made };
            if !self.spec.passing.contains(&array) {
                parts.push(Part { array, side: it.side, role, first: 0, elements: self.elements });
            }
        }
        for sample in self.spec.samples {
            let piece = self.elements / sample.pieces;
            let scale = u64::from(self.scale);
            let elements = match sample.length {
                Length::Elements(nominal) => nominal / scale,
                Length::OneIn(share) => piece / share,
            };
            parts.extend((0..sample.pieces).map(|index| Part {
                array: sample.array,
                side: Side::Host,
                role: Role::Made,
                first: index * piece + sample.first / scale,
                elements,
            }));
        }
        parts
    }

    /// The array that an array's elements come from, and what each of them goes through on the way;
    /// an array that is given comes from itself.
    #[must_use]
    pub fn origin(&self, array: u32) -> Option<(u32, Vec<Pass>)> {
        let pass = |&stage: &Stage| Pass { stage, rounds: self.rounds };
        Some(match self.spec.arrays.get(array as usize)?.contents.made() {
            Some((from, stages)) => (from, stages.iter().map(pass).collect()),
            None => (array, Vec::new()),
        })
    }

    /// The arrays that the host is given, or loads.
    #[must_use]
    pub fn on_host(&self) -> Vec<u32> {
        let arrays = (0..).zip(self.spec.arrays);
        let given =
            arrays.filter(|(_, it)| it.side == Side::Host && it.contents == Contents::Given);
        given.map(|(array, _)| array).collect()
    }

    /// The time of the host's own work to load so many elements of an array, in ns; none for an
    /// array that is not loaded.
    #[must_use]
    pub fn loading_ns(&self, array: u32, elements: u64) -> Option<u64> {
        let is_given = self.spec.arrays.get(array as usize)?.contents == Contents::Given;
        let whole = u128::from(self.elements.max(1));
        let share = (u128::from(self.host_ns) * u128::from(elements)).div_ceil(whole);
        let is_loaded = is_given && self.spec.passing.contains(&array);
        is_loaded.then(|| u64::try_from(share).unwrap_or(u64::MAX))
    }

    /// The values that elements of a given array have after some passes, from `first` on.
    pub fn passed(&self, array: u32, seed: u64, first: u64, passes: &[Pass], elements: &mut [u32]) {
        self.input(array, seed, first, elements);
        let all = passes.iter().fold(Affine::IDENTITY, |map, pass| {
            map.then(map_constants(pass.stage).power(pass.rounds))
        });
        if all != Affine::IDENTITY {
            elements.iter_mut().for_each(|element| *element = all.apply(*element));
        }
    }

    /// Fills elements of a given array, from `first` on.
    pub fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let seed = seed.wrapping_add(u64::from(array)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (index, element) in (first..).zip(elements) {
            // One multiplication mixes enough: inputs have to differ, not to be random.
            let mixed = (index ^ seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
            *element = (mixed ^ (mixed >> 32)) as u32;
        }
    }

    /// The values that elements of an array must have at the end, from `first` on.
    pub fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let (from, passes) = self.origin(array).unwrap_or((array, Vec::new()));
        self.passed(from, seed, first, &passes, elements);
    }
}

impl Spec {
    /// Every map of a whole array.
    fn maps(&self) -> impl Iterator<Item = Stage> {
        self.arrays
            .iter()
            .filter_map(|array| array.contents.made())
            .flat_map(|(_, stages)| stages)
            .copied()
    }

    /// How many arrays have to cross the link, up and down.
    fn crossings(&self) -> (u64, u64) {
        let is_given =
            |from: u32| self.arrays.get(from as usize).is_some_and(|it| it.side == Side::Host);
        // An array that two others are made of has to go up once.
        let mut up = Vec::new();
        let mut down = 0;
        for array in self.arrays {
            if let Some((from, _)) = array.contents.made() {
                if is_given(from) && !up.contains(&from) {
                    up.push(from);
                }
                down += u64::from(array.side == Side::Host);
            }
        }
        (up.len() as u64, down)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Speeds = Speeds {
        host_to_device_bytes_per_us: 55_548,
        device_to_host_bytes_per_us: 55_352,
        map_units_per_us: 16_453_800,
    };

    #[test]
    fn the_size_follows_from_the_speeds_and_the_ratios_do_not() {
        for slower in [1, 2, 5, 20] {
            let speeds = Speeds {
                host_to_device_bytes_per_us: H200.host_to_device_bytes_per_us / slower,
                device_to_host_bytes_per_us: H200.device_to_host_bytes_per_us / slower,
                map_units_per_us: H200.map_units_per_us / slower,
            };
            let task = Task::new(&three_lanes::SPEC, &speeds, 1);
            let copy_us = task.bytes().1 as f64 / speeds.device_to_host_bytes_per_us as f64;
            let kernel_us = task.units()[0].1 as f64 / speeds.map_units_per_us as f64;
            assert!(
                (kernel_us / copy_us - 1.25).abs() < 0.01,
                "{slower}: {kernel_us} against {copy_us}"
            );
        }
    }

    #[test]
    fn the_scale_changes_what_is_in_memory_and_nothing_nominal() {
        let whole = Task::new(&chunked_pipeline::SPEC, &H200, 1);
        let scaled = Task::new(&chunked_pipeline::SPEC, &H200, 32);
        assert_eq!(whole.elements(), 32 * scaled.elements());
        assert_eq!((whole.bytes(), whole.units()), (scaled.bytes(), scaled.units()));
        assert!(scaled.elements() * 4 <= 16 << 20, "at most 16 MiB a buffer");
    }

    #[test]
    fn every_part_of_an_array_is_filled_as_if_the_whole_were() {
        let task = Task::new(&chunked_pipeline::SPEC, &H200, 32);
        let (mut whole, mut part) = (vec![0; 1000], vec![0; 100]);
        task.expected(chunked_pipeline::OUTPUT, 7, 0, &mut whole);
        task.expected(chunked_pipeline::OUTPUT, 7, 300, &mut part);
        assert_eq!(whole[300..400], part);
    }

    #[test]
    fn arrays_of_one_origin_are_stations_of_one_way() {
        // What an element has gone through is kept as a place on that way: see the simulator's `origins`.
        for spec in TASKS {
            let task = Task::new(spec, &H200, 32);
            let ways = (0..spec.arrays.len() as u32).filter_map(|array| task.origin(array));
            let ways: Vec<_> = ways.collect();
            for (from, way) in &ways {
                let mut others = ways.iter().filter(|(other, _)| other == from);
                assert!(
                    others.all(|(_, other)| other.starts_with(way) || way.starts_with(other)),
                    "{}",
                    spec.name
                );
            }
        }
    }

    #[test]
    fn every_array_is_in_memory_or_passes() {
        for spec in TASKS {
            let task = Task::new(spec, &H200, 32);
            for (array, it) in (0..).zip(spec.arrays) {
                let parts = task.parts();
                let whole = parts.iter().filter(|part| {
                    part.array == array && part.side == it.side && part.elements == task.elements()
                });
                let passes = usize::from(spec.passing.contains(&array));
                assert_eq!(whole.count() + passes, 1, "{}, {array}", spec.name);
            }
            for part in task.parts() {
                assert!(part.elements > 0, "{}", spec.name);
                assert!(part.first + part.elements <= task.elements(), "{}", spec.name);
            }
        }
    }

    #[test]
    fn loading_all_of_an_array_takes_all_of_the_hosts_work() {
        let task = Task::new(&prefetch::SPEC, &H200, 32);
        let (all, half) = (task.elements(), task.elements() / 2);
        assert_eq!(task.loading_ns(prefetch::INPUT, all), Some(task.host_ns()));
        assert_eq!(task.loading_ns(prefetch::INPUT, half), Some(task.host_ns().div_ceil(2)));
        assert_eq!(task.loading_ns(prefetch::OUTPUT, all), None);
        let session = Task::new(&first_launch::SPEC, &H200, 32);
        assert_eq!(session.loading_ns(first_launch::RESIDENT, all), None);
    }

    #[test]
    fn arrays_and_seeds_differ() {
        let task = Task::new(&three_lanes::SPEC, &H200, 32);
        let filled = |array, seed| {
            let mut elements = vec![0; 64];
            task.input(array, seed, 0, &mut elements);
            elements
        };
        assert_ne!(filled(0, 1), filled(2, 1));
        assert_ne!(filled(0, 1), filled(0, 2));
    }
}
