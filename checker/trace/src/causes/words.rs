//! The words of a cause.

use crate::draw::duration;
use crate::hazards::named;
use crate::program::StreamId;

use super::{Basis, Behind, Cause, Code};

impl Code {
    /// The symptom on the timeline: no line, no remedy.
    pub fn symptom(self) -> &'static str {
        match self {
            Self::PageableCopy => {
                "the host is held by copies while lanes with work to come are empty"
            }
            Self::DefaultStreamBarrier => {
                "streams stop before one operation and start again after it, all together"
            }
            Self::SharedStream => "operations that could run side by side take turns in one stream",
            Self::HostSynchronisation => {
                "the host waits in the middle, and lanes with work to come are empty meanwhile"
            }
            Self::DeviceWideWait => "every lane is empty before one call of the host returns",
            Self::IssueOrder => {
                "an engine works on many operations of one kind before the next lane can begin"
            }
            Self::TooFewChunks => "lanes stand empty at the beginning and at the end",
            Self::TooManyChunks => "operations do little for what each of them, or its call, costs",
            Self::FullDevice => "kernels of several streams take turns",
            Self::LaunchBound => "the device is empty while the host launches the next kernel",
            Self::NeedlessWait => {
                "a stream waits for another though its next operation could start"
            }
            Self::LateEvent => "a stream waits for another longer than its next operation needs",
            Self::SynchronousCall => "a call holds the host until the device has done its part",
            Self::FullQueue => "the host is held by a launch: the stream cannot take more",
            Self::AllocationInRegion => "the host allocates memory while lanes are empty",
            Self::IdleHostWork => "the host works while lanes with work to come are empty",
            Self::TakenQueue => {
                "work that waits for nothing starts together with work of other streams that waits"
            }
            Self::WaitingRequest => "requests are there, and the device goes on with other work",
            Self::RebuiltGraph => "the host builds graphs while lanes with work to come are empty",
            Self::StagedPeerCopy => {
                "a copy between devices takes long, and lanes with work to come are empty meanwhile"
            }
        }
    }

    /// A question about the program: no line, no remedy.
    pub fn question(self) -> &'static str {
        match self {
            Self::PageableCopy => {
                "for each copy: is its host memory pinned, and how long is the host in the call?"
            }
            Self::DefaultStreamBarrier => {
                "which operation is in the default stream, and which streams does it keep apart?"
            }
            Self::SharedStream => {
                "which operations share a stream, and does each of them need the one before it?"
            }
            Self::HostSynchronisation => {
                "where does the host wait, and which work could it have issued before that?"
            }
            Self::DeviceWideWait => {
                "which call waits for the whole device, and is it needed while work is queued?"
            }
            Self::IssueOrder => {
                "which operation could start first on the engine that is idle, and what was issued before it?"
            }
            Self::TooFewChunks => {
                "how long is each row empty at the beginning and at the end, and what decides that?"
            }
            Self::TooManyChunks => {
                "how many calls does the host make, what do they take together, and what is the lower bound?"
            }
            Self::FullDevice => {
                "which kernels run while another one waits, and what have they taken: blocks, or places for kernels?"
            }
            Self::LaunchBound => "which takes longer, a kernel or its launch?",
            Self::NeedlessWait => {
                "for each wait: what was written before the event that is read after the wait?"
            }
            Self::LateEvent => {
                "what runs between the operation that is needed and its event, or between the wait and the operation that \
                 needs it?"
            }
            Self::SynchronousCall => {
                "which call returns only when the device has done its part, and who needs that?"
            }
            Self::FullQueue => {
                "how many operations does one stream hold while the host waits for room in it, and which stream is empty?"
            }
            Self::AllocationInRegion => {
                "which memory is allocated while the clock runs, and what does the device do meanwhile?"
            }
            Self::IdleHostWork => "what has the device been asked to do while the host works?",
            Self::TakenQueue => {
                "how many streams wait for an event at one instant, and how many work queues are there for all streams?"
            }
            Self::WaitingRequest => {
                "what runs while a request waits, when does it leave room, and who is next then?"
            }
            Self::RebuiltGraph => {
                "how often is each graph built, and what differs from the last time?"
            }
            Self::StagedPeerCopy => {
                "how many bytes per second does a copy between devices move, and how many could the link?"
            }
        }
    }
}

