//! Host threads of the student's process: which may call the driver, and whose turn it is.
//!
//! Inside a measured region, and wherever there are threads of `lab::thread`, one of them goes on
//! at a time, as the simulated device says. Threads that were started in another way have no clock
//! there: they are refused.

use std::cell::Cell;
use std::thread::ThreadId;

use simulator::machine::Turn;
use trace::lab_protocol::{Request, ThreadRequest};

/// Exit code of a program in which every host thread waits for another: as of one that panics.
pub(crate) const STUCK: i32 = 101;

/// The message to a thread that may not call.
pub(crate) const FOREIGN: &str = "a second host thread called the lab inside the measured region, or \
     beside threads of the lab\n\
     hint: start it with `lab::thread`";

thread_local! {
    /// The number of this thread, if the lab started it; 0 for all others.
    static NUMBER: Cell<u32> = const { Cell::new(0) };
}

/// The number of the calling thread.
pub(crate) fn number() -> u32 {
    NUMBER.get()
}

/// The calling thread was started by the lab, and is this one.
pub(crate) fn become_number(thread: u32) {
    NUMBER.set(thread);
}

/// The threads that may call.
pub(crate) struct Threads {
    pub(crate) turn: Turn,
    /// The first thread, where others are refused: it is in a measured region, or has started some.
    first: Option<ThreadId>,
    in_region: bool,
    /// Threads of the lab that have not ended.
    started: u32,
    ended: Vec<u32>,
}

impl Default for Threads {
    fn default() -> Self {
        Self { turn: Turn::Thread(0), first: None, in_region: false, started: 0, ended: Vec::new() }
    }
}

impl Threads {
    /// Whether the calling thread may call the driver now.
    pub(crate) fn may_call(&self) -> bool {
        number() > 0 || self.first.is_none_or(|first| first == std::thread::current().id())
    }

    /// Whether the thread of this number makes no more calls.
    pub(crate) fn has_ended(&self, thread: u32) -> bool {
        self.ended.contains(&thread)
    }

    /// A request is about to be made that may change who may call.
    pub(crate) fn follow(&mut self, request: &Request) {
        match request {
            Request::RegionBegin(_) => self.in_region = true,
            Request::RegionEnd => self.in_region = false,
            Request::Thread(ThreadRequest::Spawn) => self.started += 1,
            Request::Thread(ThreadRequest::Started { thread: Err(_) }) => self.started -= 1,
            Request::Thread(ThreadRequest::End) => {
                self.started -= 1;
                self.ended.push(number());
            }
            _ => return,
        }
        if !self.in_region && self.started == 0 {
            self.first = None;
        } else if number() == 0 {
            self.first = Some(std::thread::current().id());
        }
    }
}
