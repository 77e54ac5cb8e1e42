//! Events.

use serde::{Deserialize, Serialize};
use trace::program::{Call, Timing};

use super::family::Family;
use super::handles::Handles;
use super::library::Library;
use super::reply::{Failure, Reply, code};
use super::{Host, Machine};

/// `cuEvent…`, each field as the driver's call has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
pub enum EventCommand {
    Create { timing: Timing },
    Destroy { event: u64 },
    Record { event: u64, stream: u64 },
    Synchronize { event: u64 },
    Query { event: u64 },
    Elapsed { start: u64, end: u64 },
}

impl Family for EventCommand {
    fn reply(&self, machine: &mut Machine, _: &mut dyn Host) -> Result<Reply, Failure> {
        Ok(match self {
            Self::Create { .. } => machine.new_handle(),
            Self::Elapsed { start, end } => {
                check_timed(&machine.handles, [*start, *end])?;
                Reply::Done
            }
            _ => Reply::Done,
        })
    }

    fn call(
        &self,
        handles: &mut Handles,
        reply: &Reply,
        _: &dyn Library,
    ) -> Result<Option<Call>, Failure> {
        Ok(Some(match self {
            Self::Create { timing } => {
                let event = handles.events.add(0, reply.number()?, (*timing, false));
                handles.belongs(reply.number()?);
                Call::EventCreate { event, timing: *timing }
            }
            Self::Destroy { event } => Call::EventDestroy { event: handles.events.remove(*event)? },
            Self::Record { event, stream } => {
                let found = handles.events.find(*event)?;
                let stream = handles.stream(*stream)?;
                if let Some((_, (_, recorded))) = handles.events.entries.get_mut(event) {
                    *recorded = true;
                }
                Call::EventRecord { event: found, stream }
            }
            Self::Synchronize { event } => {
                Call::EventSynchronize { event: handles.events.find(*event)? }
            }
            Self::Query { event } => Call::EventQuery { event: handles.events.find(*event)? },
            Self::Elapsed { start, end } => Call::EventElapsed {
                start: handles.events.find(*start)?,
                end: handles.events.find(*end)?,
            },
        }))
    }

    fn stream(&self) -> Option<u64> {
        match self {
            Self::Record { stream, .. } => Some(*stream),
            _ => None,
        }
    }
}

/// Fails where the time between two events cannot be told.
fn check_timed(handles: &Handles, events: [u64; 2]) -> Result<(), Failure> {
    for event in events {
        let (timing, recorded) = *handles.events.facts(event)?;
        let why = match timing {
            Timing::Disabled => {
                "an event that is asked for a time was made without timing\n\
                 hint: it is made with timing by `Some(CUevent_flags::CU_EVENT_DEFAULT)` in the place of `None`"
            }
            Timing::Enabled if !recorded => {
                "an event that is asked for a time has never been recorded"
            }
            Timing::Enabled => continue,
        };
        return Err(Failure::because(code::INVALID_HANDLE, why.to_owned()));
    }
    Ok(())
}