impl Cause {
    /// The event in one line that names no place.
    pub fn headline(&self) -> String {
        let what = &self.at.what;
        let stream = match (self.stream.map(named), self.at.thread) {
            (Some(stream), Some(thread)) => format!("{stream} of host thread {thread}"),
            (Some(stream), None) => stream,
            (None, _) => "its stream".to_owned(),
        };
        let other = self.other.as_ref().map_or("other work", |other| other.what.as_str());
        match self.code {
            Code::PageableCopy => {
                format!("{what} in {stream} holds the host: its host memory is pageable")
            }
            Code::DefaultStreamBarrier => format!(
                "{what} in {} comes after all blocking streams, and they come after it",
                named(StreamId::LEGACY)
            ),
            Code::SharedStream => {
                format!("{what} waits for {other} in {stream} only because they share it")
            }
            Code::HostSynchronisation => {
                format!("{what} holds the host before it has asked for all its work")
            }
            Code::DeviceWideWait if self.is_the_call_itself() => {
                format!("{what} takes long, and lanes are empty until it returns")
            }
            Code::DeviceWideWait => format!("{what} waits until the whole device is idle"),
            Code::IssueOrder => format!(
                "{what} of {} chunks is asked for before {other} of any of them, so lanes start late",
                self.count
            ),
            Code::TooFewChunks => match self.count {
                1 => {
                    "the work is in one piece, and each step waits for the one before it".to_owned()
                }
                n => format!("{n} chunks are few: filling and draining the pipeline takes long"),
            },
            Code::TooManyChunks => {
                format!("{} chunks are many: what each call costs outweighs its work", self.count)
            }
            Code::FullDevice => match self.grids {
                Some(grids) => format!(
                    "{what} in {stream} is ready, and {grids} kernels run: the device takes no more at once"
                ),
                None => format!(
                    "{what} in {stream} is ready, and kernels of other streams leave it too little room"
                ),
            },
            Code::LaunchBound => format!("{what} is shorter than the call that launches it"),
            Code::NeedlessWait => format!("{stream} waits for an event that nothing in it needs"),
            Code::LateEvent => {
                format!("{stream} waits for an event that stands for more than it needs")
            }
            Code::SynchronousCall => {
                format!("{what} is a synchronous call and holds the host until it is done")
            }
            Code::FullQueue => format!("{what} finds {stream} full and waits until there is room"),
            Code::AllocationInRegion => format!("{what} allocates memory while the clock runs"),
            Code::IdleHostWork if self.other.is_some() => {
                "the host waits until the device is empty, and then works before it asks for more"
                    .to_owned()
            }
            Code::IdleHostWork => "the host works, and the device has run out of work".to_owned(),
            Code::TakenQueue => {
                format!(
                    "{what} waits in {stream} and takes a work queue, and {other} comes after it there"
                )
            }
            Code::WaitingRequest => match self.behind {
                Some(Behind::InItsStream) => {
                    format!("a request waits: {what} comes after {other} in {stream}")
                }
                Some(Behind::WhatRuns) => format!(
                    "a request waits: {what} has the higher priority, and the blocks of {other} stay until they end"
                ),
                _ => format!(
                    "a request waits: {what} has no higher priority than {other}, which fills the device"
                ),
            },
            Code::RebuiltGraph => {
                "a graph is built again, of the same calls on the same memory".to_owned()
            }
            Code::StagedPeerCopy => {
                format!("{what} goes through the host: neither device may use the other's memory")
            }
        }
    }

    /// Whether the call's own time counts, and not what it waited for.
    fn is_the_call_itself(&self) -> bool {
        self.blocked_ns < self.call_ns / 2
    }

