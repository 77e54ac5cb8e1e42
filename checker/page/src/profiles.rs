//! The devices: the profiles of the simulator, in the order in which the page offers them.

use simulator::Profile;
use simulator::profile::Rate;

/// A profile without the sources of its figures.
struct Compact {
    name: &'static str,
    device: &'static str,
    rates: &'static [&'static str],
    /// In the order of [`Profile::each_figure`].
    figures: &'static [u64],
}

/// Written by `build.rs`.
const PROFILES: &[Compact] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// How many there are.
pub const COUNT: usize = PROFILES.len();

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
    let Compact { name, device, rates, figures } = &PROFILES[index];
    let mut profile = Profile { name: (*name).into(), device: (*device).into(), ..Profile::default() };
    profile.rates.extend(rates.iter().map(|rate| ((*rate).to_owned(), Rate::default())));
    let mut figures = figures.iter();
    profile.each_figure(&mut |figure| figure.value = figures.next().copied().unwrap_or(0));
    profile
}
