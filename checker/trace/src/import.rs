//! Traces of other tools: from bytes to [`Observed`] runs, one for each device.
//!
//! It reads Chrome's trace format, as Kineto (PyTorch's profiler), Perfetto and [`export`] write
//! it, as a list or as an object. Times are taken as decimal numbers, exact in nanoseconds. The
//! text is read once, in pieces, and is never in memory as a whole; rows that say nothing about
//! CUDA are checked and dropped. It knows no files and unpacks nothing: that is the caller's part.
//!
//! A trace tells what ran and when. It does not tell which memory was used, so it shows no races,
//! and not whether a wait was needed.
//!
//! | module | what it holds |
//! | --- | --- |
//! | `json` | tokens out of a buffer of fixed size |
//! | `number` | decimal numbers, without a detour through binary fractions |
//! | `names` | names that occur again and again, each kept once |
//! | `rows` | what a row says |
//! | `events` | the rows that count |
//! | `labels` | what names of processes and threads say of rows |
//! | `stacks` | lines of Python |
//! | `error` | what is wrong with a file, where, and what to do |
//!
//! [`export`]: crate::export

mod error;
mod events;
mod json;
mod labels;
mod names;
mod number;
mod rows;
mod stacks;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;

use serde::Serialize;

pub use error::{Error, Position, Problem};

use crate::Timeline;
use crate::metrics::is_communication;
use crate::observed::{Called, Holding, NO_STEP, Observed, Wait};
use crate::program::StreamId;
use crate::timeline::{HostSpan, Interval, Method, Origin, Span, SpanKind};
use events::Top;
use json::{Next, Place, Tokens};
use rows::{Rows, Thread};

/// Kinds of files that a trace comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Kineto's: Chrome's with what it adds at the top.
    Kineto,
    /// Chrome's, a list or an object.
    Chrome,
}

/// Kinds of files, by their beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A record, a program or a timeline of ours.
    Own,
    /// Chrome's format, or nothing known.
    Chrome,
}

/// Tells from its beginning what a text is.
pub fn detect(beginning: &[u8]) -> Content {
    let mut beginning = beginning;
    let mut tokens = Tokens::new(&mut beginning, u64::MAX);
    if !matches!(tokens.next(), Ok(Next::Object)) {
        return Content::Chrome;
    }
    tokens.enter();
    let mut place = Place::First;
    while let Ok(Some(top)) = tokens.member(&mut place, Top::of) {
        match top {
            Top::Own => return Content::Own,
            Top::Other => {}
            _ => return Content::Chrome,
        }
        if tokens.skip().is_err() {
            break;
        }
    }
    Content::Chrome
}

/// The content of a file about CUDA.
#[derive(Debug)]
pub struct Trace {
    /// The kind of the file.
    pub format: Format,
    /// The driver's version, as `cuDriverGetVersion` counts it, where the file says.
    pub driver: Option<u32>,
    /// The rank in a distributed run, where the file says.
    pub rank: Option<i64>,
    /// Devices on which something ran, in order of their numbers.
    pub devices: Vec<Device>,
    /// Notes on what was left out, and why.
    pub notes: Vec<String>,
    rows: Rows,
    /// Line of the source of each call.
    lines: Vec<Option<names::Name>>,
    /// Threads, numbered in their order.
    threads: BTreeMap<Thread, u32>,
    /// When the first row that counts starts, in ns of the trace's clock.
    zero: i64,
}

/// A device of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number.
    pub index: u32,
    /// The process it is filed under, by number or name, where two devices have the same number.
    pub process: Option<Process>,
    /// Its own name, where the file says.
    pub name: Option<String>,
    /// How many operations ran on it.
    pub operations: usize,
    place: rows::Device,
}

/// A process, as a trace calls it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Process {
    /// By a number.
    Number(i64),
    /// By a name.
    Name(String),
}

impl fmt::Display for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "`{name}`"),
        }
    }
}

/// Whether names of kernels are copied into a timeline. Drawings of many bars show none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelNames {
    /// They are.
    Kept,
    /// They are left empty.
    Dropped,
}

