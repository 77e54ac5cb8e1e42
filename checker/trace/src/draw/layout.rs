//! Which bar goes into which row of which lane.

use crate::draw::flaws::{Findings, Flaw, Place, flaws};
use crate::draw::scale::{Tick, duration, ticks};
use crate::draw::{Lanes, Mark, Panel};
use crate::hazards::CallAt;
use crate::metrics::Coverage;
use crate::program::{Call, DEVICES, EventId, StreamId};
use crate::timeline::{HostMemory, Interval, Span, in_order};
use crate::{Program, Timeline};

/// The most rows of a stream or an engine: so many grids run at once on a device. Bars beside more
/// than these go into the last one.
const MOST_ROWS: usize = 128;

/// Bars above which a drawing no longer tells them apart. More could not be walked through with a
/// keyboard, and a page of them would be slow.
pub const MOST_SINGLE_BARS: usize = 400;

/// Arrows above which a chart shows none: they would hide what they explain.
const MOST_ARROWS: usize = 40;

/// Charts on one axis, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout {
    /// Length of the axis in ns: that of the longest chart.
    pub axis_ns: u64,
    /// Its ticks.
    pub ticks: Vec<Tick>,
    /// One for each panel, from the top.
    pub charts: Vec<Chart>,
}

/// One timeline.
#[derive(Clone, Debug, PartialEq)]
pub struct Chart {
    /// The title above it.
    pub title: String,
    /// Its length in ns.
    pub makespan_ns: u64,
    /// Its lanes, the host's first: one, or one for each of its threads.
    pub lanes: Vec<Lane>,
    /// From recorded events to the work that waited for them.
    pub arrows: Vec<Arrow>,
    /// Flaws, where they show.
    pub flaws: Vec<Flaw>,
}

/// One lane.
#[derive(Clone, Debug, PartialEq)]
pub struct Lane {
    /// The label before it.
    pub label: String,
    /// How long anything in it lasted, in ns; none for the host, which is never idle.
    pub busy_ns: Option<u64>,
    /// Its rows: more than one where bars overlap. In a row, bars are ordered by their start.
    pub rows: Vec<Vec<Bar>>,
}

/// One bar. Times count from the start of the axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The kind of its work.
    pub mark: Mark,
    /// Where it starts, in ns.
    pub start_ns: u64,
    /// Where it ends, in ns.
    pub end_ns: u64,
    /// The kernel's name; empty for others.
    pub name: String,
    /// Further facts about it, for a tooltip; empty where there are too many bars for that.
    pub note: String,
    /// The call that it comes from, as an index into the program's steps.
    pub step: u32,
    /// The place in the source of that call, as an index into the program's sites.
    pub site: Option<u32>,
}

/// An arrow from one end of work to another start of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrow {
    /// The last work that the event stands for.
    pub from: Anchor,
    /// The first work that waited for it.
    pub to: Anchor,
}

/// One end of an arrow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Index into [`Chart::lanes`].
    pub lane: usize,
    /// Index into [`Lane::rows`].
    pub row: usize,
    /// Where on the axis, in ns.
    pub at_ns: u64,
}

