//! A program of the small language, simulated.

use std::sync::Arc;

use simulator::profile::{Figure, Rate};
use simulator::{Profile, Schedule, replay_on};
use trace::Timeline;
use trace::hazards::{self, Hazard};

use crate::language::{Compiled, Mistake, TIME, compile};
use crate::profiles;

/// The most effort of a search for races, in the unit of [`hazards::MOST_EFFORT`]: a page does it
/// while the reader types.
const MOST_EFFORT: u64 = hazards::MOST_EFFORT / 40;

/// A text, simulated.
pub struct Run {
    /// The program that it stands for.
    pub compiled: Compiled,
    /// The timeline of the device.
    pub timeline: Timeline,
}

impl Run {
    /// Simulates `text` on the device that it names.
    pub fn new(text: &str) -> Result<Self, Vec<Mistake>> {
        let compiled = compile(text)?;
        let profile = Arc::new(profile(compiled.device));
        let timeline = replay_on(&compiled.program, profile, Schedule::Exact);
        Ok(Self { compiled, timeline })
    }

    /// Its races; none where looking for them would take too long.
    pub fn races(&self) -> Option<Vec<Hazard>> {
        hazards::find_alone(&self.compiled.program, MOST_EFFORT).ok()
    }
}

/// A device that also has kernels which are given by their time.
pub fn profile(device: usize) -> Profile {
    let mut profile = profiles::profile(device);
    let figure = |value| Figure { value, source: String::new() };
    let rate = Rate {
        // A unit is a nanosecond of a multiprocessor, and a block has one to itself.
        units_per_us_warp: figure(1000),
        units_per_us_multiprocessor: figure(1000),
        fixed_ns: figure(0),
        block_ns: figure(0),
        wait_ns: figure(0),
    };
    profile.rates.insert(TIME.to_owned(), rate);
    profile
}