    /// Whether the wait is made on the way by the very call that it delays: by a wrapper that
    /// tracks which stream uses which memory, and not by the author of the line.
    fn is_of_a_wrapper(&self) -> bool {
        let is_wait = matches!(self.code, Code::NeedlessWait | Code::LateEvent);
        let held_up = self.other.as_ref().and_then(|held_up| held_up.site.as_ref());
        is_wait && held_up.is_some() && held_up == self.at.site.as_ref()
    }

    /// The labels at the line, and at the other one where there is one.
    pub fn labels(&self) -> (String, Option<String>) {
        let times = match self.count {
            1 => String::new(),
            n => format!(", {n} times"),
        };
        let held = duration(self.blocked_ns);
        let own = match self.code {
            Code::PageableCopy | Code::HostSynchronisation | Code::SynchronousCall => {
                format!("holds the host for {held}{times}")
            }
            Code::DeviceWideWait if self.is_the_call_itself() => {
                format!("takes {} itself{times}", duration(self.call_ns - self.blocked_ns))
            }
            Code::DeviceWideWait | Code::FullQueue => format!("waits for {held}{times}"),
            Code::DefaultStreamBarrier => format!("a barrier for every blocking stream{times}"),
            Code::SharedStream => format!("waits for its turn{times}"),
            Code::IssueOrder => format!("asked for {} times first", self.count),
            Code::TooFewChunks | Code::TooManyChunks => format!("a chunk begins here{times}"),
            Code::FullDevice if self.grids.is_some() => {
                format!("waits until another kernel ends{times}")
            }
            Code::FullDevice => format!("finds too little room on the device{times}"),
            Code::LaunchBound => format!("launched here{times}"),
            Code::NeedlessWait | Code::LateEvent if self.is_of_a_wrapper() => {
                format!("cudarc's event tracking waits here{times}")
            }
            Code::NeedlessWait | Code::LateEvent => format!("waits here{times}"),
            Code::AllocationInRegion => format!("allocates here{times}"),
            Code::IdleHostWork => format!("works here{times}"),
            Code::TakenQueue => format!("takes a work queue while it waits{times}"),
            Code::WaitingRequest => format!("waits here{times}"),
            Code::RebuiltGraph => format!("built here{times}, without need"),
            Code::StagedPeerCopy => format!("goes through the host{times}"),
        };
        let other = self.other.as_ref().map(|_| {
            let other = match self.code {
                Code::DefaultStreamBarrier | Code::NeedlessWait | Code::LateEvent => "is held up",
                Code::SharedStream => "is in the same stream",
                Code::IssueOrder => "could have begun",
                Code::TakenQueue => "could have started",
                Code::WaitingRequest => "goes on meanwhile",
                Code::IdleHostWork => "leaves the device empty",
                _ => "belongs to it",
            };
            other.to_owned()
        });
        (own, other)
    }

    /// Its cost, and how that is known.
    pub fn note(&self) -> String {
        let cost = duration(self.cost_ns);
        match self.basis {
            Basis::Replayed => format!("without it the program would be {cost} faster"),
            Basis::Attributed if self.code == Code::PageableCopy => {
                format!("its calls took {cost}")
            }
            Basis::Attributed if self.code == Code::WaitingRequest => {
                format!("requests waited {cost} for it, all of them together")
            }
            Basis::Attributed => format!("lanes that had work to come lost up to {cost} by it"),
        }
    }

