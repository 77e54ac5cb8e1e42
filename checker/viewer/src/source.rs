//! From a file to runs of devices.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, BufReader, Cursor, Read};

use anyhow::{Context, Result, anyhow, bail};
use flate2::bufread::GzDecoder;
use serde::de::DeserializeOwned;
use trace::draw::layout::MOST_SINGLE_BARS;
use trace::import::{self, Content, Format, KernelNames, Process, Trace};
use trace::timeline::{self, Origin};
use trace::version::{Header, check_version};
use trace::{Observed, Program, Record, Timeline};

/// Bytes from the beginning of a file that tell what it is.
const BEGINNING: u64 = 64 * 1024;

/// A file that has been read.
#[derive(Debug)]
pub struct Source {
    /// Its name, as messages and headlines have it.
    pub name: String,
    /// The content.
    pub content: Found,
}

/// The content of a file.
#[derive(Debug)]
pub enum Found {
    /// A trace of another tool, or our export.
    Foreign(Box<Trace>),
    /// A run of ours, with the sites of its program in words.
    Record(Box<Record>, Vec<String>),
    /// A timeline of ours alone.
    Timeline(Timeline),
}

/// One device of a source.
#[derive(Debug)]
pub struct Device<'a> {
    /// Its number.
    pub index: u32,
    /// The process it is filed under, where several devices have the same number.
    pub process: Option<Process>,
    /// The work that ran on it, and the calls that issued it.
    pub observed: Observed<'a>,
    /// The program, where it is known.
    pub program: Option<&'a Program>,
}

impl Device<'_> {
    /// Its number and name: `device 0: NVIDIA H200`.
    pub fn title(&self) -> String {
        let name = match &self.observed.timeline.origin {
            Origin::Simulated { profile } => format!("simulated {profile}"),
            Origin::Measured { device, .. } => device.clone(),
        };
        let process = self.process.as_ref().map(|process| format!(" of process {process}"));
        let process = process.unwrap_or_default();
        match name.as_str() {
            "" => format!("device {}{process}", self.index),
            name => format!("device {}{process}: {name}", self.index),
        }
    }

    /// How many streams it has.
    pub fn streams(&self) -> usize {
        let spans = &self.observed.timeline.spans;
        spans.iter().map(|span| span.stream).collect::<BTreeSet<_>>().len()
    }
}

impl Source {
    /// Reads at most `limit` bytes of text out of what is called `name`.
    pub fn read(file: &mut dyn Read, name: &str, limit: u64) -> Result<Self> {
        let mut file = BufReader::with_capacity(1 << 16, file);
        let magic = file.fill_buf().with_context(|| format!("cannot read `{name}`"))?;
        if let Some(what) = other_kind(magic) {
            bail!(
                "`{name}` is {what}, not a trace in JSON\n\nhint: PyTorch's profiler writes one with \
                 `export_chrome_trace`; Perfetto and Chrome export one, too"
            );
        }
        let content = if magic.starts_with(&GZIP) {
            content(Members { decoder: Some(GzDecoder::new(file)) }, name, limit)?
        } else {
            content(file, name, limit)?
        };
        Ok(Self { name: name.to_owned(), content })
    }

