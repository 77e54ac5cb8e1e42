//! Rows of a trace, as Chrome's format and Kineto's conventions in it have them.
//!
//! A row counts by its category. Those of `kernel`, `gpu_memcpy` and `gpu_memset` ran on the
//! device; those of `cuda_runtime` and `cuda_driver` are calls of the host. `cuda_sync` has
//! recorded waits, and `python_function` (or `Call stack` of a `cpu_op`) the lines of the source.
//! All else is dropped as it is read: flows repeat what correlation numbers say.
//!
//! Where rows say less than that, names of their processes and threads do: see `labels`.

use std::collections::BTreeMap;

use crate::timeline::{HostMemory, SpanKind};

use super::json::{Next, Place, Tokens};
use super::labels;
use super::names::{Name, Names};
use super::rows::{Call, Category, Device, Header, Line, Row, Rows, Thread, Wait, Work};
use super::{Error, Format, Problem};

/// Digits of a nanosecond after the point of a microsecond.
const MICROSECONDS: i32 = 3;

/// The latest time, in ns: in the year 2116 where a trace counts from 1970. With [`LONGEST`], no
/// two times lie further apart than what an `i64` holds.
const LATEST: i64 = 1 << 62;

/// The longest duration and the earliest time before 0, in ns: 36 years.
const LONGEST: i64 = 1 << 60;

impl HostMemory {
    fn of_pageable(pageable: bool) -> Self {
        if pageable { Self::Pageable } else { Self::Pinned }
    }
}

impl Work {
    pub(super) fn host_memory(&self) -> Option<HostMemory> {
        self.pageable.map(HostMemory::of_pageable)
    }
}

/// A field at the top of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Top {
    Events,
    Devices,
    Distributed,
    Driver,
    Kineto,
    /// Of one of our own forms.
    Own,
    Other,
}

impl Top {
    pub(super) fn of(name: &[u8]) -> Self {
        match name {
            b"traceEvents" => Self::Events,
            b"deviceProperties" => Self::Devices,
            b"distributedInfo" => Self::Distributed,
            b"cuda_driver_version" => Self::Driver,
            b"schemaVersion" | b"baseTimeNanoseconds" | b"trace_id" | b"cupti_version" => {
                Self::Kineto
            }
            b"program" | b"timeline" | b"trials" | b"spans" | b"host" | b"origin" | b"sites"
            | b"steps" => Self::Own,
            _ => Self::Other,
        }
    }
}

/// Reads a whole file of Chrome's format.
pub(super) fn read(tokens: &mut Tokens<'_>) -> Result<(Format, Rows), Error> {
    let mut rows = Rows::default();
    let mut open = Open::default();
    let format = match tokens.next()? {
        Next::Array => {
            events(tokens, &mut rows, &mut open, true)?;
            Format::Chrome
        }
        Next::Object => {
            object(tokens, &mut rows, &mut open)?;
            if rows.header.kineto { Format::Kineto } else { Format::Chrome }
        }
        _ => return Err(tokens.expected("`{` or `[`")),
    };
    tokens.end()?;
    rows.odd.mended = tokens.mended;
    rows.odd.unpaired += open.0.values().map(|rows| rows.len() as u64).sum::<u64>();
    Ok((format, rows))
}

fn object(tokens: &mut Tokens<'_>, rows: &mut Rows, open: &mut Open) -> Result<(), Error> {
    tokens.enter();
    let mut place = Place::First;
    let mut seen = false;
    loop {
        let top = match tokens.member(&mut place, Top::of) {
            Ok(Some(top)) => top,
            Ok(None) => break,
            // The most common damage: the line that names the list of devices is not there.
            Err(Error { place, problem: Problem::Expected { what, found: Some(found) } })
                if found == "{" =>
            {
                return Err(Error { place, problem: Problem::Nameless { what } });
            }
            Err(error) => return Err(error),
        };
        rows.header.kineto |= matches!(top, Top::Devices | Top::Kineto | Top::Driver);
        match top {
            Top::Events => {
                if tokens.next()? != Next::Array {
                    return Err(tokens.expected("`[`"));
                }
                seen = true;
                events(tokens, rows, open, false)?;
            }
            Top::Devices => devices(tokens, &mut rows.header)?,
            Top::Distributed => rank(tokens, &mut rows.header)?,
            Top::Driver => {
                let version = tokens.scaled(0)?;
                rows.header.driver = version.and_then(|version| u32::try_from(version).ok());
            }
            Top::Kineto | Top::Own | Top::Other => tokens.skip()?,
        }
    }
    if seen { Ok(()) } else { Err(Error { place: None, problem: Problem::NoEvents }) }
}

