//! One synchronisation that is left out, to see what it is good for.
//!
//! The call is answered with success, and neither the device nor the program hears of it: it is as
//! if the source had one line less. Synchronisations are the wait of a stream for an event and the
//! record of an event, in a capture too, and the host's synchronisation with a stream, an event or
//! the context. So are a query, which is answered as if all were over, and the host's wait for a
//! synchronous copy, which becomes the asynchronous one. Not among them are waits for an event that
//! was never recorded, which wait for nothing, and what orders host threads: without its message or
//! its thread's result a Rust program does not compile.

use trace::program::{Mode, Site};

use super::command::Command;
use super::contexts::ContextCommand;
use super::events::EventCommand;
use super::reply::Reply;
use super::streams::StreamCommand;
use super::work::WorkCommand;
use super::{Failure, Machine};

/// Which synchronisation is left out, and those that came, up to it.
pub(super) struct SkippedCall {
    index: usize,
    /// In words, in the order in which they came.
    came: Vec<String>,
}

impl SkippedCall {
    /// Says which synchronisation was left out, or which ones there are where none was.
    pub(super) fn note(&self) -> String {
        match self.came.get(self.index) {
            Some(what) => format!("left out: {what}"),
            None => format!("left out none of: {}", self.came.join("; ")),
        }
    }
}

impl Machine {
    /// Leaves out one synchronisation, counted from 0. The record then has a note that says which.
    /// Where there are not so many, the note names all of them.
    pub fn leave_out(&mut self, index: u32) {
        self.skipped_call = Some(SkippedCall { index: index as usize, came: Vec::new() });
    }

    /// Replaces a command, where it is the one to be left out: by the reply to it, or by another
    /// command.
    pub(super) fn without(
        &mut self,
        command: &Command,
        site: Option<u32>,
    ) -> Result<Instead, Failure> {
        let Some(SkippedCall { index, came }) = &mut self.skipped_call else {
            return Ok(Instead::Nothing);
        };
        if came.len() > *index {
            return Ok(Instead::Nothing);
        }
        let name = match command {
            Command::Stream(StreamCommand::Wait { event, .. })
            | Command::Event(EventCommand::Synchronize { event } | EventCommand::Query { event })
                if !self.graphs.is_captured(*event) && !self.handles.events.facts(*event)?.1 =>
            {
                return Ok(Instead::Nothing);
            }
            Command::Stream(StreamCommand::Wait { .. }) => "cuStreamWaitEvent",
            Command::Event(EventCommand::Record { .. }) => "cuEventRecord",
            Command::Stream(StreamCommand::Synchronize { .. }) => "cuStreamSynchronize",
            Command::Event(EventCommand::Synchronize { .. }) => "cuEventSynchronize",
            Command::Context(ContextCommand::Synchronize) => "cuCtxSynchronize",
            Command::Stream(StreamCommand::Query { .. }) => "cuStreamQuery",
            Command::Event(EventCommand::Query { .. }) => "cuEventQuery",
            Command::Work(WorkCommand::Copy { mode: Mode::Synchronous, .. }) => {
                "the wait of a synchronous copy"
            }
            _ => return Ok(Instead::Nothing),
        };
        let place = site.and_then(|site| self.program.sites.get(site as usize));
        let place = place.map_or("no line".to_owned(), Site::to_string);
        came.push(format!("{name} ({place})"));
        if came.len() <= *index {
            return Ok(Instead::Nothing);
        }
        let mut instead = command.clone();
        Ok(match &mut instead {
            Command::Work(WorkCommand::Copy { mode, .. }) => {
                *mode = Mode::Asynchronous;
                Instead::Command(instead)
            }
            _ => Instead::Reply(Reply::Done),
        })
    }
}

/// The replacement of a command.
pub(super) enum Instead {
    /// Nothing: it is carried out.
    Nothing,
    /// This answer.
    Reply(Reply),
    /// This command.
    Command(Command),
}