    /// The kind of file, in a word.
    pub fn format(&self) -> &'static str {
        match &self.content {
            Found::Foreign(trace) => match trace.format {
                Format::Kineto => "kineto",
                Format::Chrome => "chrome",
            },
            Found::Record(..) => "record",
            Found::Timeline(_) => "timeline",
        }
    }

    /// The driver's version, where it is known.
    pub fn driver(&self) -> Option<u32> {
        let of = |timeline: &Timeline| match timeline.origin {
            Origin::Measured { driver, .. } if driver > 0 => Some(driver),
            _ => None,
        };
        match &self.content {
            Found::Foreign(trace) => trace.driver,
            Found::Record(record, _) => of(&record.timeline),
            Found::Timeline(timeline) => of(timeline),
        }
    }

    /// Remarks about it.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = match &self.content {
            Found::Foreign(trace) => trace.notes.clone(),
            Found::Record(record, _) => record.notes.clone(),
            Found::Timeline(_) => Vec::new(),
        };
        let Found::Foreign(trace) = &self.content else { return notes };
        if trace.has_kernels_alone() {
            notes.push(
                "copies and memsets are not in the file: the converter from Nsight Systems that wrote it \
                 leaves them out, so what looks idle may be a copy"
                    .into(),
            );
        }
        let why = match () {
            () if trace.has_calls() => return notes,
            () if trace.is_of_jax() => {
                "the host's part of a trace of JAX is not read, so nothing can be said of what held it"
            }
            () if trace.has_kernels_alone() => {
                "the trace has no calls of the host, so nothing can be said of what held it"
            }
            () => {
                "the trace has no calls of the host, so nothing can be said of what held it; record \
                 them with `ProfilerActivity.CPU`"
            }
        };
        notes.push(why.into());
        notes
    }

    /// The devices, or the one with the number `index`.
    pub fn runs(&self, index: Option<u32>, wants_names: bool) -> Result<Vec<Device<'_>>, NoDevice> {
        let only = |observed, program| vec![Device { index: 0, process: None, observed, program }];
        let devices = match &self.content {
            Found::Record(record, lines) => {
                let Record { program, timeline, .. } = &**record;
                let observed = Observed::of_program(timeline.clone(), program, lines);
                only(observed, Some(program))
            }
            Found::Timeline(timeline) => only(Observed::of_timeline(timeline.clone()), None),
            Found::Foreign(trace) => {
                let wanted =
                    |device: &&import::Device| index.is_none_or(|index| device.index == index);
                trace
                    .devices
                    .iter()
                    .filter(wanted)
                    .map(|device| {
                        let names = match device.operations <= MOST_SINGLE_BARS || wants_names {
                            true => KernelNames::Kept,
                            false => KernelNames::Dropped,
                        };
                        let observed = trace.observed(device, names);
                        let (index, process) = (device.index, device.process.clone());
                        Device { index, process, observed, program: None }
                    })
                    .collect()
            }
        };
        let known = match &self.content {
            Found::Foreign(trace) => trace.devices.iter().map(|device| device.index).collect(),
            _ => vec![0],
        };
        if let Some(index) = index
            && !known.contains(&index)
        {
            let known: Vec<String> = known.iter().map(u32::to_string).collect();
            return Err(NoDevice { index, known: known.join(", ") });
        }
        Ok(devices)
    }
}

/// No device of the trace has that number.
#[derive(Debug)]
pub struct NoDevice {
    index: u32,
    known: String,
}

impl fmt::Display for NoDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, known } = self;
        write!(f, "nothing ran on device {index} in this trace\n\nhint: it has device {known}")
    }
}

/// How a gzip begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The contents of one gzip after another; what comes after the last, padding for example, is
/// none of it.
struct Members<R> {
    decoder: Option<GzDecoder<R>>,
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let Some(decoder) = &mut self.decoder else { return Ok(0) };
            let read = decoder.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            let mut rest =
                self.decoder.take().map(GzDecoder::into_inner).expect("it has just been read");
            if rest.fill_buf()?.starts_with(&GZIP) {
                self.decoder = Some(GzDecoder::new(rest));
            }
        }
    }
}

/// Files of other kinds that people have at hand.
fn other_kind(beginning: &[u8]) -> Option<&'static str> {
    let starts = |magic: &[u8]| beginning.starts_with(magic);
    Some(if starts(b"SQLite format 3") {
        "an SQLite database, such as Nsight Systems exports"
    } else if starts(b"PK\x03\x04") {
        "a zip archive"
    } else if starts(&[0x28, 0xb5, 0x2f, 0xfd]) {
        "compressed with zstd"
    } else if starts(&[0xff, 0xfe]) || starts(&[0xfe, 0xff]) {
        "text in UTF-16"
    } else if starts(&[0x0a]) && beginning.iter().take(64).any(|&byte| byte == 0) {
        "a binary trace of Perfetto"
    } else {
        return None;
    })
}

