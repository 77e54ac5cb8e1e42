//! A recorded program, simulated again for its times alone.

use trace::program::Call;
use trace::{Program, Timeline};

use crate::device::{Device, Schedule};
use crate::profile::Profile;

/// What happens on the device of `profile` when a host makes the calls of `program`.
///
/// The program is played as it was recorded: calls that failed are left out, and a program that
/// branched on a query takes the branch that it took then.
pub fn replay(program: &Program, profile: &Profile, schedule: Schedule) -> Timeline {
    replay_without(program, profile, schedule, |_| false)
}

/// The same, as if the host did not make some of the calls.
pub(crate) fn replay_without(
    program: &Program,
    profile: &Profile,
    schedule: Schedule,
    left_out: impl Fn(&Call) -> bool,
) -> Timeline {
    let mut device = Device::new(profile.clone(), schedule);
    for (index, step) in program.steps.iter().enumerate() {
        // A query's "not ready" is an answer, not a failure.
        const NOT_READY: u32 = 600;
        let made = step.result == 0 || step.result == NOT_READY;
        if made && !left_out(&step.call) {
            device.call(index as u32, &step.call, &mut ());
        }
    }
    device.run_to_idle(&mut ());
    device.into_timeline()
}