impl Trace {
    /// Reads a trace of at most `limit` bytes.
    pub fn read(source: &mut dyn Read, limit: u64) -> Result<Self, Error> {
        let (format, mut rows) = events::read(&mut Tokens::new(source, limit))?;
        // Stable, since that is quick where much is in order already.
        rows.work.sort();
        rows.calls.sort();
        rows.forget_blank();
        let before = rows.work.len() + rows.calls.len();
        rows.work.dedup();
        rows.calls.dedup();
        rows.odd.repeated = (before - rows.work.len() - rows.calls.len()) as u64;

        let lines = stacks::lines_of(&rows.calls, &mut rows.lines, &rows.names);
        rows.lines = Vec::new();
        let threads: BTreeSet<Thread> = rows.calls.iter().map(|call| call.thread).collect();
        let threads = threads.into_iter().zip(0..).collect();
        let first = [rows.work.first().map(|w| w.start), rows.calls.first().map(|c| c.start)];
        let zero = first.into_iter().flatten().min().unwrap_or(0);
        let mut trace = Self {
            format,
            driver: rows.header.driver,
            rank: rows.header.rank,
            devices: devices(&rows),
            notes: notes(&rows),
            lines,
            threads,
            zero,
            rows,
        };
        trace.note_unasked();
        Ok(trace)
    }

    /// Rows of all kinds that the file has.
    pub fn rows(&self) -> u64 {
        self.rows.odd.rows
    }

    /// Whether the file has calls of the host.
    pub fn has_calls(&self) -> bool {
        !self.rows.calls.is_empty()
    }

    /// Whether its rows are JAX's, of which the host's are not read.
    pub fn is_of_jax(&self) -> bool {
        !self.rows.header.gpus.is_empty()
    }

    /// Whether it comes from Nsight Systems by a converter that leaves copies and memsets out.
    pub fn has_kernels_alone(&self) -> bool {
        let is_kernel = |work: &rows::Work| work.kind == SpanKind::Kernel;
        self.rows.header.is_converted && self.rows.work.iter().all(is_kernel)
    }

    /// How many calls of the host it has.
    pub fn calls(&self) -> usize {
        self.rows.calls.len()
    }

    /// The run of `device`, from its first operation to the end of its last.
    pub fn observed(&self, device: &Device, kernels: KernelNames) -> Observed<'_> {
        let rows = &self.rows;
        let work: Vec<&rows::Work> =
            rows.work.iter().filter(|work| work.place == device.place).collect();
        let mut timeline = Timeline::new(Origin::Measured {
            device: device.name.clone().unwrap_or_default(),
            driver: self.driver.unwrap_or(0),
            method: Method::Cupti,
        });
        let asked = Asked::of(rows);
        let mut processes = BTreeSet::new();
        for work in &work {
            let step = asked.step(work.correlation, work.start, work.place);
            processes.extend(step.map(|step| rows.calls[step as usize].thread.process));
            let is_kernel = work.kind == SpanKind::Kernel;
            let named = is_kernel
                && (kernels == KernelNames::Kept || is_communication(rows.names.text(work.name)));
            timeline.spans.push(Span {
                step: step.unwrap_or(NO_STEP),
                kind: work.kind,
                name: named.then(|| rows.names.text(work.name).into()),
                stream: stream(work.stream),
                start_ns: self.since(work.start),
                end_ns: self.since(work.end),
                bytes: work.bytes,
                host_memory: work.host_memory(),
            });
        }
        timeline.spans.sort_by_key(|span| (span.start_ns, span.step));
        let ends = timeline.spans.iter().map(|span| span.end_ns).max();
        let starts = timeline.spans.first().map(|span| span.start_ns);
        timeline.region = starts.zip(ends).map(|(start, end)| Interval::new(start, end));

