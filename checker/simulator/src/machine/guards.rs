//! Which pinned memory copies in flight use, so that the host's own uses of it can be noticed.
//!
//! From the call that issues a copy until a documented order tells the host that it is over, the
//! whole pages of its range are guarded in the student's mapping. Where the copy reads they are
//! guarded against writes, where it writes against everything. When the copy really runs makes no
//! difference. Guards are cut so that the same copies use all of each; the pages at the edges of a
//! range that other bytes share are not guarded.
//!
//! In a measured region all other pages are watched too, for another reason: what the host itself
//! does to pinned memory takes it time there. The first use of each page since a copy last
//! used it is told, and lasts as long as a copy of that page by the host does.
//!
//! What lifts a guard is less than what orders the host: synchronising a stream lifts those of the
//! stream itself only. A use that was in order is noticed too then, and the hazard search says that
//! it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::program::{
    Access, AccessKind, Call, EventId, Extent, Mode, Range, StreamId, StreamKind,
};

use super::command::{Command, Touch};
use super::handles::Address;
use super::handles::PAGE;
use super::work::WorkCommand;
use super::{Host, Machine};

/// Accesses of one call that are kept account of: there is one for each page of a large block. It
/// bounds the memory that takes.
const MOST_ACCESSES: usize = 1 << 16;

/// So many pages by themselves may be used in a region without taking the host time: a word of the
/// results of each batch, looked at, is no copy.
const MOST_LONE_PAGES: usize = 64;

/// Access to some pages that the student's process still has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protection {
    /// Whatever it likes.
    Open,
    /// Whatever it likes, but the first read and the first write of each page are told by
    /// [`Command::HostUse`].
    Timed,
    /// Read.
    ReadOnly,
    /// Nothing.
    NoAccess,
}

/// Pages of pinned memory, and what the student's process may do to them from now on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guard {
    /// First byte, as [`Address::Pinned`] counts.
    pub offset: u64,
    /// Number of bytes.
    pub bytes: u64,
    /// The access that it has.
    pub protection: Protection,
}

/// Copies that have been issued and that the host does not know to be over.
pub(super) struct Guards {
    /// By first byte; no two overlap.
    spans: BTreeMap<u64, Span>,
    /// The stream and the step in which each event was last recorded.
    recorded: BTreeMap<EventId, (StreamId, u32)>,
    /// For each stream the last copy that writes pinned memory, whole pages or not.
    writing: BTreeMap<StreamId, u32>,
    /// There is one host thread: what it knows there is no other that does not.
    pub(super) alone: bool,
    /// Protection of pages that no copy in flight uses: open, or timed in a measured region.
    free: Protection,
}

impl Default for Guards {
    fn default() -> Self {
        Self {
            spans: BTreeMap::new(),
            recorded: BTreeMap::new(),
            writing: BTreeMap::new(),
            alone: true,
            free: Protection::Open,
        }
    }
}

#[derive(Clone)]
struct Span {
    end: u64,
    /// The last copy of each stream and kind.
    uses: BTreeMap<(StreamId, AccessKind), u32>,
}

impl Span {
    fn protection(&self, free: Protection) -> Protection {
        match self.uses.keys().map(|(_, kind)| *kind).max() {
            None => free,
            Some(AccessKind::Read) => Protection::ReadOnly,
            Some(AccessKind::Write) => Protection::NoAccess,
        }
    }
}

impl Guards {
    /// Whether some copy that writes pinned memory is not known to be over.
    pub(super) fn awaits_results(&self) -> bool {
        !self.writing.is_empty()
    }

    /// No span has `at` inside.
    fn split(&mut self, at: u64) {
        if let Some((_, span)) = self.spans.range_mut(..at).next_back()
            && span.end > at
        {
            let after = span.clone();
            span.end = at;
            self.spans.insert(at, after);
        }
    }

    fn add(
        &mut self,
        pages: (u64, u64),
        kind: AccessKind,
        stream: StreamId,
        step: u32,
        host: &mut dyn Host,
    ) {
        let (start, end) = pages;
        if start >= end {
            return;
        }
        self.split(start);
        self.split(end);
        let mut at = start;
        while at < end {
            let next = self.spans.range(at..).next().map_or(end, |(&from, _)| from.min(end));
            if at < next {
                self.spans.insert(at, Span { end: next, uses: BTreeMap::new() });
            }
            let span = self.spans.get_mut(&at).expect("there is one, or it has just been made");
            span.uses.insert((stream, kind), step);
            let protection = span.protection(self.free);
            host.guard(Guard { offset: at, bytes: span.end - at, protection });
            at = span.end;
        }
    }

