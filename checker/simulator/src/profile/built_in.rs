//! Profiles that come with the simulator: two that were measured, and two that were invented for
//! teaching, because no device at hand shows what they show.
//!
//! A teaching profile is the H200's with a few figures changed, so that a new measurement reaches
//! it too. What was changed says that it is invented, and why.

use super::{Figure, Profile};

/// A profile with a name that `--profile` knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuiltIn {
    /// The NVIDIA H200, as measured.
    H200,
    /// The NVIDIA H100 80GB HBM3, as measured.
    H100,
    /// Invented: copies of both directions share one engine, as on many small GPUs. Then a pipeline
    /// that overlaps both directions on other devices has its copies take turns, and streams do not
    /// help.
    OneEngine,
    /// Invented: a link of four lanes of PCIe 3.0, as of a GPU in an external case. Then copies
    /// decide what everything takes, and page-locking memory gains little, since the host keeps up
    /// easily.
    SlowLink,
}

/// Four lanes of 985 MB/s (PCI Express Base Specification 3.0: 8 GT/s, 128b/130b). That copies get
/// 84 % of it is invented too: packets and pauses take the rest. In bytes per µs.
const SLOW_LINK_BYTES_PER_US: u64 = 3_300;

impl BuiltIn {
    /// All of them, the default first.
    pub const ALL: [Self; 4] = [Self::H200, Self::H100, Self::OneEngine, Self::SlowLink];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::H200 => "h200",
            Self::H100 => "h100",
            Self::OneEngine => "one_engine",
            Self::SlowLink => "slow_link",
        }
    }

    /// The one of this name.
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }

    /// The one that was measured on a device of this name.
    pub fn of_device(device: &str) -> Option<Self> {
        [(Self::H200, "NVIDIA H200"), (Self::H100, "NVIDIA H100 80GB HBM3")]
            .into_iter()
            .find_map(|(built_in, name)| (name == device).then_some(built_in))
    }

    /// The file of what was measured for it, for those who can read TOML.
    pub fn measured(self) -> &'static str {
        match self {
            Self::H100 => Profile::H100,
            Self::H200 | Self::OneEngine | Self::SlowLink => Profile::H200,
        }
    }

    /// The profile, from what the file of [`Self::measured`] holds.
    pub fn profile(self, measured: Profile) -> Profile {
        let mut profile = Profile { name: self.name().to_owned(), ..measured };
        match self {
            Self::H200 | Self::H100 => {}
            Self::OneEngine => {
                profile.device = "an invented H200 with one copy engine".to_owned();
                let one = |figure: &mut Figure| {
                    invent(figure, 1, "the directions take turns, so that they never overlap");
                };
                one(&mut profile.chip.async_engines);
                one(&mut profile.chip.copy_engines);
            }
            Self::SlowLink => {
                profile.device = "an invented H200 on four lanes of PCIe 3.0".to_owned();
                for link in [&mut profile.copies.host_to_device, &mut profile.copies.device_to_host]
                {
                    let figure = &mut link.pinned_bytes_per_us;
                    invent(figure, SLOW_LINK_BYTES_PER_US, "84 % of four lanes of PCIe 3.0");
                    // The host's own copy is faster, and waits for the link.
                    let pageable = &mut link.pageable_bytes_per_us;
                    if pageable.value > SLOW_LINK_BYTES_PER_US {
                        invent(pageable, SLOW_LINK_BYTES_PER_US, "the link holds up the host");
                    }
                }
            }
        }
        profile
    }
}

fn invent(figure: &mut Figure, value: u64, why: &str) {
    *figure = Figure { value, source: format!("invented: {why}") };
}
