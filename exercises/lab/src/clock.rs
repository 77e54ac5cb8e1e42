//! The time, and declared host work.
//!
//! In a simulated run the wall clock means nothing: time passes with the calls that are made and
//! with the work that is declared.

use std::sync::OnceLock;
use std::time::Duration;

use trace::env;
use trace::lab_protocol::{Reply, Request};

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
/// works on a GPU. All threads have one core for such work: what two of them declare at once takes
/// as long as if one of them had declared it all.
pub fn host_work(time: Duration) -> Result<()> {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    driver::ask(&Request::HostWork { ns, asking_ns: asking_ns() }).map(drop)
}

/// The time of a request to the driver library, in ns, where that takes time: on a GPU.
fn asking_ns() -> u64 {
    /// The least of so many is one that nothing disturbed.
    const TRIES: usize = 16;
    static ASKING: OnceLock<u64> = OnceLock::new();
    *ASKING.get_or_init(|| {
        if std::env::var(env::DEVICE).as_deref() != Ok(env::DEVICE_GPU) {
            return 0;
        }
        let ask = |_| {
            let began = std::time::Instant::now();
            driver::ask(&Request::Clock).ok()?;
            u64::try_from(began.elapsed().as_nanos()).ok()
        };
        (0..TRIES).filter_map(ask).min().unwrap_or(0)
    })
}