    /// Lifts the guards of copies that are over.
    fn lift(&mut self, is_over: impl Fn(StreamId, u32) -> bool, host: &mut dyn Host) {
        self.writing.retain(|stream, step| !is_over(*stream, *step));
        let free = self.free;
        let mut open: Option<Guard> = None;
        self.spans.retain(|&start, span| {
            let before = span.protection(free);
            span.uses.retain(|(stream, _), step| !is_over(*stream, *step));
            let protection = span.protection(free);
            if protection == before {
                return true;
            }
            let guard = Guard { offset: start, bytes: span.end - start, protection };
            match &mut open {
                // Neighbours that are freed are freed at once.
                Some(last) if protection == free && last.offset + last.bytes == start => {
                    last.bytes += guard.bytes;
                }
                _ if protection == free => {
                    open.replace(guard).into_iter().for_each(|last| host.guard(last));
                }
                _ => host.guard(guard),
            }
            protection != free
        });
        open.into_iter().for_each(|last| host.guard(last));
    }
}

impl Machine {
    /// A call of the program has just been made, by `command` if it was one: guards the memory of
    /// the copy that it issued, and lifts the guards of those that it waited for.
    pub(super) fn guard(&mut self, command: Option<&Command>, host: &mut dyn Host) {
        let Some(made) = self.program.steps.last().filter(|made| made.result == 0) else { return };
        let step = self.program.steps.len() as u32 - 1;
        let kind_of = |stream: StreamId| match stream.is_legacy() || stream.is_per_thread() {
            true => Some(StreamKind::Blocking),
            false => self.handles.kind(stream),
        };
        let device = made.device;
        let guards = &mut self.guards;
        match &made.call {
            Call::Copy { stream, .. } => {
                let stream = *stream;
                if let Some(Command::Work(command)) = command {
                    self.guard_copy(command, stream, step, host);
                }
            }
            Call::GraphLaunch { graph, stream, .. } => {
                let (graph, stream) = (*graph, *stream);
                for command in self.graphs.commands_of(graph).to_vec() {
                    self.guard_copy(&command, stream, step, host);
                }
            }
            Call::EventRecord { event, stream } => {
                guards.recorded.insert(*event, (*stream, step));
            }
            Call::EventDestroy { event } => drop(guards.recorded.remove(event)),
            Call::RegionBegin => guards.lift(|_, _| true, host),
            _ if !guards.alone => {}
            Call::ContextSynchronize => {
                guards.lift(|stream: StreamId, _| stream.device() == device, host);
            }
            Call::StreamSynchronize { stream } | Call::StreamQuery { stream } => {
                let legacy = stream.is_legacy();
                let is_over = |of: StreamId, _| {
                    let is_before =
                        || of.legacy() == *stream && kind_of(of) == Some(StreamKind::Blocking);
                    of == *stream || legacy && is_before()
                };
                guards.lift(is_over, host);
            }
            Call::EventSynchronize { event } | Call::EventQuery { event } => {
                if let Some(&(stream, recorded)) = guards.recorded.get(event) {
                    guards.lift(|of, step| of == stream && step < recorded, host);
                }
            }
            _ => {}
        }
    }

    /// Guards the pages of pinned memory that a copy uses by itself after the call.
    fn guard_copy(
        &mut self,
        command: &WorkCommand,
        stream: StreamId,
        step: u32,
        host: &mut dyn Host,
    ) {
        let (WorkCommand::Copy { mode, source, target, bytes, .. }
        | WorkCommand::PeerCopy { mode, source, target, bytes, .. }) = command
        else {
            return;
        };
        if *mode != Mode::Asynchronous {
            return;
        }
        // Between two places of the host, the copy is over when the call returns.
        if !matches!((source, target), (Address::Device(_), _) | (_, Address::Device(_))) {
            return;
        }
        if let Address::Pinned(_) = target {
            self.guards.writing.insert(stream, step);
        }
        for (address, kind) in [(source, AccessKind::Read), (target, AccessKind::Write)] {
            if let Address::Pinned(offset) = address
                && let Some(pages) = self.handles.pinned.whole_pages(*offset, *bytes)
            {
                self.guards.add(pages, kind, stream, step, host);
            }
        }
    }

    /// Pinned memory goes: its pages are free for other blocks.
    pub(super) fn unguard_block(&mut self, offset: u64, host: &mut dyn Host) {
        let Ok(bytes) = self.handles.pinned.size(offset) else { return };
        let (start, end) = (offset, (offset + bytes).next_multiple_of(PAGE));
        let gone: Vec<u64> = self.guards.spans.range(start..end).map(|(&from, _)| from).collect();
        if gone.is_empty() {
            return;
        }
        gone.iter().for_each(|from| drop(self.guards.spans.remove(from)));
        host.guard(Guard { offset: start, bytes: end - start, protection: self.guards.free });
    }

    /// A measured region begins or has ended: from now on pages that no copy uses are under `free`.
    pub(super) fn free_pages_are(&mut self, free: Protection, host: &mut dyn Host) {
        let before = std::mem::replace(&mut self.guards.free, free);
        if before == free {
            return;
        }
        let blocks: Vec<_> = self.handles.pinned.spans().collect();
        for (start, bytes) in blocks {
            self.free_block(start, bytes, host);
        }
    }

