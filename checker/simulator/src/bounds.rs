//! What a task's work takes alone: the two ends of the scale on which overlap is measured.

use trace::Program;
use trace::metrics::Bounds;
use trace::program::{Call, Direction};
use trace::timeline::SpanKind;

use crate::device::Schedule;
use crate::profile::{NoSuchRate, Profile};
use crate::replay::replay_without;

/// The work of a task, engine by engine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWork {
    /// Nominal bytes from host to device.
    pub host_to_device_bytes: u64,
    /// Nominal bytes from device to host.
    pub device_to_host_bytes: u64,
    /// Work of kernels: the name of the rate and the units.
    pub kernels: Vec<(String, u64)>,
}

/// S and floor of a task on a device: each engine's work at full speed, one engine after the other
/// (S), and the longest of them (floor). Neither holds a fixed cost of an operation, since how many
/// operations there are is the student's choice; so no schedule is shorter than the floor.
pub fn bounds(work: &TaskWork, profile: &Profile) -> Result<Bounds, NoSuchRate> {
    let link_ns = |bytes: u64, bytes_per_us: u64| bytes * 1000 / bytes_per_us;
    let copies = &profile.copies;
    let up = link_ns(work.host_to_device_bytes, copies.host_to_device.pinned_bytes_per_us.value);
    let down = link_ns(work.device_to_host_bytes, copies.device_to_host.pinned_bytes_per_us.value);
    let mut kernels = 0;
    for (rate, units) in &work.kernels {
        let per_us = profile.rate(rate)?.units_per_us_multiprocessor.value
            * profile.chip.multiprocessors.value;
        kernels += (u128::from(*units) * 1000 / u128::from(per_us)) as u64;
    }
    let longest = if profile.chip.copy_engines.value >= 2 { up.max(down) } else { up + down };
    Ok(Bounds { serial_ns: up + kernels + down, floor_ns: kernels.max(longest) })
}

/// S and floor of what a program asks for, where no task says what it should: the kernels take what they
/// take when no copies are made, simulated again; copies take what their bytes take from page-locked memory.
pub fn bounds_of_program(program: &Program, profile: &Profile) -> Result<Bounds, NoSuchRate> {
    let mut work = TaskWork::default();
    for step in &program.steps {
        let Call::Copy { bytes, .. } = step.call else { continue };
        match step.call.direction() {
            Some(Direction::HostToDevice) => work.host_to_device_bytes += bytes,
            Some(Direction::DeviceToHost) => work.device_to_host_bytes += bytes,
            _ => {}
        }
    }
    let copy = |call: &Call| matches!(call, Call::Copy { .. });
    let alone = replay_without(program, profile, Schedule::Exact, copy);
    let ends = alone.spans.iter().filter(|span| span.kind == SpanKind::Kernel);
    let kernels_ns = ends.map(|span| span.end_ns).max().unwrap_or(0);
    let kernels_ns = kernels_ns.saturating_sub(alone.extent().start_ns);
    let copies = bounds(&work, profile)?;
    Ok(Bounds {
        serial_ns: copies.serial_ns + kernels_ns,
        floor_ns: copies.floor_ns.max(kernels_ns),
    })
}
