//! One device's run, as the analyses take it, wherever it came from.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::program::{Call, EventId, Mode, Place, StreamId};
use crate::{Program, Timeline};

/// The name of a call that stands for code of the host's own.
pub const HOST_WORK: &str = "host work";

/// The step of a span whose call is not known.
pub const NO_STEP: u32 = u32::MAX;

/// A timeline, and what is known of the calls that issued its work.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The operations, by where and when they ran. A step is an index into [`calls`](Self::calls).
    pub timeline: Timeline,
    /// The calls, in the order in which they were made.
    pub calls: Vec<Called<'a>>,
    /// Waits of streams for events of others, as far as they are recorded.
    pub waits: Vec<Wait>,
}

/// A call of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Called<'a> {
    /// The function that was called: `cudaMemcpyAsync`.
    pub name: &'a str,
    /// The thread that made it, numbered from 0.
    pub thread: u32,
    /// Why it may have blocked the host.
    pub holding: Option<Holding>,
    /// The line of the source that it came from.
    pub line: Option<&'a str>,
}

/// A stream waited for what an event of another stood for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The stream that waited.
    pub stream: StreamId,
    /// The call that issued it.
    pub step: u32,
    /// The stream that the event was recorded in.
    pub source: StreamId,
    /// The call that recorded it.
    pub record: u32,
}

/// Why a call holds the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Holding {
    /// It waits for work of the device.
    Wait,
    /// It copies pageable memory: through a staging buffer, while the host stands by.
    PageableCopy,
    /// It frees memory, which takes until the device has done the work that was issued before.
    Free,
    /// It obtains memory, which takes long.
    Allocation,
    /// It loads code.
    Load,
    /// It issues work while the stream's queue is full, or waits for another reason of its own.
    Other,
}

impl Holding {
    /// Why a call of that name blocks the host; `pageable` says that it issued a copy of pageable
    /// memory.
    pub fn of(name: &str, pageable: bool) -> Option<Self> {
        // `cudaMemcpyAsync`, `cuMemcpyHtoDAsync_v2`, `cudaFree_ptsz` and so on.
        // AMD's are called alike.
        let name = ["cuda", "cu", "hip"].iter().find_map(|prefix| name.strip_prefix(prefix));
        let name = name.or(if pageable { Some("") } else { None })?;
        let name = name.split('_').next().unwrap_or(name);
        let asynchronous = name.ends_with("Async");
        Some(match name {
            _ if pageable => Self::PageableCopy,
            _ if name.ends_with("Synchronize") => Self::Wait,
            _ if asynchronous => return None,
            _ if name.starts_with("Memcpy") => Self::Wait,
            "Free" | "FreeHost" | "HostFree" | "FreeArray" | "MemFree" | "MemFreeHost"
            | "HostUnregister" | "MemHostUnregister" => Self::Free,
            "Malloc" | "MallocHost" | "HostMalloc" | "MallocManaged" | "HostAlloc"
            | "HostRegister" | "MallocPitch" | "MemAlloc" | "MemAllocHost" | "MemHostAlloc"
            | "MemHostRegister" => Self::Allocation,
            "ModuleLoad"
            | "ModuleLoadData"
            | "ModuleLoadDataEx"
            | "LibraryLoadData"
            | "LibraryLoadFromFile"
            | "ModuleUnload" => Self::Load,
            _ => return None,
        })
    }

    /// Whether the host is blocked until the device is done, and not only busy.
    pub fn waits(self) -> bool {
        matches!(self, Self::Wait | Self::PageableCopy | Self::Free)
    }

    /// Its words: one or two.
    pub fn label(self) -> &'static str {
        match self {
            Self::Wait => "waits for the device",
            Self::PageableCopy => "copies pageable memory",
            Self::Free => "frees memory",
            Self::Allocation => "obtains memory",
            Self::Load => "loads code",
            Self::Other => "finds a queue full",
        }
    }
}

impl<'a> Observed<'a> {
    /// A timeline of ours alone.
    pub fn of_timeline(timeline: Timeline) -> Self {
        Self { timeline, calls: Vec::new(), waits: Vec::new() }
    }

    /// A timeline of ours with the program it belongs to; `lines` are its sites in words.
    pub fn of_program(timeline: Timeline, program: &Program, lines: &'a [String]) -> Self {
        let mut calls = Vec::with_capacity(program.steps.len());
        let mut waits = Vec::new();
        let mut recorded: BTreeMap<EventId, (StreamId, u32)> = BTreeMap::new();
        for (index, step) in (0..).zip(&program.steps) {
            match step.call {
                Call::EventRecord { event, stream } => {
                    recorded.insert(event, (stream, index));
                }
                Call::StreamWait { stream, event } => {
                    let wait = |&(source, record)| Wait { stream, step: index, source, record };
                    waits.extend(recorded.get(&event).map(wait));
                }
                _ => {}
            }
            let name = name(&step.call);
            calls.push(Called {
                name,
                thread: step.thread,
                holding: Holding::of(name, is_pageable(&step.call)),
                line: step.site.and_then(|site| lines.get(site as usize)).map(String::as_str),
            });
        }
        Self { timeline, calls, waits }
    }

    /// The call that a step stands for.
    pub fn call(&self, step: u32) -> Option<Called<'a>> {
        self.calls.get(step as usize).copied()
    }
}

/// The function of the driver that a call is.
fn name(call: &Call) -> &'static str {
    match call {
        Call::StreamSynchronize { .. } => "cuStreamSynchronize",
        Call::EventSynchronize { .. } => "cuEventSynchronize",
        Call::ContextSynchronize => "cuCtxSynchronize",
        Call::Alloc { .. } => "cuMemAlloc",
        Call::AllocHost { .. } => "cuMemHostAlloc",
        Call::Free { .. } => "cuMemFree",
        Call::FreeHost { .. } => "cuMemFreeHost",
        Call::Copy { mode: Mode::Asynchronous, .. } => "cuMemcpyAsync",
        Call::Copy { mode: Mode::Synchronous, .. } => "cuMemcpy",
        Call::Memset { .. } => "cuMemset",
        Call::ModuleLoad => "cuModuleLoad",
        Call::ModuleUnload => "cuModuleUnload",
        Call::Launch(_) => "cuLaunchKernel",
        Call::GraphLaunch { .. } => "cuGraphLaunch",
        Call::HostFunction { .. } => "cuLaunchHostFunc",
        Call::HostWork { .. } => HOST_WORK,
        Call::Arrival { .. } => "wait for a request",
        // None of the others holds the host for long.
        _ => "other calls",
    }
}

fn is_pageable(call: &Call) -> bool {
    matches!(
        call,
        Call::Copy { source: Place::Pageable, .. } | Call::Copy { target: Place::Pageable, .. }
    )
}