    /// Pages of a block that no copy uses are under what free pages are under.
    pub(super) fn free_block(&mut self, start: u64, bytes: u64, host: &mut dyn Host) {
        let protection = self.guards.free;
        let end = (start + bytes).next_multiple_of(PAGE);
        let mut at = start;
        let used = self.guards.spans.range(..end).filter(|(_, span)| span.end > start);
        let used: Vec<_> = used.map(|(&from, span)| (from, span.end)).collect();
        for (from, to) in used.into_iter().chain([(end, end)]) {
            if at < from {
                host.guard(Guard { offset: at, bytes: from - at, protection });
            }
            at = at.max(to);
        }
    }

    /// The host itself used pinned memory in a measured region, which takes it as long as a copy
    /// does. It took the host of an H200 27 ms to copy 256 MiB between any two kinds of memory, 27
    /// ms to fill them with one byte, and 46 ms to add them up (2026-11-27). So what it reads and
    /// what it writes are one copy. A page by itself takes none, since it may be one word of it,
    /// for as long as there are few of those.
    pub(super) fn host_use(&mut self, touches: &[Touch], site: Option<u32>, host: &mut dyn Host) {
        let Some(open) = &mut self.open_region else { return };
        let lone = touches.iter().filter(|it| it.bytes <= PAGE).count();
        open.lone_pages = open.lone_pages.saturating_add(lone);
        // A copy that is cut into pages, with a call after each, is a copy.
        let least = if open.lone_pages > MOST_LONE_PAGES { 0 } else { PAGE };
        let ranges = |kind| -> Vec<Range> {
            let touches = touches.iter().filter(|it| it.bytes > least && it.kind == kind);
            touches.flat_map(|it| self.handles.pinned_within(it.offset, it.bytes)).collect()
        };
        let [read, written] = [AccessKind::Read, AccessKind::Write].map(ranges);
        let bytes = |ranges: &[Range]| -> u64 { ranges.iter().map(|range| range.bytes).sum() };
        let ns = self.copying_ns(bytes(&read).max(bytes(&written)));
        let target = written.into_iter().max_by_key(|range| range.bytes);
        if ns > 0 && !self.is_too_long(ns) {
            self.make(Call::HostWork { ns, target }, site, host);
        }
    }

    /// Uses of pinned memory, as the program names them.
    fn accesses(&mut self, touches: &[Touch]) -> Vec<Access> {
        let mut accesses = Vec::new();
        for touch in touches {
            for range in self.handles.pinned_within(touch.offset, touch.bytes) {
                accesses.push(Access { kind: touch.kind, range });
            }
            if accesses.len() > MOST_ACCESSES {
                break;
            }
        }
        self.left_behind += size_of_val(accesses.as_slice()) as u64;
        accesses
    }

    /// The host itself used pinned memory that copies use.
    pub(super) fn host_access(
        &mut self,
        touches: &[Touch],
        site: Option<u32>,
        host: &mut dyn Host,
    ) {
        let accesses = self.accesses(touches);
        if !accesses.is_empty() {
            self.make(Call::HostAccess { accesses, extent: Extent::Part }, site, host);
        }
    }

    /// The host writes memory, as it says itself: noted where copies in flight use it, unless it
    /// has just been noticed.
    pub(super) fn notice_write(
        &mut self,
        address: Address,
        bytes: u64,
        site: Option<u32>,
        host: &mut dyn Host,
    ) {
        let Address::Pinned(offset) = address else { return };
        let end = offset.saturating_add(bytes);
        let before = self.guards.spans.range(..=offset).next_back();
        let from = before.filter(|(_, span)| span.end > offset).map_or(offset, |(&from, _)| from);
        let used = self.guards.spans.range(from..end).map(|(&from, span)| Touch {
            offset: from,
            bytes: span.end - from,
            kind: AccessKind::Write,
        });
        let accesses = self.accesses(&used.collect::<Vec<_>>());
        let noticed = match self.program.steps.last().map(|step| &step.call) {
            Some(Call::HostAccess { accesses, .. }) => accesses.as_slice(),
            _ => &[],
        };
        if !accesses.iter().all(|access| noticed.contains(access)) {
            self.make(Call::HostAccess { accesses, extent: Extent::Part }, site, host);
        }
    }

    /// Host functions have run: notes down what they used, at the calls that issued them.
    pub(super) fn note_touched(&mut self) {
        for ((step, node), touches) in std::mem::take(&mut self.touched) {
            let accesses = self.accesses(&touches);
            let index = step as usize;
            let call = match &self.program.steps[index].call {
                Call::GraphLaunch { graph, .. } => self.graphs.node(*graph, node),
                _ => None,
            };
            let call = match call {
                Some((made, node)) => match &mut self.program.steps[made as usize].call {
                    Call::GraphCreate { nodes, .. } => &mut nodes[node].call,
                    other => other,
                },
                None => &mut self.program.steps[index].call,
            };
            if let Call::HostFunction { accesses: known, .. } = call {
                for access in accesses {
                    if !known.contains(&access) {
                        known.push(access);
                    }
                }
            }
        }
    }
}