fn devices(tokens: &mut Tokens<'_>, header: &mut Header) -> Result<(), Error> {
    if tokens.next()? != Next::Array {
        return tokens.skip();
    }
    tokens.enter();
    let mut place = Place::First;
    while tokens.element(&mut place)? {
        if tokens.next()? != Next::Object {
            tokens.skip()?;
            continue;
        }
        tokens.enter();
        let (mut number, mut name) = (None, None);
        let mut place = Place::First;
        let of = |key: &[u8]| (key == b"id", key == b"name");
        while let Some(key) = tokens.member(&mut place, of)? {
            match (key, tokens.next()?) {
                ((true, _), _) => number = tokens.scaled(0)?,
                ((_, true), Next::String) => {
                    name = Some(String::from_utf8_lossy(tokens.string()?).into_owned());
                }
                _ => tokens.skip()?,
            }
        }
        if let (Some(number), Some(name)) = (number, name) {
            header.devices.insert(number, name);
        }
    }
    Ok(())
}

fn rank(tokens: &mut Tokens<'_>, header: &mut Header) -> Result<(), Error> {
    if tokens.next()? != Next::Object {
        return tokens.skip();
    }
    tokens.enter();
    let mut place = Place::First;
    while let Some(rank) = tokens.member(&mut place, |key| key == b"rank")? {
        if rank {
            header.rank = tokens.scaled(0)?;
        } else {
            tokens.skip()?;
        }
    }
    Ok(())
}

