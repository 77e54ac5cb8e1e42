//! A recorded program, simulated again for its times alone.

use trace::{Program, Timeline};

use crate::device::{Device, Schedule};
use crate::profile::Profile;

/// What happens on the device of `profile` when a host makes the calls of `program`.
///
/// The program is played as it was recorded: calls that failed are left out, and a program that
/// branched on a query takes the branch that it took then.
pub fn replay(program: &Program, profile: &Profile, schedule: Schedule) -> Timeline {
    let mut device = Device::new(profile.clone(), schedule);
    for (index, step) in program.steps.iter().enumerate() {
        // A query's "not ready" is an answer, not a failure.
        const NOT_READY: u32 = 600;
        if step.result == 0 || step.result == NOT_READY {
            device.call(index as u32, &step.call, &mut ());
        }
    }
    device.run_to_idle(&mut ());
    device.into_timeline()
}