fn content(mut text: impl Read, name: &str, limit: u64) -> Result<Found> {
    let mut beginning = Vec::new();
    // An error here comes again below, with its place.
    let begun = text.by_ref().take(BEGINNING).read_to_end(&mut beginning);
    if beginning.starts_with(&[0xef, 0xbb, 0xbf]) {
        beginning.drain(..3);
    }
    if import::detect(&beginning) == Content::Own {
        begun.with_context(|| format!("cannot read `{name}`"))?;
        return own(Cursor::new(beginning).chain(text).take(limit), name);
    }
    let failed = begun.err().map(Failing);
    let mut whole = Cursor::new(beginning).chain(failed.map_or(Either::Rest(text), Either::Failed));
    let trace = Trace::read(&mut whole, limit).map_err(|error| located(name, &error))?;
    if trace.devices.is_empty() {
        let what = match trace.rows() {
            0 => "is empty: it has no rows".to_owned(),
            rows => {
                format!("shows nothing of a GPU: none of its {rows} rows is a kernel or a copy")
            }
        };
        if trace.calls() > 0 {
            bail!(
                "`{name}` shows {} calls of the host, and nothing that ran on a GPU\n\nhint: the profiler saw no \
                 device: another profiler may have been at work, or this user may not use CUPTI (`ERR_NVGPUCTRPERM`)",
                trace.calls()
            );
        }
        bail!(
            "`{name}` {what}\n\nhint: record it with \
             `profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])`, around code that \
             uses the GPU"
        );
    }
    Ok(Found::Foreign(Box::new(trace)))
}

/// The rest of a text, or the error that reading it brought.
enum Either<R> {
    Rest(R),
    Failed(Failing),
}

struct Failing(std::io::Error);

impl<R: Read> Read for Either<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Rest(rest) => rest.read(buffer),
            Self::Failed(Failing(error)) => {
                Err(std::io::Error::new(error.kind(), error.to_string()))
            }
        }
    }
}

/// A complaint with file, line and column, and what to do.
fn located(name: &str, error: &import::Error) -> anyhow::Error {
    let place = error.place.map(|place| format!(":{}:{}", place.line, place.column));
    let hint = error.hint().map(|hint| format!("\n\nhint: {hint}")).unwrap_or_default();
    anyhow!("{name}{}: {error}{hint}", place.unwrap_or_default())
}

/// One of our own forms.
fn own(mut text: impl Read, name: &str) -> Result<Found> {
    let mut whole = Vec::new();
    text.read_to_end(&mut whole).with_context(|| format!("cannot read `{name}`"))?;
    let value: Outline = parsed(&whole, name)?;
    if value.timeline.is_some() {
        check(&whole, name, trace::record::VERSION, "record")?;
        let record: Record = parsed(&whole, name)?;
        record.check_versions()?;
        let lines = record.program.sites.iter().map(ToString::to_string).collect();
        return Ok(Found::Record(Box::new(record), lines));
    }
    if value.spans.is_some() {
        check(&whole, name, timeline::VERSION, "timeline")?;
        return Ok(Found::Timeline(parsed(&whole, name)?));
    }
    bail!(
        "`{name}` is a program: it says what was asked for, not what happened\n\nhint: `checker run EX \
         --trace F` writes both"
    )
}

/// Which of our forms it is.
#[derive(serde::Deserialize)]
struct Outline {
    timeline: Option<serde::de::IgnoredAny>,
    spans: Option<serde::de::IgnoredAny>,
}

fn check(text: &[u8], name: &str, known: u32, what: &'static str) -> Result<()> {
    let header: Header = parsed(text, name)?;
    Ok(check_version(header.version, known, what)?)
}

fn parsed<T: DeserializeOwned>(text: &[u8], name: &str) -> Result<T> {
    serde_json::from_slice(text).map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        anyhow!(
            "{name}:{line}:{column}: {what}\n\nhint: the file is no whole record of `checker run --trace`; \
             write it again"
        )
    })
}
