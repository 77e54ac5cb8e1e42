//! The devices: the profiles of the simulator, in the order in which the page offers them.

use std::collections::BTreeMap;

use simulator::Profile;
#[cfg(not(target_arch = "wasm32"))]
use simulator::profile::Peers;
use simulator::profile::{Chip, Copies, Figure, FirstCalls, Gaps, Host, Link, Rate};

/// The texts of a profile that a page shows.
struct Named {
    name: &'static str,
    device: &'static str,
}

// Written by `build.rs`: `NAMED`, and `without_texts`, which makes the profile of each.
include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// How many there are.
pub fn count() -> usize {
    NAMED.len()
}

/// The short name of one, as it stands in addresses.
pub fn name(index: usize) -> &'static str {
    NAMED[index].name
}

/// The device's own name.
pub fn device(index: usize) -> &'static str {
    NAMED[index].device
}

/// The figures of one, without their sources.
pub fn profile(index: usize) -> Profile {
    let mut profile = without_texts(index);
    profile.name.push_str(name(index));
    profile.device.push_str(device(index));
    profile
}

/// How many multiprocessors each of them has: the invented ones differ in other figures.
pub fn multiprocessors() -> u32 {
    without_texts(0).chip.multiprocessors.value as u32
}
