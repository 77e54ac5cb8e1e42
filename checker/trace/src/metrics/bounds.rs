//! Where a makespan lies between doing everything in turn and the best that the device allows.

use serde::{Deserialize, Serialize};

/// The two ends of a task's scale: its work done in turn, and the floor under every schedule.
///
/// Both belong to the task and are measured or computed apart from the program that is judged, so
/// work added to a program can only make its makespan worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bounds {
    /// The task's work done one after the other, each operation alone, in ns.
    pub serial_ns: u64,
    /// The time under which no schedule comes, in ns.
    pub floor_ns: u64,
}

impl Bounds {
    /// `(serial - makespan) / (serial - floor)`: 0 for the serial time, 1 for the floor. Not
    /// clamped: slower than serial is negative, and above 1 either the bounds or the makespan are
    /// wrong. None where the serial time is not above the floor: such a task has nothing to
    /// overlap.
    pub fn overlap_efficiency(self, makespan_ns: u64) -> Option<f64> {
        let saved = self.serial_ns as f64 - makespan_ns as f64; // exact below 2^53 ns, 104 days
        self.savable_ns().map(|savable| saved / savable as f64)
    }

    /// `(serial - floor) / serial`: the share of the serial time that overlap can save. None where
    /// the serial time is not above the floor.
    pub fn headroom(self) -> Option<f64> {
        self.savable_ns().map(|savable| savable as f64 / self.serial_ns as f64)
    }

    fn savable_ns(self) -> Option<u64> {
        self.serial_ns.checked_sub(self.floor_ns).filter(|&savable| savable > 0)
    }
}
