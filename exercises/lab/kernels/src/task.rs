//! Tasks: what an exercise sets out to do.
//!
//! A task fixes the ratios between its stages and how long they take; how many bytes and rounds that
//! is follows from the speeds of the device, so the lesson shows on any of them. It owns its inputs,
//! which follow from a seed, and knows its outputs.

use crate::map::{Stage, map_constants};

/// How fast a device is, as far as the size of a task depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speeds {
    /// From page-locked host memory to the device, in bytes per µs.
    pub host_to_device_bytes_per_us: u64,
    /// From the device to page-locked host memory, in bytes per µs.
    pub device_to_host_bytes_per_us: u64,
    /// Element-rounds of the map kernels on the whole device, per µs.
    pub map_units_per_us: u64,
}

/// The tasks, by the name of the exercise that sets them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One array is copied to the device, mapped, and copied back.
    ChunkedPipeline,
    /// Three arrays that have nothing to do with one another: one is copied to the device, one is
    /// copied from it, one is mapped where it is.
    ThreeLanes,
}

/// A task for one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    kind: Kind,
    elements: u64,
    rounds: u32,
    scale: u32,
}

/// What an output must be.
struct Expected {
    /// The input array that it is made of.
    from: u32,
    /// The stages that it goes through.
    stages: &'static [Stage],
}

/// Elements are 32-bit words.
const ELEMENT: u64 = 4;

/// How long the slower direction of the copies takes, in µs: long against the cost of any call, short
/// enough that a run in real time is over at once.
const COPY_US: u64 = 4800;

/// The kernels take this much longer than the copies, in hundredths. A little more than the copies
/// cost while both directions are at work, so that the kernels set the pace, and every lane matters.
const KERNEL_PERCENT: u64 = 125;

/// Arrays are a multiple of this many elements, so that they divide evenly into any power of two of
/// chunks up to 1024, at any scale up to 32.
const GRAIN: u64 = 1 << 20;

impl Task {
    /// The arrays of [`Kind::ChunkedPipeline`].
    pub const INPUT: u32 = 0;
    /// As [`Task::INPUT`].
    pub const OUTPUT: u32 = 1;

    /// The arrays of [`Kind::ThreeLanes`]: on the host, to be uploaded …
    pub const UPLOAD: u32 = 0;
    /// … and where it goes.
    pub const UPLOADED: u32 = 1;
    /// On the device, to be downloaded …
    pub const DOWNLOAD: u32 = 2;
    /// … and where it goes.
    pub const DOWNLOADED: u32 = 3;
    /// On the device, to be mapped in place: what it is before …
    pub const RESIDENT: u32 = 4;
    /// … and after.
    pub const MAPPED: u32 = 5;

    /// The task of this kind for a device of these speeds. One element in memory stands for `scale`.
    #[must_use]
    pub fn new(kind: Kind, speeds: &Speeds, scale: u32) -> Self {
        let slower =
            speeds.host_to_device_bytes_per_us.min(speeds.device_to_host_bytes_per_us).max(1);
        let wanted = slower * COPY_US / ELEMENT;
        let nominal = ((wanted + GRAIN / 2) / GRAIN).max(1) * GRAIN;
        let copy_us = nominal * ELEMENT / slower;
        let rounds = speeds.map_units_per_us * copy_us * KERNEL_PERCENT / 100 / nominal;
        // An odd number of rounds keeps the order of two stages visible in the data (see `map`).
        Self { kind, elements: nominal / u64::from(scale), rounds: rounds as u32 | 1, scale }
    }

    /// The task that the exercise with this name sets.
    #[must_use]
    pub fn find(name: &str, speeds: &Speeds, scale: u32) -> Option<Self> {
        let kind = match name {
            "chunked_pipeline" => Kind::ChunkedPipeline,
            "three_lanes" => Kind::ThreeLanes,
            _ => return None,
        };
        Some(Self::new(kind, speeds, scale))
    }

    /// The name of the exercise that sets it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.kind {
            Kind::ChunkedPipeline => "chunked_pipeline",
            Kind::ThreeLanes => "three_lanes",
        }
    }

    /// Elements of each array, as they are in memory.
    #[must_use]
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Rounds of the map.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Nominal bytes that go from host to device, and from device to host.
    #[must_use]
    pub fn bytes(&self) -> (u64, u64) {
        let bytes = self.elements * ELEMENT * u64::from(self.scale);
        (bytes, bytes)
    }

    /// Nominal element-rounds of each kernel, by its name.
    #[must_use]
    pub fn units(&self) -> Vec<(&'static str, u64)> {
        vec![(Stage::A.name(), self.elements * u64::from(self.scale) * u64::from(self.rounds))]
    }

    /// Fills elements of an input array, from `first` on.
    pub fn input(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let seed = seed.wrapping_add(u64::from(array)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for (index, element) in (first..).zip(elements) {
            // One multiplication mixes enough: inputs have to differ, not to be random.
            let mixed = (index ^ seed).wrapping_mul(0xd6e8_feb8_6659_fd93);
            *element = (mixed ^ (mixed >> 32)) as u32;
        }
    }

    /// What elements of an output array must be, from `first` on.
    pub fn expected(&self, array: u32, seed: u64, first: u64, elements: &mut [u32]) {
        let Expected { from, stages } = self.output(array);
        self.input(from, seed, first, elements);
        for &stage in stages {
            let map = map_constants(stage).power(self.rounds);
            for element in &mut *elements {
                *element = map.apply(*element);
            }
        }
    }

    fn output(&self, array: u32) -> Expected {
        match (self.kind, array) {
            (Kind::ChunkedPipeline, _) => Expected { from: Self::INPUT, stages: &[Stage::A] },
            (Kind::ThreeLanes, Self::UPLOADED) => Expected { from: Self::UPLOAD, stages: &[] },
            (Kind::ThreeLanes, Self::DOWNLOADED) => Expected { from: Self::DOWNLOAD, stages: &[] },
            (Kind::ThreeLanes, _) => Expected { from: Self::RESIDENT, stages: &[Stage::A] },
        }
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
            let task = Task::new(Kind::ThreeLanes, &speeds, 1);
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
        let whole = Task::new(Kind::ChunkedPipeline, &H200, 1);
        let scaled = Task::new(Kind::ChunkedPipeline, &H200, 32);
        assert_eq!(whole.elements(), 32 * scaled.elements());
        assert_eq!((whole.bytes(), whole.units()), (scaled.bytes(), scaled.units()));
        assert!(scaled.elements() * 4 <= 16 << 20, "at most 16 MiB a buffer");
    }

    #[test]
    fn every_part_of_an_array_is_filled_as_if_the_whole_were() {
        let task = Task::new(Kind::ChunkedPipeline, &H200, 32);
        let (mut whole, mut part) = (vec![0; 1000], vec![0; 100]);
        task.expected(Task::OUTPUT, 7, 0, &mut whole);
        task.expected(Task::OUTPUT, 7, 300, &mut part);
        assert_eq!(whole[300..400], part);
    }

    #[test]
    fn arrays_and_seeds_differ() {
        let task = Task::new(Kind::ThreeLanes, &H200, 32);
        let filled = |array, seed| {
            let mut elements = vec![0; 64];
            task.input(array, seed, 0, &mut elements);
            elements
        };
        assert_ne!(filled(0, 1), filled(2, 1));
        assert_ne!(filled(0, 1), filled(0, 2));
    }
}