    /// The change to make.
    pub fn help(&self) -> String {
        let line = if self.is_fixed { self.at.what.clone() } else { self.at.place() };
        match self.code {
            Code::PageableCopy => format!(
                "use pinned host memory for {line}; the call then returns at once, so wait before \
                 the host touches that memory again"
            ),
            Code::DefaultStreamBarrier if self.is_fixed => {
                "make the blocking streams non-blocking ones; then order by events what needs each other's data"
                    .to_owned()
            }
            Code::DefaultStreamBarrier => format!(
                "give {line} a stream of its own, or make the blocking streams non-blocking ones; then order \
                 by events what needs each other's data"
            ),
            Code::SharedStream => format!(
                "give {line} another stream, and hand over by events where one step needs another"
            ),
            Code::HostSynchronisation => format!(
                "ask for all the work first and wait at the end; let streams wait for events \
                 instead of the host at {line}"
            ),
            Code::DeviceWideWait => match self.at.what.as_str() {
                "the module load" => {
                    format!("load the module before the work begins, not at {line}")
                }
                _ => format!("free the memory after the work, or in stream order, not at {line}"),
            },
            Code::IssueOrder => {
                "ask chunk by chunk: all steps of the first, then all of the second".to_owned()
            }
            Code::TooFewChunks => {
                "cut the work into more chunks, so that a step can begin with the first of them \
                 while another step works on the next"
                    .to_owned()
            }
            Code::TooManyChunks => "cut the work into fewer, larger chunks".to_owned(),
            Code::FullDevice if self.grids.is_some() => format!(
                "the limit counts kernels and not blocks: let one launch at {line} have the blocks of several"
            ),
            Code::FullDevice => {
                "leave room: launch the smaller grid first, or the larger one with fewer blocks, if that takes no \
                 longer; where each kernel needs the whole device, overlap kernels with copies instead"
                    .to_owned()
            }
            Code::LaunchBound => format!(
                "give each launch at {line} more work, or capture the launches once and launch \
                 them as one graph"
            ),
            Code::NeedlessWait | Code::LateEvent if self.is_of_a_wrapper() && self.is_fixed => {
                "tracking keeps its events for an allocation: give independent parts of this memory an allocation each"
                    .to_owned()
            }
            Code::NeedlessWait | Code::LateEvent if self.is_of_a_wrapper() => format!(
                "tracking keeps its events for an allocation: give independent parts of the memory at {line} \
                 an allocation each"
            ),
            Code::NeedlessWait => format!("drop the wait at {line}; no data is handed over by it"),
            Code::LateEvent => format!(
                "record the event right after the operation that is needed, and wait at {line} \
                 right before the one that needs it; where slots are used by turns, for the event of the \
                 same slot"
            ),
            Code::SynchronousCall => {
                format!("use the call with `Async` at {line}, in a stream of its own")
            }
            Code::FullQueue => format!(
                "ask for the work of the other streams before {line}, so that they run meanwhile"
            ),
            Code::AllocationInRegion => {
                let ordered = match self.at.what.as_str() {
                    "`cuMemAlloc`" => ", or allocate in stream order",
                    _ => "",
                };
                format!("allocate before the work begins, and use the memory again{ordered}, at {line}")
            }
            Code::IdleHostWork if let Some(wait) = &self.other => format!(
                "give the device its next work before {}, or do the work of {line} before that wait",
                if self.is_other_fixed { wait.what.clone() } else { wait.place() }
            ),
            Code::WaitingRequest => match self.behind {
                Some(Behind::InItsStream) => "give requests a stream of their own".to_owned(),
                Some(Behind::WhatRuns) => {
                    "let the other kernels have more and shorter blocks, so that there is room soon".to_owned()
                }
                _ => "give requests a stream of a higher priority than the other work has: a lower number"
                    .to_owned(),
            },
            Code::RebuiltGraph => {
                format!("keep the graph that {line} builds first, and launch it again")
            }
            Code::StagedPeerCopy => format!(
                "let one of the devices use the other's memory before the copies at {line}: \
                 `cuMemPoolSetAccess` for memory of a pool, `cuCtxEnablePeerAccess` for what `cuMemAlloc` gives"
            ),
            Code::TakenQueue => format!(
                "let fewer streams wait at {line}, with more work in each launch, or ask for what waits after \
                 everything that can start"
            ),
            Code::IdleHostWork => format!(
                "do the work of {line} while the device is busy: ask for the next operations first, \
                 or hand it to another thread"
            ),
        }
    }

    /// All of it, for one who sees no source: what happened, where, what it cost and what to do.
    pub fn message(&self) -> String {
        let (place, note, help) = (self.at.place(), self.note(), self.help());
        format!("{} ({place}): {note}; {help}", self.headline())
    }
}
