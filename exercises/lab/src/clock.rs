//! The time, and declared host work.
//!
//! In a simulated run the wall clock means nothing: time passes by the calls that are made and by the
//! work that is declared.

use std::time::Duration;

use trace::lab::{Reply, Request};

use crate::{Result, driver};

/// An instant of the run's clock: virtual on the simulated device, real on a GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(u64);

impl Instant {
    /// Now.
    pub fn now() -> Result<Self> {
        match driver::ask(&Request::Clock)? {
            Reply::Clock { ns } => Ok(Self(ns)),
            _ => Ok(Self(0)),
        }
    }

    /// Nanoseconds since the run's clock began.
    pub(crate) fn ns(self) -> u64 {
        self.0
    }

    /// From this instant to now.
    pub fn elapsed(self) -> Result<Duration> {
        Ok(Duration::from_nanos(Self::now()?.0.saturating_sub(self.0)))
    }
}

/// Work of the host that takes this long: the clock moves on the simulated device, the host really
/// works on a GPU.
pub fn host_work(time: Duration) -> Result<()> {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    driver::ask(&Request::HostWork { ns }).map(drop)
}