/// Rows. A list that is all of the file needs no end, as Chrome's own reader takes it: a tool that
/// writes a trace while the program runs may never come to it.
fn events(
    tokens: &mut Tokens<'_>,
    rows: &mut Rows,
    open: &mut Open,
    may_be_open: bool,
) -> Result<(), Error> {
    tokens.enter();
    let mut place = Place::First;
    loop {
        let next = match tokens.element(&mut place) {
            Ok(true) => tokens.next().map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        match next {
            Ok(None) => return Ok(()),
            Ok(Some(Next::Object)) => {}
            Ok(Some(_)) => return Err(tokens.expected("`{`")),
            Err(error) if may_be_open && error.is_at_the_end() && rows.odd.rows > 0 => {
                tokens.mended.unclosed = true;
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        rows.odd.rows += 1;
        event(tokens, rows, open)?;
    }
}

/// Rows that were begun and have not ended, by thread, innermost last.
#[derive(Debug, Default)]
struct Open(BTreeMap<Thread, Vec<(Row, Option<Name>)>>);

#[derive(Clone, Copy)]
enum Field {
    Phase,
    Category,
    Name,
    Process,
    Thread,
    Start,
    Duration,
    Arguments,
    Other,
}

impl Field {
    fn of(name: &[u8]) -> Self {
        match name {
            b"ph" => Self::Phase,
            b"cat" => Self::Category,
            b"name" => Self::Name,
            b"pid" => Self::Process,
            b"tid" => Self::Thread,
            b"ts" => Self::Start,
            b"dur" => Self::Duration,
            b"args" => Self::Arguments,
            _ => Self::Other,
        }
    }
}

fn event(tokens: &mut Tokens<'_>, rows: &mut Rows, open: &mut Open) -> Result<(), Error> {
    tokens.enter();
    let mut row = Row::default();
    let mut name = None;
    let mut place = Place::First;
    while let Some(field) = tokens.member(&mut place, Field::of)? {
        match (field, tokens.next()?) {
            (Field::Phase, Next::String) => {
                row.phase = match tokens.string()? {
                    &[phase] => phase,
                    _ => 0,
                };
                if !matches!(row.phase, b'X' | b'B' | b'E' | b'M') {
                    return tokens.leave();
                }
            }
            (Field::Category, Next::String) => {
                row.category = Category::of(tokens.string()?);
                if row.category == Category::Other && row.phase == b'X' {
                    return tokens.leave();
                }
            }
            (Field::Name, Next::String) => name = Some(rows.names.number(tokens.string()?)),
            (Field::Process, _) => row.process = identifier(tokens, &mut rows.names)?,
            (Field::Thread, _) => row.thread = identifier(tokens, &mut rows.names)?,
            (Field::Start, _) => row.ts = time(tokens, LATEST)?,
            (Field::Duration, _) => row.duration = time(tokens, LONGEST)?,
            (Field::Arguments, Next::Object) => arguments(tokens, &mut row, &mut rows.names)?,
            _ => tokens.skip()?,
        }
    }
    let thread = Thread { process: row.process.unwrap_or(0), thread: row.thread.unwrap_or(0) };
    match row.phase {
        b'X' => rows.take(row, name, thread),
        b'M' => rows.call(row, name, thread),
        b'B' => open.0.entry(thread).or_default().push((row, name)),
        b'E' => match open.0.get_mut(&thread).and_then(Vec::pop) {
            Some((begun, name)) => {
                let duration = match (begun.ts, row.ts) {
                    (Some(start), Some(end)) => end.checked_sub(start),
                    _ => None,
                };
                rows.take(Row { duration, ..begun }, name, thread);
            }
            None => rows.odd.unpaired += 1,
        },
        _ => {}
    }
    Ok(())
}

/// A time in ns, from the negative of [`LONGEST`] up to `most`.
fn time(tokens: &mut Tokens<'_>, most: i64) -> Result<Option<i64>, Error> {
    tokens.next()?;
    let place = tokens.position();
    let time = tokens.scaled(MICROSECONDS)?;
    match time {
        Some(time) if !(-LONGEST..=most).contains(&time) => {
            Err(Error::at(place, Problem::HugeNumber))
        }
        _ => Ok(time),
    }
}

/// A process or a thread, which a trace gives by number or by name.
fn identifier(tokens: &mut Tokens<'_>, names: &mut Names) -> Result<Option<i64>, Error> {
    if tokens.next()? != Next::String {
        return tokens.scaled(0);
    }
    let text = tokens.string()?;
    match super::number::scaled(text, 0) {
        Ok(Some(number)) => Ok(Some(number)),
        Ok(None) | Err(_) => Ok(Some(labels::number_of(names.number(text)))),
    }
}

#[derive(Clone, Copy)]
enum Argument {
    Device,
    Stream,
    Correlation,
    Bytes,
    Source,
    Recorded,
    Stack,
    Label,
    Copy,
    Other,
}

impl Argument {
    fn of(name: &[u8]) -> Self {
        match name {
            b"device" | b"deviceId" => Self::Device,
            b"stream" | b"streamId" => Self::Stream,
            b"correlation" | b"correlation_id" | b"correlationId" => Self::Correlation,
            b"bytes" => Self::Bytes,
            b"wait_on_stream" => Self::Source,
            b"wait_on_cuda_event_record_corr_id" => Self::Recorded,
            b"Call stack" => Self::Stack,
            b"name" => Self::Label,
            b"memcpy_details" => Self::Copy,
            _ => Self::Other,
        }
    }
}

fn arguments(tokens: &mut Tokens<'_>, row: &mut Row, names: &mut Names) -> Result<(), Error> {
    tokens.enter();
    let mut place = Place::First;
    while let Some(argument) = tokens.member(&mut place, Argument::of)? {
        match argument {
            Argument::Device => row.device = tokens.scaled(0)?,
            Argument::Stream => row.stream = tokens.scaled(0)?,
            Argument::Correlation => row.correlation = tokens.scaled(0)?,
            Argument::Bytes => row.bytes = tokens.scaled(0)?,
            Argument::Source => row.source = tokens.scaled(0)?,
            Argument::Recorded => row.recorded = tokens.scaled(0)?,
            Argument::Stack if tokens.next()? == Next::String => {
                row.stack = super::stacks::innermost(tokens.string()?)
                    .map(|line| names.number(line.as_bytes()));
            }
            Argument::Label if row.phase == b'M' && tokens.next()? == Next::String => {
                row.label = Some(names.number(tokens.string()?));
            }
            Argument::Copy if tokens.next()? == Next::String => {
                let details = String::from_utf8_lossy(tokens.string()?);
                let value = |key: &str| details.split(' ').find_map(|it| it.strip_prefix(key));
                row.bytes = value("size:").and_then(|bytes| bytes.parse().ok());
                let ends = [value("kind_src:"), value("kind_dst:")];
                row.pageable = match () {
                    () if ends.contains(&Some("pageable")) => Some(true),
                    () if ends.contains(&Some("pinned")) => Some(false),
                    () => None,
                };
            }
            Argument::Stack | Argument::Label | Argument::Copy | Argument::Other => {
                tokens.skip()?
            }
        }
    }
    Ok(())
}

/// Where times count from 1970, all are above this, in ns: ten days.
const EPOCH: i64 = 864_000_000_000_000;

impl Rows {
    /// Leaves out rows at 0 where all others have times of day. Rows are in order.
    pub(super) fn forget_blank(&mut self) {
        let work = self.work.iter().map(|work| work.start);
        let starts = work.chain(self.calls.iter().map(|call| call.start));
        if starts.filter(|&start| start != 0).min().is_some_and(|first| first > EPOCH) {
            let before = self.work.len() + self.calls.len();
            self.work.retain(|work| work.start != 0);
            self.calls.retain(|call| call.start != 0);
            self.odd.timeless += (before - self.work.len() - self.calls.len()) as u64;
        }
    }

    /// Keeps what counts of a whole row.
    fn take(&mut self, row: Row, name: Option<Name>, thread: Thread) {
        let row = self.with_labels(row, name, thread);
        let counts = match row.category {
            Category::Other | Category::Unsaid | Category::Cuda => false,
            Category::Operator => row.stack.is_some(),
            _ => true,
        };
        if !counts {
            return;
        }
        let name = name.unwrap_or_else(|| self.names.number(b""));
        let device = || {
            let process = row.process.unwrap_or(0);
            Device { process, index: row.device.or(row.process).unwrap_or(0).max(0) }
        };
        if row.category == Category::Wait {
            // CUPTI may have no time for these, which does not matter.
            if let (Some(stream), Some(source), Some(correlation), Some(recorded)) =
                (row.stream, row.source, row.correlation, row.recorded)
            {
                self.waits.push(Wait { place: device(), stream, source, correlation, recorded });
            }
            return;
        }
        // An operation of no length at 0 was never given its times.
        let is_blank = row.ts == Some(0) && row.duration == Some(0) && row.category.is_work();
        let (Some(start), Some(duration), false) = (row.ts, row.duration, is_blank) else {
            self.odd.timeless += 1;
            return;
        };
        let end = match start.checked_add(duration) {
            Some(end) if duration >= 0 => end,
            _ => {
                self.odd.backwards += 1;
                return;
            }
        };
        let (kind, pageable) = match row.category {
            Category::Kernel => (SpanKind::Kernel, None),
            Category::Memset => (SpanKind::Memset, None),
            Category::Copy => copy(self.names.text(name)),
            Category::Call => {
                let correlation = row.correlation;
                self.calls.push(Call { start, end, thread, correlation, name });
                return;
            }
            Category::Python => {
                if super::stacks::is_line(self.names.text(name)) {
                    self.lines.push(Line { start, end, thread, name });
                }
                return;
            }
            Category::Operator => {
                self.lines.extend(row.stack.map(|name| Line { start, end, thread, name }));
                return;
            }
            Category::Overhead => {
                self.odd.overheads += 1;
                self.odd.overhead_ns = self.odd.overhead_ns.saturating_add(duration);
                return;
            }
            Category::Wait | Category::Other | Category::Unsaid | Category::Cuda => return,
        };
        self.odd.instants += u64::from(start == end);
        let pageable = pageable.or(row.pageable.filter(|_| kind.is_transfer()));
        self.work.push(Work {
            start,
            end,
            place: device(),
            stream: row.stream.or(row.thread).unwrap_or(0),
            correlation: row.correlation,
            kind,
            pageable,
            bytes: row.bytes.and_then(|bytes| u64::try_from(bytes).ok()).unwrap_or(0),
            name,
        });
    }
}

/// The kind of a copy, by its name: `Memcpy HtoD (Pageable -> Device)`.
fn copy(name: &str) -> (SpanKind, Option<bool>) {
    let goes = |ways: &[&str]| ways.iter().any(|way| name.contains(way));
    let kind = match () {
        () if name == crate::export::HOST_FUNCTION => SpanKind::HostFunction,
        () if goes(&["HtoD", "HtoA", "H2D"]) => SpanKind::HostToDevice,
        () if goes(&["DtoH", "AtoH", "D2H"]) => SpanKind::DeviceToHost,
        () if goes(&["PtoP", "P2P"]) => SpanKind::PeerToPeer,
        () if goes(&["HtoH", "H2H"]) => SpanKind::HostToHost,
        () => SpanKind::DeviceToDevice,
    };
    let pageable = match (name.contains("Pageable"), name.contains("Pinned")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    };
    (kind, pageable.filter(|_| kind.is_transfer()))
}
