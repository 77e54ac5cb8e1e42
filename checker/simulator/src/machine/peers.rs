//! Two devices: what belongs to which, and what one may do with what belongs to the other.
//!
//! The rules and their codes are those of two H200 (driver 580.159.04, 2026-11-27). A stream, an
//! event, a module and memory belong to the device whose context was current when they came to be.
//! Any thread may wait for any of them and give any stream work, whatever its own context; but an
//! event is recorded, and a kernel launched, in a stream of its own device alone.

use trace::program::{Range, StreamId};

use super::Machine;
use super::command::Command;
use super::events::EventCommand;
use super::handles::Address;
use super::reply::{Failure, code};
use super::work::WorkCommand;

impl Machine {
    /// Fails where a command mixes the two devices as none may.
    pub(super) fn check_devices(&self, command: &Command) -> Result<(), Failure> {
        if !self.handles.are_several() {
            return Ok(());
        }
        let foreign = |handle: u64, stream: u64| {
            let stream = self.handles.stream(stream);
            stream.is_ok_and(|stream| stream.device() != self.handles.device_of(handle))
        };
        let handle = |why: &str| Err(Failure::because(code::INVALID_HANDLE, why.to_owned()));
        let value = |why: &str| Err(Failure::because(code::INVALID_VALUE, why.to_owned()));
        match command {
            Command::Event(EventCommand::Record { event, stream })
                if self.handles.events.find(*event).is_ok() && foreign(*event, *stream) =>
            {
                handle(
                    "an event is recorded in a stream of another device than its own\n\
                     hint: record an event of the stream's device; streams of any device may wait for it",
                )
            }
            Command::Event(EventCommand::Elapsed { start, end })
                if self.handles.device_of(*start) != self.handles.device_of(*end) =>
            {
                handle("no time is measured between events of two devices")
            }
            Command::Work(WorkCommand::Launch { function, stream, .. })
                if self.handles.functions.find(*function).is_ok()
                    && foreign(*function, *stream) =>
            {
                handle(
                    "a kernel is launched in a stream of another device than its module is on\n\
                     hint: load the module once for each device, with its context",
                )
            }
            Command::Work(WorkCommand::Memset { stream, target, .. }) => {
                match self.far(*stream, Address::Device(*target)) {
                    Some((here, range)) if !self.device.may_use(here, &range) => value(
                        "a memset uses memory of the other device, to which this one has no access\n\
                         hint: ask for it in a stream of the device that has the memory",
                    ),
                    _ => Ok(()),
                }
            }
            Command::Work(WorkCommand::Copy { stream, source, target, .. }) => {
                let unknown = |end: &Address| {
                    self.far(*stream, *end).is_some_and(|(here, range)| {
                        self.device.is_of_pool(range.block) && !self.device.may_use(here, &range)
                    })
                };
                if [source, target].into_iter().any(unknown) {
                    return value(
                        "a copy uses memory of the other device's pool, to which this one has no access\n\
                         hint: use `cuMemcpyPeerAsync`, or let this device use that pool by `cuMemPoolSetAccess`",
                    );
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The device of a stream, and memory that is on the other one.
    fn far(&self, stream: u64, place: Address) -> Option<(u32, Range)> {
        let Address::Device(at) = place else { return None };
        let (stream, range): (StreamId, Range) =
            (self.handles.stream(stream).ok()?, self.handles.device.range(at, 1).ok()?);
        (range.block.device() != stream.device()).then_some((stream.device(), range))
    }

    /// Why a kernel cannot use memory, which is on the other device.
    pub(super) fn check_peer(&self, function: u64, range: &Range) -> Result<(), Failure> {
        let here = self.handles.device_of(function);
        if range.block.device() == here {
            return Ok(());
        }
        Err(if self.device.may_use(here, range) {
            let why = "a kernel uses memory of the other device, which no kernel can on the simulated device\n\
                       hint: copy it to this one first, by `cuMemcpyPeerAsync`";
            Failure::because(code::NOT_SUPPORTED, why.to_owned())
        } else {
            let why = "a kernel uses memory of the other device, to which this one has no access\n\
                       hint: copy it to this one first, by `cuMemcpyPeerAsync`";
            Failure::because(code::ILLEGAL_ADDRESS, why.to_owned())
        })
    }
}
