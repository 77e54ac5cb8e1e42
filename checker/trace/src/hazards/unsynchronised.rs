//! Device work that the host had not waited for when a measured region ended.
//!
//! Such a region may end while the device still works. If it does not, that is luck: the host
//! waited for another operation that took longer. So no times are used here either.
//!
//! As in all of [`hazards`](super), a copy to ordinary host memory is taken to have ended when the
//! call returns: the host may use what it brought.

use serde::Serialize;

use crate::program::{Call, Program, StreamId};

use super::model::CallAt;
use super::narrator::call;
use super::search::{Search, TooMuch};
use super::uses::stream;
use super::words;

/// The last operation of a stream, which is over at the end of a region by luck or not at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unsynchronised {
    /// The operation.
    pub last: CallAt,
    /// The stream that it is in.
    pub stream: StreamId,
    /// The host's last wait before the end of the region, if it made one after the region's begin.
    pub wait: Option<Wait>,
}

/// A call by which the host waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wait {
    /// The call.
    pub call: CallAt,
    /// The stream that it is for; none where it is for an event or for the context.
    pub stream: Option<StreamId>,
    /// The device that it is for, where it is for a context.
    pub device: Option<u32>,
}

/// Finds work that nothing had waited for at the end of the first measured region of which that can
/// be said, a stream each, in the order in which the operations were issued. Gives up as
/// [`find_within`](super::find_within) does.
pub fn unwaited_within(program: &Program, most: u64) -> Result<Vec<Unsynchronised>, TooMuch> {
    let mut search = Search::of_order();
    for (index, step) in (0u32..).zip(&program.steps) {
        search.make_within(index, step, most)?;
        if step.call != Call::RegionEnd {
            continue;
        }
        let steps = search.unfinished(step.thread);
        if steps.is_empty() {
            continue;
        }
        let wait = last_wait(program, index);
        let tell = |step: u32| {
            let operation = &program.steps[step as usize].call;
            let stream = match operation {
                Call::GraphLaunch { stream, .. } => Some(*stream),
                operation => stream(operation),
            }?;
            Some(Unsynchronised { last: call(program, step), stream, wait: wait.clone() })
        };
        return Ok(steps.into_iter().filter_map(tell).collect());
    }
    Ok(Vec::new())
}

/// The last call of a region before its end by which the host waits.
fn last_wait(program: &Program, end: u32) -> Option<Wait> {
    let before = (0..end).rev().map(|index| (index, &program.steps[index as usize]));
    let mut region = before.take_while(|(_, step)| step.call != Call::RegionBegin);
    region.find_map(|(index, step)| {
        let (stream, device) = match &step.call {
            Call::StreamSynchronize { stream } => (Some(*stream), None),
            Call::EventSynchronize { .. } => (None, None),
            Call::ContextSynchronize => (None, Some(step.device)),
            _ => return None,
        };
        (step.result == 0).then(|| Wait { call: call(program, index), stream, device })
    })
}

impl Unsynchronised {
    /// Says in one sentence what is wrong and what would put it right. `is_over` says whether the
    /// operation was over in this run.
    pub fn message(&self, is_over: bool) -> String {
        let Self { last, stream, wait } = self;
        let stream = words::named(*stream);
        let luck = match is_over {
            true => "it was over when the region ended, and nothing makes sure of that",
            false => "it was still at work when the region ended",
        };
        let wait = match wait {
            Some(Wait { call, stream: Some(other), .. }) if *other != self.stream => {
                let other = words::named(*other);
                format!("; the last wait, at {}, is for {other} alone", call.place())
            }
            Some(Wait { call, device: Some(device), .. }) if *device != self.stream.device() => {
                format!(
                    "; the last wait, at {}, is for the context of device {device} alone",
                    call.place()
                )
            }
            Some(Wait { call, .. }) if call.step < last.step => {
                format!("; the last wait, at {}, comes before it", call.place())
            }
            _ => String::new(),
        };
        format!(
            "nothing waits for {} in {stream} ({}): {luck}{wait}. Before the region ends, synchronise with {stream}, \
             with an event recorded after that operation, or with the whole context",
            last.what,
            last.place()
        )
    }
}