        let pageable = self.pageable_calls(&work, &asked);
        let mut calls = Vec::with_capacity(rows.calls.len());
        for (step, call) in (0..).zip(&rows.calls) {
            let name = rows.names.text(call.name);
            let holding = Holding::of(name, pageable.contains(&step));
            let span = Interval::new(self.since(call.start), self.since(call.end));
            if processes.is_empty() || processes.contains(&call.thread.process) {
                timeline.host.push(HostSpan {
                    step,
                    start_ns: span.start_ns,
                    end_ns: span.end_ns,
                    blocked_ns: if holding.is_some_and(Holding::waits) { span.ns() } else { 0 },
                });
            }
            calls.push(Called {
                name,
                thread: self.threads.get(&call.thread).copied().unwrap_or(0),
                holding,
                line: self.lines[step as usize].map(|line| rows.names.text(line)),
            });
        }
        let waits = self.waits(device, &asked);
        Observed { timeline, calls, waits }
    }

    /// Calls that issued a copy of pageable memory.
    fn pageable_calls(&self, work: &[&rows::Work], asked: &Asked) -> BTreeSet<u32> {
        work.iter()
            .filter(|work| work.pageable == Some(true))
            .filter_map(|work| asked.step(work.correlation, work.start, work.place))
            .collect()
    }

    fn waits(&self, device: &Device, asked: &Asked) -> Vec<Wait> {
        self.rows
            .waits
            .iter()
            .filter(|wait| wait.place == device.place)
            .filter_map(|wait| {
                Some(Wait {
                    stream: stream(wait.stream),
                    step: asked.step(Some(wait.correlation), i64::MAX, wait.place)?,
                    source: stream(wait.source),
                    record: asked.step(Some(wait.recorded), i64::MAX, wait.place)?,
                })
            })
            .collect()
    }

    fn since(&self, ns: i64) -> u64 {
        u64::try_from(i128::from(ns) - i128::from(self.zero)).unwrap_or(0)
    }

    fn note_unasked(&mut self) {
        if !self.has_calls() {
            return;
        }
        let asked = Asked::of(&self.rows);
        let work = &self.rows.work;
        let is_lost = |w: &&rows::Work| asked.step(w.correlation, w.start, w.place).is_none();
        let lost = work.iter().filter(is_lost).count();
        if lost > 0 {
            self.notes.push(format!(
                "{lost} of {} operations name no call that asked for them",
                work.len()
            ));
        }
        let early = work.iter().filter_map(|work| {
            let step = asked.step(work.correlation, work.start, work.place)?;
            let by = self.rows.calls[step as usize].start.checked_sub(work.start)?;
            (by > 0).then_some(by as u64)
        });
        let (early, most) = early.fold((0, 0), |(count, most), by| (count + 1, by.max(most)));
        if early > 0 {
            self.notes.push(format!(
                "{early} of {} operations start before their calls, by up to {}: the clocks of host and device differ",
                work.len(),
                crate::draw::duration(most)
            ));
        }
        let known: BTreeSet<_> = work.iter().filter_map(|work| work.correlation).collect();
        let issues = |call: &&rows::Call| {
            let name = self.rows.names.text(call.name);
            ["LaunchKernel", "MemcpyAsync", "MemsetAsync"].iter().any(|it| name.contains(it))
        };
        let issuing = self.rows.calls.iter().filter(issues).filter_map(|call| call.correlation);
        let (issued, unseen) = issuing.fold((0_u64, 0_u64), |(issued, unseen), correlation| {
            (issued + 1, unseen + u64::from(!known.contains(&correlation)))
        });
        if unseen > 0 {
            self.notes.push(format!(
                "{unseen} of {issued} calls that issue work have no operation here: the device was busier than this shows"
            ));
        }
    }
}

/// The call that each correlation number belongs to.
struct Asked<'a> {
    rows: &'a Rows,
    /// Number, start and step of each.
    calls: Vec<(i64, i64, u32)>,
}

impl<'a> Asked<'a> {
    fn of(rows: &'a Rows) -> Self {
        let mut calls: Vec<_> = (0..)
            .zip(&rows.calls)
            .filter_map(|(step, call)| Some((call.correlation?, call.start, step)))
            .collect();
        calls.sort_unstable();
        Self { rows, calls }
    }

