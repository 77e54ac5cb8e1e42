//! A recorded program, simulated again for its times alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::mem::ManuallyDrop;
use std::sync::Arc;

use trace::program::{Call, Step};
use trace::validity::{self, Invalid, Validity};
use trace::{Program, Timeline};

use crate::device::{Device, Schedule};
use crate::profile::Profile;

/// Simulates what happens on the device of `profile` when a host makes the calls of `program`.
///
/// The program is played as it was recorded: calls that failed are left out, and a program that
/// branched on a query takes the branch that it took then.
///
/// # Panics
/// If the program is not valid ([`trace::validity`]), which what was recorded always is.
pub fn replay(program: &Program, profile: &Profile, schedule: Schedule) -> Timeline {
    replay_without(program, profile.clone(), schedule, |_| false)
}

/// The same for a program that was changed: none if it is not valid, with the first step at which
/// it is not. Where host threads come to their calls in another order than before, that counts.
pub fn replay_changed(
    program: &Program,
    profile: &Profile,
    schedule: Schedule,
) -> Result<Timeline, Invalid> {
    validity::check(program)?;
    play(program, profile.clone(), schedule, |_| false, Some(Validity::of(program)))
}

/// The same on a profile that need not be copied.
pub fn replay_on(program: &Program, profile: Arc<Profile>, schedule: Schedule) -> Timeline {
    replay_without(program, profile, schedule, |_| false)
}

/// The same, as if the host did not make some of the calls.
pub(crate) fn replay_without(
    program: &Program,
    profile: impl Into<Arc<Profile>>,
    schedule: Schedule,
    left_out: impl Fn(&Call) -> bool,
) -> Timeline {
    // Only where it is asked whether the program is valid, it can be found not to be.
    play(program, profile, schedule, left_out, None).unwrap_or_else(|_| unreachable!())
}

fn play(
    program: &Program,
    profile: impl Into<Arc<Profile>>,
    schedule: Schedule,
    left_out: impl Fn(&Call) -> bool,
    mut validity: Option<Validity>,
) -> Result<Timeline, Invalid> {
    // In a page all memory is free again with the next request, so the code that gives it back
    // piece by piece, some kB of it, may be left out.
    let mut device = ManuallyDrop::new(Device::new(profile, schedule));
    device.expect(program.steps.len());
    // A query's "not ready" is an answer, not a failure.
    const NOT_READY: u32 = 600;
    let counts =
        |step: &Step| (step.result == 0 || step.result == NOT_READY) && !left_out(&step.call);
    let mut steps = (0..).zip(&program.steps).filter(|(_, step)| counts(step));
    let mut ended = Ok(());
    let threads = if cfg!(feature = "threads") { spawned(program) } else { BTreeSet::new() };
    if !cfg!(feature = "threads") || threads.is_empty() {
        // One host thread, or several of which it is not known what made them wait for one another:
        // played in the order in which they made their calls.
        steps.for_each(|(index, step)| _ = device.call_on(step.device, index, &step.call, &mut ()));
    } else {
        let mut by_thread: BTreeMap<u32, VecDeque<(u32, &Step)>> = BTreeMap::new();
        for (index, step) in &mut steps {
            let thread = if threads.contains(&step.thread) { step.thread } else { 0 };
            by_thread.entry(thread).or_default().push_back((index, step));
        }
        while ended.is_ok()
            && let Some(thread) = device.turn(&mut ())
        {
            match by_thread.get_mut(&thread).and_then(VecDeque::pop_front) {
                Some((index, step)) => {
                    ended = validity.as_mut().map_or(Ok(()), |it| it.check(index, step));
                    if ended.is_ok() {
                        _ = device.call_on(step.device, index, &step.call, &mut ());
                    }
                }
                None => device.retire(),
            }
        }
    }
    if ended.is_ok() {
        device.run_to_idle(&mut ());
    }
    let timeline = device.take_timeline();
    if !cfg!(target_family = "wasm") {
        drop(ManuallyDrop::into_inner(device));
    }
    ended.map(|()| timeline)
}

/// The host threads that the program starts itself.
fn spawned(program: &Program) -> BTreeSet<u32> {
    let spawned = program.steps.iter().filter_map(|step| match step.call {
        Call::ThreadSpawn { thread } => Some(thread),
        _ => None,
    });
    spawned.collect()
}
