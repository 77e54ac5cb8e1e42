//! Streams.

use serde::{Deserialize, Serialize};
use trace::program::{Call, StreamKind};

use super::family::Family;
use super::handles::Handles;
use super::library::Library;
use super::reply::{Failure, Reply, code};
use super::{Host, Machine};

/// `cuStream…`, each field as the driver's call has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each stands for the driver call of the same name, field by field")]
pub enum StreamCommand {
    Create {
        kind: StreamKind,
        priority: i32,
    },
    Destroy {
        stream: u64,
    },
    Synchronize {
        stream: u64,
    },
    Query {
        stream: u64,
    },
    /// `cuStreamWaitEvent`.
    Wait {
        stream: u64,
        event: u64,
    },
    /// `cuStreamGetFlags`, `cuStreamGetPriority`.
    Facts {
        stream: u64,
    },
}

impl Family for StreamCommand {
    fn reply(&self, machine: &mut Machine, _: &mut dyn Host) -> Result<Reply, Failure> {
        Ok(match self {
            Self::Create { .. } if machine.handles.has_no_streams_left() => {
                return Err(Failure::bare(code::OUT_OF_MEMORY));
            }
            Self::Create { .. } => machine.new_handle(),
            Self::Facts { stream } => {
                let (kind, priority) = machine.handles.stream_facts(*stream)?;
                Reply::Stream { kind, priority }
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
            Self::Create { kind, priority } => {
                let facts = (*kind, *priority);
                let stream = handles.streams.add(handles.current(), reply.number()?, facts);
                Call::StreamCreate { stream, kind: *kind, priority: *priority }
            }
            Self::Destroy { stream } => {
                Call::StreamDestroy { stream: handles.streams.remove(*stream)? }
            }
            Self::Synchronize { stream } => {
                Call::StreamSynchronize { stream: handles.stream(*stream)? }
            }
            Self::Query { stream } => Call::StreamQuery { stream: handles.stream(*stream)? },
            Self::Wait { stream, event } => Call::StreamWait {
                stream: handles.stream(*stream)?,
                event: handles.events.find(*event)?,
            },
            Self::Facts { .. } => return Ok(None),
        }))
    }

    fn stream(&self) -> Option<u64> {
        match self {
            Self::Destroy { stream }
            | Self::Synchronize { stream }
            | Self::Query { stream }
            | Self::Wait { stream, .. } => Some(*stream),
            Self::Create { .. } | Self::Facts { .. } => None,
        }
    }
}
