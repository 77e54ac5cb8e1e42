//! The host's clock, and how another clock relates to it.

use std::time::Instant;

/// Nanoseconds since the driver was started, on the system's monotonic clock.
#[derive(Clone, Copy)]
pub(super) struct Clock(Instant);

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }

    /// Does nothing useful until then, as declared work of the host.
    pub(super) fn spin_until(&self, end: u64) {
        while self.now() < end {
            std::hint::spin_loop();
        }
    }
}

/// The time of another clock when ours shows 0, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset(i64);

/// Readings of the other clock, each between two of ours. More would take longer than they gain.
const READINGS: usize = 16;

impl Offset {
    /// Reads both clocks; none if the other has no time to give.
    pub(super) fn measure(clock: &Clock, mut other: impl FnMut() -> Option<u64>) -> Option<Self> {
        let mut readings = [(0, 0, 0); READINGS];
        for reading in &mut readings {
            let before = clock.now();
            *reading = (before, other()?, clock.now());
        }
        Self::tightest(&readings)
    }

    /// From readings of (ours, the other's, ours): the two that lie closest together say the most.
    fn tightest(readings: &[(u64, u64, u64)]) -> Option<Self> {
        let (before, other, after) =
            readings.iter().min_by_key(|(before, _, after)| after.saturating_sub(*before))?;
        let ours = before + after.saturating_sub(*before) / 2;
        Some(Self(other.wrapping_sub(ours) as i64))
    }

    /// Our time for the other's. What was before our start is at it.
    pub(super) fn ours(self, other: u64) -> u64 {
        u64::try_from((other as i64).saturating_sub(self.0)).unwrap_or(0)
    }

    /// How far apart two offsets are, in ns.
    pub(super) fn apart(self, other: Self) -> u64 {
        self.0.abs_diff(other.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reading_that_took_the_least_time_gives_the_offset() {
        let readings = [(100, 9_500, 900), (1_000, 6_010, 1_020), (2_000, 7_900, 2_400)];
        let offset = Offset::tightest(&readings).expect("there are readings");
        assert_eq!(offset, Offset(5_000));
        assert_eq!([4_000, 5_000, 6_010].map(|ns| offset.ours(ns)), [0, 0, 1_010]);
        assert_eq!(offset.apart(Offset(4_970)), 30);
    }

    #[test]
    fn times_since_1970_fit() {
        let now = 1_795_000_000_000_000_000;
        let offset = Offset::tightest(&[(50, now, 50)]).expect("there is a reading");
        assert_eq!(offset.ours(now + 7), 57);
    }

    #[test]
    fn without_readings_there_is_no_offset() {
        assert_eq!(Offset::tightest(&[]), None);
        assert_eq!(Offset::measure(&Clock::start(), || None), None);
    }
}
