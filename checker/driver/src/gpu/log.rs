//! The calls as they come, with their handles and addresses: all that is noted while the program
//! runs.

use std::hint::black_box;
use std::mem::MaybeUninit;

use simulator::machine::{
    Command, EventCommand, GraphCommand, MemoryCommand, ModuleCommand, StreamCommand, Touch,
    WorkCommand, code,
};
use trace::program::Call;

use crate::cuda::{CUresult, Handle};

/// Calls that the log has room for without asking for more memory, which would take time in a
/// region.
const ROOM: usize = 1 << 14;

/// A call, as it was made.
pub(super) enum Asked {
    /// A call to the driver.
    Command(Command),
    /// A call to the lab, which needs no names: declared host work, threads, messages.
    Lab(Call),
    /// An access of the host to its own memory, by address.
    HostAccess(Touch),
}

/// When a call was made and when it returned, in ns; nothing where the clock is not read.
#[derive(Clone, Copy, Default)]
pub(super) struct Times {
    /// When it reached this library; what lies between this and `start` is our own doing.
    pub(super) entered: u64,
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A call as it was made.
pub(super) struct Noted {
    pub(super) asked: Asked,
    /// The handle or address that it gave, if it gives one.
    pub(super) given: u64,
    pub(super) site: Option<u32>,
    pub(super) thread: u32,
    /// The device whose context was current.
    pub(super) device: u32,
    pub(super) times: Times,
    /// None while the call has not returned.
    pub(super) result: Option<CUresult>,
}

/// The calls since the log was last taken up.
pub(super) struct Log {
    pub(super) calls: Vec<Noted>,
    /// The number of the first of them, in the order of the whole run.
    pub(super) first: u64,
    streams: Vec<Handle>,
}

impl Log {
    pub(super) fn new() -> Self {
        let mut calls = Vec::with_capacity(ROOM);
        // The first touch of a page would cost the call that comes to it more than all the rest of
        // the noting. The compiler must not see that the values are never read.
        for place in black_box(&mut calls).spare_capacity_mut() {
            *place = MaybeUninit::zeroed();
        }
        Self { calls, first: 0, streams: Vec::new() }
    }

    /// Notes a call; its number, and whether the log should be taken up soon.
    pub(super) fn note(&mut self, noted: Noted) -> (u64, bool) {
        if let (Asked::Command(command), None | Some(code::SUCCESS)) = (&noted.asked, noted.result)
        {
            match command {
                Command::Stream(StreamCommand::Create { .. }) => self.streams.push(noted.given),
                Command::Stream(StreamCommand::Destroy { stream }) => {
                    self.streams.retain(|known| known != stream)
                }
                _ => {}
            }
        }
        self.calls.push(noted);
        let count = self.calls.len();
        (self.first + count as u64 - 1, count >= ROOM)
    }

    /// A call has returned.
    pub(super) fn returned(&mut self, number: u64, times: Times, result: CUresult) {
        // Taken up in the meantime, by another thread that began or ended a region: too late.
        let Some(index) = number.checked_sub(self.first) else { return };
        if let Some(noted) = self.calls.get_mut(index as usize) {
            (noted.times, noted.result) = (times, Some(result));
        }
    }

    /// Streams that the program made and has not destroyed.
    pub(super) fn streams(&self) -> &[Handle] {
        &self.streams
    }
}

/// Whether a command is noted: it takes time or orders something.
pub(super) fn is_noted(command: &Command) -> bool {
    !matches!(
        command,
        Command::Site(_)
            | Command::Lab(_)
            | Command::DeviceFacts
            | Command::Graph(GraphCommand::IsCapturing { .. } | GraphCommand::ExchangeMode { .. })
            | Command::Stream(StreamCommand::Facts { .. })
            | Command::Memory(
                MemoryCommand::Info | MemoryCommand::PoolFacts | MemoryCommand::PoolReset { .. }
            )
            | Command::Module(
                ModuleCommand::FunctionFacts { .. } | ModuleCommand::FunctionAllow { .. }
            )
    )
}

/// Whether a command gives a handle or an address.
///
/// Those are noted when they return, all others when they are made. So what was given out again
/// after its release by another thread is noted after the release.
pub(super) fn gives_a_name(command: &Command) -> bool {
    matches!(
        command,
        Command::Stream(StreamCommand::Create { .. })
            | Command::Event(EventCommand::Create { .. })
            | Command::Memory(
                MemoryCommand::Alloc { .. }
                    | MemoryCommand::AllocAsync { .. }
                    | MemoryCommand::AllocHost { .. }
            )
            | Command::Module(ModuleCommand::Load { .. } | ModuleCommand::FunctionGet { .. })
            | Command::Graph(GraphCommand::EndCapture { .. } | GraphCommand::Instantiate { .. })
    )
}

pub(super) fn takes_a_name(command: &Command) -> bool {
    matches!(
        command,
        Command::Stream(StreamCommand::Destroy { .. })
            | Command::Event(EventCommand::Destroy { .. })
            | Command::Memory(
                MemoryCommand::Free { .. }
                    | MemoryCommand::FreeAsync { .. }
                    | MemoryCommand::FreeHost { .. }
            )
            | Command::Module(ModuleCommand::Unload { .. })
    )
}

/// The stream of a command that gives the device something to do.
pub(super) fn stream_of_work(command: &Command) -> Option<Handle> {
    match command {
        Command::Work(
            WorkCommand::Copy { bytes: 0, .. } | WorkCommand::PeerCopy { bytes: 0, .. },
        ) => None,
        Command::Work(_) => command.stream(),
        _ => None,
    }
}