impl Layout {
    /// Lays out `panels` from the top on one axis, in lanes by stream or by engine.
    pub fn new(panels: &[Panel<'_>], lanes: Lanes) -> Self {
        Self::with_findings(panels, lanes, &[])
    }

    /// The same with what is wrong in each, as far as `findings` go.
    pub fn with_findings(panels: &[Panel<'_>], lanes: Lanes, findings: &[Findings<'_>]) -> Self {
        let none = Findings::default();
        let findings = findings.iter().chain(std::iter::repeat(&none));
        let bars: usize =
            panels.iter().map(|p| p.timeline.spans.len() + p.timeline.host.len()).sum();
        let notes = bars <= MOST_SINGLE_BARS;
        let charts: Vec<Chart> = panels
            .iter()
            .zip(findings)
            .map(|(panel, findings)| chart(panel, lanes, notes, findings))
            .collect();
        let axis_ns = charts.iter().map(|c| c.makespan_ns).max().unwrap_or(0).max(1);
        Self { axis_ns, ticks: ticks(axis_ns), charts }
    }

    /// The marks that occur in it, in the order of legends.
    pub fn marks(&self) -> Vec<Mark> {
        let occurs = |mark| self.bars().any(|bar| bar.mark == mark);
        Mark::ALL.into_iter().filter(|&mark| occurs(mark)).collect()
    }

    /// All bars.
    pub fn bars(&self) -> impl Iterator<Item = &Bar> {
        self.charts.iter().flat_map(|c| &c.lanes).flat_map(|l| &l.rows).flatten()
    }
}

/// The spans of each lane with its label, in the order of drawing. Each host thread has its own
/// per-thread stream.
pub(super) fn lanes_of<'a>(
    timeline: &'a Timeline,
    program: Option<&Program>,
    lanes: Lanes,
) -> Vec<(String, Vec<&'a Span>)> {
    let owner = |span: &Span| owner(program, span.stream, span.step);
    let owners = timeline.spans.iter().filter(|span| span.stream.is_per_thread());
    let several = owners.clone().map(owner).max() != owners.map(owner).min();
    let mut groups: Vec<((u32, u32), String, Vec<&Span>)> = Vec::new();
    for span in &timeline.spans {
        let place = match lanes {
            Lanes::Streams => (span.stream.0, owner(span)),
            Lanes::Engines => (engine(span.kind.into()).0, span.stream.device()),
        };
        let group = groups.binary_search_by_key(&place, |group| group.0).unwrap_or_else(|index| {
            let label = match lanes {
                Lanes::Streams if several && span.stream.is_per_thread() => {
                    format!("per-thread, host {}{}", owner(span), on_device(span.stream))
                }
                Lanes::Streams => {
                    let number = StreamId(span.stream.number());
                    format!("{number}{}", on_device(span.stream))
                }
                Lanes::Engines => {
                    format!("{}{}", engine(span.kind.into()).1, on_device(span.stream))
                }
            };
            groups.insert(index, (place, label, Vec::new()));
            index
        });
        groups[group].2.push(span);
    }
    let ordered = |spans| in_order(spans, |span: &&Span| (span.start_ns, span.step));
    groups.into_iter().map(|(_, label, spans)| (label, ordered(spans))).collect()
}

/// The words after a stream of another device than the first.
fn on_device(stream: StreamId) -> &'static str {
    if stream.device() > 0 { ", dev 1" } else { "" }
}

/// The host thread that a step's per-thread stream belongs to; 0 for every other stream.
fn owner(program: Option<&Program>, stream: StreamId, step: u32) -> u32 {
    let program = program.filter(|_| stream.is_per_thread());
    program.and_then(|program| program.steps.get(step as usize)).map_or(0, |step| step.thread)
}

/// Place and label of the engine that does such work.
fn engine(mark: Mark) -> (u32, &'static str) {
    match mark {
        Mark::HostToDevice => (0, "to device"),
        Mark::Kernel => (1, "kernels"),
        Mark::DeviceToHost => (2, "to host"),
        Mark::DeviceToDevice | Mark::Memset => (3, "in device"),
        Mark::PeerToPeer => (4, "to peer"),
        Mark::HostToHost | Mark::HostFunction | Mark::HostWork | Mark::Call | Mark::Blocked => {
            (5, "functions")
        }
    }
}

fn chart(panel: &Panel<'_>, by: Lanes, notes: bool, findings: &Findings<'_>) -> Chart {
    let Panel { title, timeline, program } = *panel;
    let extent = timeline.extent();
    let mut lanes = Vec::new();
    let (threads, host) = host_lanes(timeline, program, extent, notes);
    lanes.extend(host);
    // Where each step's work ended up, for the arrows.
    let mut placed: Vec<Placed> = Vec::new();
    for (label, spans) in lanes_of(timeline, program, by) {
        let visible: Vec<&Span> =
            spans.into_iter().filter(|s| visible(s.interval(), extent)).collect();
        let covered = Coverage::of(visible.iter().map(|span| span.interval().clip(extent)));
        let mut rows = Rows::default();
        for span in visible {
            let time = shift(span.interval(), extent);
            let note = if notes { note(span, program) } else { String::new() };
            let row = rows.push(Bar {
                mark: span.kind.into(),
                start_ns: time.start_ns,
                end_ns: time.end_ns,
                name: span.name().to_owned(),
                note,
                step: span.step,
                site: site_of(program, span.step),
            });
            let anchor = Anchor { lane: lanes.len(), row, at_ns: time.start_ns };
            if program.is_some() {
                let end_ns = time.end_ns;
                placed.push(Placed { step: span.step, stream: span.stream, end_ns, anchor });
            }
        }
        if !rows.0.is_empty() {
            lanes.push(Lane { label, busy_ns: Some(covered.ns()), rows: rows.0 });
        }
    }
    let place = |&CallAt { step, node, .. }: &CallAt| -> Option<Place> {
        let mut of_step = placed.iter().filter(|it| it.step == step);
        if let Some(it) = of_step.next() {
            // Bars do not say which node of a graph they are.
            let is_it = node == 0 || of_step.next().is_none();
            return is_it.then_some((it.anchor.lane, it.anchor.row, it.anchor.at_ns, it.end_ns));
        }
        let (thread, time) = at_host(timeline, program?, step)?;
        let lane = threads.iter().position(|it| *it == thread)?;
        visible(time, extent).then(|| {
            let time = shift(time, extent);
            (lane, 0, time.start_ns, time.end_ns)
        })
    };
    let flaws = flaws(findings, place);
    let arrows = match (by, program) {
        (Lanes::Streams, Some(program)) => arrows(program, placed),
        _ => Vec::new(),
    };
    Chart { title: title.into(), makespan_ns: extent.ns(), lanes, arrows, flaws }
}

