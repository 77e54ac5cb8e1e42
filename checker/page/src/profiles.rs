//! The devices: the profiles of the simulator, in the order in which the page offers them.

use std::collections::BTreeMap;

use simulator::Profile;
use simulator::profile::{Chip, Copies, Figure, Gaps, Host, Link, Rate};

/// A profile without texts, and the texts that it needs.
struct Compact {
    name: &'static str,
    device: &'static str,
    rates: &'static [(&'static str, Rate)],
    profile: Profile,
}

/// Written by `build.rs`.
static PROFILES: &[Compact] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// How many there are.
pub fn count() -> usize {
    PROFILES.len()
}

/// The short name of one, as it stands in addresses.
pub fn name(index: usize) -> &'static str {
    PROFILES[index].name
}

/// The device's own name.
pub fn device(index: usize) -> &'static str {
    PROFILES[index].device
}

/// The figures of one, without their sources.
pub fn profile(index: usize) -> Profile {
    let Compact { name, device, rates, profile } = &PROFILES[index];
    let mut profile = profile.clone();
    profile.name.push_str(name);
    profile.device.push_str(device);
    for (name, rate) in *rates {
        profile.rates.insert((*name).to_owned(), rate.clone());
    }
    profile
}
