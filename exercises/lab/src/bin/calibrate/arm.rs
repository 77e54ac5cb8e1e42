//! Which driver is loaded, and whose clock counts.

use std::time::{Duration, Instant};

use cudarc::driver::sys;
use trace::lab_protocol::Request;

/// An error is a message: nothing here acts on its kind.
pub(crate) type Outcome<T> = Result<T, String>;

/// Simulated runs move one byte for this many: the times are those of the whole, and a large copy
/// costs no time.
const SCALE: usize = 32;

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arm {
    /// The system's driver.
    Real,
    /// The system's driver, called through the driver library.
    Library,
    /// The simulated device.
    Simulated,
}

/// An instant of the clock that counts.
#[derive(Clone, Copy)]
pub(crate) enum Moment {
    Host(Instant),
    Lab(lab::Instant),
}

impl Arm {
    /// Loads the driver, before anything of cudarc's looks for one.
    pub(crate) fn load(name: &str) -> Outcome<Self> {
        let arm = match name {
            "real" => Self::Real,
            "library" => Self::Library,
            "simulated" => Self::Simulated,
            other => return Err(format!("`{other}` is none of `real`, `library` and `simulated`")),
        };
        if arm == Self::Real {
            // SAFETY: it only tries to load the library.
            return match unsafe { sys::is_culib_present() } {
                true => Ok(arm),
                false => Err("no CUDA driver was found".to_owned()),
            };
        }
        lab::driver::load().map_err(|error| error.to_string())?;
        Ok(arm)
    }

    /// After the context has been made, and before anything is allocated.
    pub(crate) fn prepare(self) -> Outcome<()> {
        match self {
            Self::Simulated => {
                let request = Request::Scale { scale: SCALE as u32 };
                lab::driver::ask(&request).map(drop).map_err(|error| error.to_string())
            }
            Self::Real | Self::Library => Ok(()),
        }
    }

    /// How many bytes or elements there are in memory for this many nominal ones.
    pub(crate) fn in_memory(self, nominal: usize) -> usize {
        match self {
            Self::Simulated => nominal / SCALE,
            Self::Real | Self::Library => nominal,
        }
    }

    /// How many nominal bytes or elements this many in memory stand for.
    pub(crate) fn nominal(self, in_memory: usize) -> usize {
        match self {
            Self::Simulated => in_memory * SCALE,
            Self::Real | Self::Library => in_memory,
        }
    }

    /// How often to measure where `times` tell the spread. The simulated device has none.
    pub(crate) fn repetitions(self, times: usize) -> usize {
        match self {
            Self::Simulated => 1,
            Self::Real | Self::Library => times,
        }
    }

    pub(crate) fn now(self) -> Outcome<Moment> {
        match self {
            Self::Real => Ok(Moment::Host(Instant::now())),
            Self::Library | Self::Simulated => {
                lab::Instant::now().map(Moment::Lab).map_err(|error| error.to_string())
            }
        }
    }

    /// Keeps the host busy.
    pub(crate) fn pause(self, ns: u64) -> Outcome<()> {
        let time = Duration::from_nanos(ns);
        match self {
            Self::Real => {
                let began = Instant::now();
                while began.elapsed() < time {
                    std::hint::spin_loop();
                }
                Ok(())
            }
            Self::Library | Self::Simulated => {
                lab::host_work(time).map_err(|error| error.to_string())
            }
        }
    }
}

impl Moment {
    /// From this moment to now, in ns.
    pub(crate) fn elapsed_ns(self) -> Outcome<i64> {
        let time = match self {
            Self::Host(instant) => instant.elapsed(),
            Self::Lab(instant) => instant.elapsed().map_err(|error| error.to_string())?,
        };
        i64::try_from(time.as_nanos()).map_err(|error| error.to_string())
    }
}