/// The thread and the time of a step of the host's: of the part in which the call blocked it, if it
/// did. The host's own uses of memory take no time: they come right after the call before them.
fn at_host(timeline: &Timeline, program: &Program, step: u32) -> Option<(u32, Interval)> {
    let thread = program.steps.get(step as usize)?.thread;
    let same = |other: u32| program.steps.get(other as usize).is_some_and(|it| it.thread == thread);
    let calls = timeline.host.iter().filter(|call| call.step <= step && same(call.step));
    let call = calls.max_by_key(|call| call.step)?;
    let time = match call.step == step {
        true if call.blocked_ns > 0 => call.blocked(),
        true => Interval::new(call.start_ns, call.end_ns),
        false => Interval::new(call.end_ns, call.end_ns),
    };
    Some((thread, time))
}

/// One lane for each host thread that shows anything, and which threads those are.
fn host_lanes(
    timeline: &Timeline,
    program: Option<&Program>,
    extent: Interval,
    notes: bool,
) -> (Vec<u32>, Vec<Lane>) {
    let calls = in_order(timeline.host.iter().collect(), |call| (call.start_ns, call.step));
    // By number. Few at a time, so a sorted list will do.
    let mut threads: Vec<(u32, Rows)> = Vec::new();
    for call in calls {
        let step = program.and_then(|program| program.steps.get(call.step as usize));
        let busy = match step.map(|step| &step.call) {
            Some(Call::RegionBegin | Call::RegionEnd) if call.blocked_ns == 0 => continue,
            // It does nothing, and nothing of the program's blocks it.
            Some(Call::Arrival { .. } | Call::Answer { .. }) => continue,
            Some(Call::HostWork { .. }) => Mark::HostWork,
            _ => Mark::Call,
        };
        let blocked = call.blocked();
        let parts =
            [(busy, Interval::new(call.start_ns, blocked.start_ns)), (Mark::Blocked, blocked)];
        for (mark, part) in parts {
            if part.ns() == 0 || !visible(part, extent) {
                continue;
            }
            let time = shift(part, extent);
            let thread = step.map_or(0, |step| step.thread);
            let place = threads.partition_point(|(other, _)| *other < thread);
            if threads.get(place).is_none_or(|(other, _)| *other != thread) {
                threads.insert(place, (thread, Rows::default()));
            }
            let rows = &mut threads[place].1;
            let site = step.and_then(|step| program?.site(step)).filter(|_| notes);
            rows.push(Bar {
                mark,
                start_ns: time.start_ns,
                end_ns: time.end_ns,
                name: String::new(),
                note: site.map(ToString::to_string).unwrap_or_default(),
                step: call.step,
                site: site_of(program, call.step),
            });
        }
    }
    let several = threads.len() > 1;
    let label = |thread| if several { format!("host {thread}") } else { "host".to_owned() };
    let lane =
        |(thread, rows): (u32, Rows)| Lane { label: label(thread), busy_ns: None, rows: rows.0 };
    (threads.iter().map(|(thread, _)| *thread).collect(), threads.into_iter().map(lane).collect())
}

/// The place of a call in the source, which no playground's program has.
fn site_of(program: Option<&Program>, step: u32) -> Option<u32> {
    if crate::IS_PLAYGROUND {
        return None;
    }
    program?.steps.get(step as usize)?.site
}

/// Whether any of it lies in `extent`; what has no length lies there or not as its instant does.
fn visible(time: Interval, extent: Interval) -> bool {
    time.clip(extent).ns() > 0
        || (time.ns() == 0 && (extent.start_ns..extent.end_ns).contains(&time.start_ns))
}

