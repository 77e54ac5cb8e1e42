//! A job that keeps the device busy, and requests that arrive meanwhile. The job takes an array
//! through a map, time and again; a request is a small part of another array, which goes up,
//! through another map, and down again.

use super::{Array, Contents, Spec};
use crate::recipe::Side;
use crate::map::Stage;

/// The name of the exercise.
pub const NAME: &str = "priorities";

/// How often the job's map goes over all of its array.
pub const STEPS: usize = 32;
/// The input of the job …
pub const FRESH: u32 = 0;
/// … and what it makes.
pub const WORKED: u32 = 1;
/// The data of all requests, one after the other …
pub const QUESTIONS: u32 = 2;
/// … and what they are answered with.
pub const ANSWERS: u32 = 3;

/// The arrays of the requests have the numbers from here on.
pub const REQUESTS_FROM: u32 = QUESTIONS;

/// The job.
pub static SPEC: Spec = Spec {
    name: NAME,
    // Blocks of the smallest size, four words for each thread, are short only if there are many
    // words. With 16 million of them, which take 1200 µs across a link of PCIe 5, a step of 375 µs
    // can have 15 waves of blocks.
    copy_us: 1200,
    kernel_percent: 1000,
    arrays: &[
        Array { side: Side::Device, contents: Contents::Given },
        Array {
            side: Side::Device,
            contents: Contents::Made { from: FRESH, stages: &[Stage::A; STEPS] },
        },
    ],
    ..Spec::NOTHING
};

/// All requests together.
pub static REQUESTS: Spec = Spec {
    name: "requests",
    // The smallest array that there is: a request is a sixteenth of it, 64 blocks.
    copy_us: 76,
    // So a block of a request takes about 20 µs on a multiprocessor of its own.
    kernel_percent: 66,
    arrays: &[
        Array { side: Side::Host, contents: Contents::Given },
        Array { side: Side::Host, contents: Contents::Made { from: 0, stages: &[Stage::B] } },
    ],
    ..Spec::NOTHING
};

/// Blocks of a request's kernel: with so many, each thread has four words.
pub const REQUEST_BLOCKS: u32 = 64;

/// When requests arrive, in µs from the beginning: the job takes about 12 ms on any device, since
/// it is sized by its speed. Some arrive early in a step of the job, some late.
pub const ARRIVALS_US: [u64; 16] = [
    430, 1120, 1790, 2610, 3170, 3940, 4520, 5380, 6050, 6770, 7260, 8130, 8690, 9520, 10_180,
    10_930,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Speeds, Task};

    #[test]
    fn requests_arrive_one_after_the_other_while_the_job_is_at_work() {
        assert!(ARRIVALS_US.is_sorted_by(|before, after| before + 100 < *after));
        let job_us = SPEC.copy_us * SPEC.kernel_percent / 100;
        assert!(ARRIVALS_US.iter().all(|us| *us < job_us * 95 / 100));
    }

    #[test]
    fn a_request_is_a_whole_number_of_blocks_at_any_scale() {
        let speeds = Speeds {
            host_to_device_bytes_per_us: 55_000,
            device_to_host_bytes_per_us: 55_000,
            map_units_per_us: 20_000_000,
        };
        for scale in [1, 32] {
            let words = Task::new(&REQUESTS, &speeds, scale).elements();
            assert_eq!(words * u64::from(scale), 1 << 20);
            assert_eq!(words % ARRIVALS_US.len() as u64, 0);
            let of_a_thread = (1 << 20) / ARRIVALS_US.len() as u32 / REQUEST_BLOCKS / 256;
            assert_eq!(of_a_thread, 4);
        }
    }
}
