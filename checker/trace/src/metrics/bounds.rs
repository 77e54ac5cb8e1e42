//! Where a makespan lies between doing everything in turn and the best that the device allows, and
//! what share of it the host had for its own work. And how near the latency of requests came to
//! what it is on an idle device.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};

/// The two ends of a task's scale: its work done in turn, and the floor under every schedule.
///
/// Both belong to the task and are measured or computed apart from the program that is judged, so
/// work added to a program can only make its makespan worse. Where a task has work for the host,
/// the host counts as one more engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Bounds {
    /// The task's work done one after the other, each operation alone, in ns.
    pub serial_ns: u64,
    /// The time under which no schedule comes, in ns.
    pub floor_ns: u64,
    /// The task's own work on the host, in ns, which is in the other two. It is left out where
    /// there is none.
    #[serde(default)]
    pub host_ns: u64,
    /// Time of a request on an idle device, from its arrival to its answer, in ns. It is left out
    /// where the task has none.
    #[serde(default)]
    pub request_ns: u64,
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

    /// `1 - blocked / makespan`, where the host is blocked whenever it is not at the task's own
    /// work for it; so `host / makespan`. None for a task without such work.
    ///
    /// In an honest program blocked time is time in calls that wait for the device, and a little in
    /// other calls. But a program may wait without such a call: it can ask again and again whether
    /// a stream is done, or let the host do work that no task wants until it is. That frees no
    /// host, and all of it counts here: only a shorter makespan makes the number larger. What a
    /// trace shows of waiting ([`Metrics::host_blocked_ns`](super::Metrics::host_blocked_ns))
    /// explains it, and is never more than `makespan - host` where the host is one thread that did
    /// its work.
    pub fn host_freedom(self, makespan_ns: u64) -> Option<f64> {
        (self.host_ns > 0 && makespan_ns > 0).then(|| self.host_ns as f64 / makespan_ns as f64)
    }

    /// `alone / latency`, of the mean latency of the task's requests: 1 is an idle device's. None
    /// for a task without requests.
    pub fn latency_ratio(self, latency_ns: u64) -> Option<f64> {
        (self.request_ns > 0 && latency_ns > 0).then(|| self.request_ns as f64 / latency_ns as f64)
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

impl Serialize for Bounds {
    /// In text a field that says nothing is left out: most tasks have no work for the host and no
    /// requests, and what was kept of them before there was any reads the same. A form without
    /// names always has all fields.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_text = serializer.is_human_readable();
        let some = [("host_ns", self.host_ns), ("request_ns", self.request_ns)];
        let left_out = |ns: u64| is_text && ns == 0;
        let kept = some.iter().filter(|(_, ns)| !left_out(*ns)).count();
        let mut fields = serializer.serialize_struct("Bounds", 2 + kept)?;
        fields.serialize_field("serial_ns", &self.serial_ns)?;
        fields.serialize_field("floor_ns", &self.floor_ns)?;
        for (name, ns) in some {
            if left_out(ns) {
                fields.skip_field(name)?;
            } else {
                fields.serialize_field(name, &ns)?;
            }
        }
        fields.end()
    }
}