/// The part in `extent`, counted from its start.
fn shift(time: Interval, extent: Interval) -> Interval {
    let inside = time.clip(extent);
    Interval::new(inside.start_ns - extent.start_ns, inside.end_ns - extent.start_ns)
}

/// Rows of bars that come in order of their start.
#[derive(Default)]
struct Rows(Vec<Vec<Bar>>);

impl Rows {
    /// Puts `bar` into the first row that is free at its start, and says which.
    fn push(&mut self, bar: Bar) -> usize {
        let free = |row: &Vec<Bar>| row.last().is_none_or(|last| last.end_ns <= bar.start_ns);
        let rows = &mut self.0;
        let index = match rows.iter().position(free) {
            Some(index) => index,
            None if rows.len() < MOST_ROWS => {
                rows.push(Vec::new());
                rows.len() - 1
            }
            None => MOST_ROWS - 1,
        };
        rows[index].push(bar);
        index
    }
}

/// The words of a tooltip about a span beyond its kind and time.
fn note(span: &Span, program: Option<&Program>) -> String {
    let mut parts = vec![span.stream.to_string()];
    if span.bytes > 0 {
        parts.push(format!("{} bytes", span.bytes));
    }
    match span.host_memory {
        Some(HostMemory::Pinned) => parts.push("pinned memory".into()),
        Some(HostMemory::Pageable) => parts.push("pageable memory".into()),
        None => {}
    }
    let step = program.and_then(|program| program.steps.get(span.step as usize));
    if let Some(site) = step.and_then(|step| program?.site(step)) {
        parts.push(site.to_string());
    }
    parts.join(", ")
}

impl Bar {
    /// The words of a tooltip: `kernel mix, 330 µs from 20.0 µs: stream 1, src/lib.rs:42`.
    pub fn describe(&self) -> String {
        let Self { mark, start_ns, end_ns, name, note, .. } = self;
        let (space, colon) =
            (if name.is_empty() { "" } else { " " }, if note.is_empty() { "" } else { ": " });
        let (length, start) = (duration(end_ns - start_ns), duration(*start_ns));
        format!("{}{space}{name}, {length} from {start}{colon}{note}", mark.label())
    }
}

/// Where a step's work ended up.
struct Placed {
    step: u32,
    stream: StreamId,
    end_ns: u64,
    /// Its start.
    anchor: Anchor,
}

/// One arrow for each wait of a stream for an event of another: from the last work before the
/// record to the first work after the wait, where both ran in the region.
fn arrows(program: &Program, placed: Vec<Placed>) -> Vec<Arrow> {
    // The streams of the devices by turns.
    let place =
        |stream: StreamId| stream.number() as usize * DEVICES as usize + stream.device() as usize;
    let mut by_stream: Vec<Vec<Placed>> = Vec::new();
    for placed in in_order(placed, |placed| (placed.step.into(), 0)) {
        let stream = place(placed.stream);
        by_stream.resize_with(by_stream.len().max(stream + 1), Vec::new);
        by_stream[stream].push(placed);
    }
    let owner = |stream, step| owner(Some(program), stream, step);
    let in_stream = |stream: StreamId| by_stream.get(place(stream)).map_or(&[][..], |s| &s[..]);

    let mut recorded: Vec<Option<(StreamId, u32)>> = Vec::new();
    let mut arrows = Vec::new();
    for (index, step) in (0..).zip(&program.steps) {
        match step.call {
            Call::EventRecord { event: EventId(event), stream } => {
                let event = event as usize;
                recorded.resize(recorded.len().max(event + 1), None);
                recorded[event] = Some((stream, index));
            }
            Call::StreamWait { stream, event: EventId(event) } => {
                let Some(&Some((source, record))) = recorded.get(event as usize) else { continue };
                let before = in_stream(source);
                let before = &before[..before.partition_point(|placed| placed.step < record)];
                let after = in_stream(stream);
                let after = &after[after.partition_point(|placed| placed.step <= index)..];
                let from = owner(source, record);
                let before = before.iter().rfind(|placed| owner(source, placed.step) == from);
                let to = owner(stream, index);
                let after = after.iter().find(|placed| owner(stream, placed.step) == to);
                if let (Some(before), Some(after), true) =
                    (before, after, (source, from) != (stream, to))
                {
                    let from = Anchor { at_ns: before.end_ns, ..before.anchor };
                    arrows.push(Arrow { from, to: after.anchor });
                }
            }
            _ => {}
        }
    }
    if arrows.len() > MOST_ARROWS {
        arrows.clear();
    }
    arrows
}
