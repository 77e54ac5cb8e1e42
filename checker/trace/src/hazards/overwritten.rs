//! Events of a wrapper that keeps one for all reads of an allocation, as cudarc does: the next read
//! records it again, and then nothing stands for the read before.

use crate::program::{Call, EventId, Program};

use super::uses::stream;

/// The step that recorded again what a wrapper had recorded after `first`, before it made `second`
/// wait for it.
///
/// What a wrapper calls on the way is at the line of the operation: its waits right before, its
/// records right after.
pub(super) fn overwritten(program: &Program, first: u32, second: u32) -> Option<u32> {
    let steps = &program.steps;
    let (first, second) = (first as usize, second as usize);
    let (own, other) = (steps[first].site?, steps[second].site?);
    let before = steps[..second].iter().rev().take_while(|step| step.site == Some(other));
    let awaited: Vec<EventId> = before
        .filter_map(|step| match step.call {
            Call::StreamWait { event, .. } => Some(event),
            _ => None,
        })
        .collect();
    let after = steps[first + 1..].iter().take_while(|step| step.site == Some(own));
    let event = after
        .filter_map(|step| match step.call {
            Call::EventRecord { event, .. } => Some(event),
            _ => None,
        })
        .find(|event| awaited.contains(event))?;
    let (last, recorded_in) =
        (first + 1..second).rev().find_map(|index| match steps[index].call {
            Call::EventRecord { event: it, stream } if it == event => Some((index, stream)),
            _ => None,
        })?;
    (Some(recorded_in) != stream(&steps[first].call)).then_some(last as u32)
}