    /// The step of the last call of that number that began before an instant; of the only one that
    /// has the number, whenever it began, since the clocks of host and device may be microseconds
    /// apart. Ranks that were put into one file share numbers: where processes are named by ranks,
    /// the call is of the device's rank.
    fn step(&self, correlation: Option<i64>, before: i64, place: rows::Device) -> Option<u32> {
        let correlation = correlation?;
        let first = self.calls.partition_point(|&(number, ..)| number < correlation);
        let all = &self.calls[first..];
        let all = &all[..all.partition_point(|&(number, ..)| number == correlation)];
        if let [(.., step)] = *all {
            return self.is_of_rank(step, place).then_some(step);
        }
        let began = all.partition_point(|&(_, start, _)| start <= before);
        let mut steps = all[..began].iter().rev().chain(&all[began..]).map(|&(.., step)| step);
        match labels::rank_of(place.process, &self.rows.names) {
            Some(_) => steps.find(|&step| self.is_of_rank(step, place)),
            None => all[..began].last().map(|&(.., step)| step),
        }
    }

    /// Whether a call may be of the rank that a device is of: no rank is known, or it is the same.
    fn is_of_rank(&self, step: u32, place: rows::Device) -> bool {
        let rank = |process| labels::rank_of(process, &self.rows.names);
        let (of_call, of_device) =
            (rank(self.rows.calls[step as usize].thread.process), rank(place.process));
        of_call.is_none() || of_device.is_none() || of_call == of_device
    }
}

/// The highest bit, which no stream's number has.
const STRANGE: u32 = 1 << 31;

/// The stream that CUPTI numbers so; it gives the default stream a number like all others. Numbers
/// that are none of CUPTI's, addresses for example, are kept apart by their lowest bits.
fn stream(number: i64) -> StreamId {
    match u32::try_from(number) {
        Ok(0) => StreamId::LEGACY,
        Err(_) => StreamId(STRANGE | (number ^ (number >> 32)) as u32),
        // As `export` has it.
        Ok(u32::MAX) => StreamId::PER_THREAD,
        Ok(number) => match StreamId(number.saturating_add(StreamId::FIRST_CREATED - 1)) {
            // Its number stands for a stream of a second device in programs of the lab's.
            StreamId(taken) if StreamId(taken).device() > 0 => StreamId(STRANGE | taken),
            free => free,
        },
    }
}

fn devices(rows: &Rows) -> Vec<Device> {
    let mut places: BTreeMap<(i64, i64), (rows::Device, usize)> = BTreeMap::new();
    for work in &rows.work {
        let place = work.place;
        places.entry((place.index, place.process)).or_insert((place, 0)).1 += 1;
    }
    let mut numbers: BTreeMap<i64, u32> = BTreeMap::new();
    for (index, _) in places.keys() {
        *numbers.entry(*index).or_default() += 1;
    }
    places
        .into_iter()
        .map(|((index, process), (place, operations))| Device {
            index: u32::try_from(index).unwrap_or(u32::MAX),
            process: (numbers[&index] > 1).then(|| match labels::named(process, &rows.names) {
                Some(name) => Process::Name(name.to_owned()),
                None => Process::Number(process),
            }),
            name: rows.header.devices.get(&index).cloned(),
            operations,
            place,
        })
        .collect()
}

fn notes(rows: &Rows) -> Vec<String> {
    let odd = &rows.odd;
    let counts = [
        (odd.repeated, "rows that are there twice, which count once"),
        (odd.backwards, "rows that end before they start, left out"),
        (odd.timeless, "rows without a time, left out"),
        (odd.instants, "operations of length 0, which count for no time"),
        (odd.unpaired, "rows with a beginning or an end alone, left out"),
        (
            odd.mended.characters,
            "characters in names that JSON does not allow, read as they are meant",
        ),
    ];
    let told = counts.into_iter().filter(|(count, _)| *count > 0);
    let mut notes: Vec<String> = told.map(|(count, what)| format!("{what}: {count}")).collect();
    if odd.overheads > 0 {
        let ns = u64::try_from(odd.overhead_ns).unwrap_or(0);
        notes.push(format!(
            "the profiler's own work is in the times: {} at the least",
            crate::draw::duration(ns)
        ));
    }
    if odd.mended.unclosed {
        notes.push("the list of rows has no end; the rows that are there count".to_owned());
    }
    notes
}
