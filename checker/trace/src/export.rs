//! Timelines for other tools, in Chrome's trace format, which Perfetto, Chrome and Holistic Trace
//! Analysis open.
//!
//! Rows follow Kineto's conventions, so that what reads PyTorch's traces reads these: a process for
//! each device with a thread for each stream, a process for the host, calls and operations joined
//! by `correlation`. Reading one back gives the same times.

use std::io::{self, Write};

use crate::observed::{NO_STEP, Observed};
use crate::program::StreamId;
use crate::timeline::{HostMemory, Origin, Span, SpanKind};

/// Process that the host is filed under; devices have their own numbers.
const HOST: u32 = 1_000_000;

/// One device to write.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Its number.
    pub index: u32,
    /// Its timeline, and the calls of the host.
    pub observed: &'a Observed<'a>,
}

/// Writes `devices` as one JSON object.
pub fn chrome(devices: &[Device<'_>], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schemaVersion\":1,\"deviceProperties\":[")?;
    for (place, device) in devices.iter().enumerate() {
        let comma = if place == 0 { "" } else { "," };
        let name = text(name(&device.observed.timeline.origin));
        write!(out, "{comma}{{\"id\":{},\"name\":{name}}}", device.index)?;
        if has_second(device.observed) {
            write!(out, ",{{\"id\":{},\"name\":{name}}}", device.index + 1)?;
        }
    }
    out.write_all(b"]")?;
    let driver = devices.iter().find_map(|device| match device.observed.timeline.origin {
        Origin::Measured { driver, .. } if driver > 0 => Some(driver),
        _ => None,
    });
    if let Some(driver) = driver {
        write!(out, ",\"cuda_driver_version\":{driver}")?;
    }
    out.write_all(b",\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut rows = Rows { out, comma: "" };
    rows.name("process_name", HOST, 0, "host")?;
    for Device { index, observed } in devices {
        let what = format!("device {index}: {}", name(&observed.timeline.origin));
        rows.name("process_name", *index, 0, &what)?;
        let mut streams: Vec<StreamId> = observed.timeline.spans.iter().map(|s| s.stream).collect();
        streams.sort_unstable();
        streams.dedup();
        if has_second(observed) {
            let what = format!("device {}: {}", index + 1, name(&observed.timeline.origin));
            rows.name("process_name", index + 1, 0, &what)?;
        }
        for stream in streams {
            let (process, named) = (index + stream.device(), StreamId(stream.number()));
            rows.name("thread_name", process, number(stream), &named.to_string())?;
        }
        for span in &observed.timeline.spans {
            rows.work(index + span.stream.device(), span)?;
        }
    }
    // All devices of one trace have the same calls.
    if let Some(Device { observed, .. }) = devices.first() {
        for span in &observed.timeline.host {
            let call = observed.call(span.step);
            let (thread, name) = call.map_or((0, "call"), |call| (call.thread, call.name));
            let (start, length) = (Time(span.start_ns), Time(span.end_ns - span.start_ns));
            rows.row(format_args!(
                "\"ph\":\"X\",\"cat\":\"cuda_driver\",\"name\":{},\"pid\":{HOST},\"tid\":{thread},\
                 \"ts\":{start},\"dur\":{length},\"args\":{{\"correlation\":{}}}",
                text(name),
                correlation(span.step),
            ))?;
        }
    }
    out.write_all(b"\n]}\n")
}

/// Whether some of it was done by the second device of one of the lab's own programs.
fn has_second(observed: &Observed<'_>) -> bool {
    observed.timeline.spans.iter().any(|span| span.stream.device() > 0)
}

struct Rows<'a> {
    out: &'a mut dyn Write,
    comma: &'static str,
}

impl Rows<'_> {
    fn row(&mut self, fields: std::fmt::Arguments<'_>) -> io::Result<()> {
        write!(self.out, "{}\n{{{fields}}}", self.comma)?;
        self.comma = ",";
        Ok(())
    }

    fn name(&mut self, what: &str, process: u32, thread: u32, name: &str) -> io::Result<()> {
        self.row(format_args!(
            "\"ph\":\"M\",\"name\":\"{what}\",\"pid\":{process},\"tid\":{thread},\
             \"args\":{{\"name\":{}}}",
            text(name)
        ))
    }

    fn work(&mut self, device: u32, span: &Span) -> io::Result<()> {
        let (category, name) = words(span);
        let (start, length) = (Time(span.start_ns), Time(span.end_ns - span.start_ns));
        let stream = number(span.stream);
        let mut more = String::new();
        if span.step != NO_STEP {
            more = format!(",\"correlation\":{}", correlation(span.step));
        }
        if span.bytes > 0 {
            more.push_str(&format!(",\"bytes\":{}", span.bytes));
        }
        self.row(format_args!(
            "\"ph\":\"X\",\"cat\":\"{category}\",\"name\":{},\"pid\":{device},\"tid\":{stream},\
             \"ts\":{start},\"dur\":{length},\"args\":{{\"device\":{device},\"stream\":{stream}{more}}}",
            text(&name)
        ))
    }
}

/// Category and name of an operation, as Kineto gives them.
/// What stands for a host function, which profilers leave out.
pub(crate) const HOST_FUNCTION: &str = "Memcpy HtoH (host function)";

fn words(span: &Span) -> (&'static str, String) {
    let host = match span.host_memory {
        Some(HostMemory::Pageable) => "Pageable",
        Some(HostMemory::Pinned) => "Pinned",
        None => "Host",
    };
    match span.kind {
        SpanKind::Kernel if span.name().is_empty() => ("kernel", "kernel".into()),
        SpanKind::Kernel => ("kernel", span.name().to_owned()),
        SpanKind::HostToDevice => ("gpu_memcpy", format!("Memcpy HtoD ({host} -> Device)")),
        SpanKind::DeviceToHost => ("gpu_memcpy", format!("Memcpy DtoH (Device -> {host})")),
        SpanKind::DeviceToDevice => ("gpu_memcpy", "Memcpy DtoD (Device -> Device)".into()),
        SpanKind::PeerToPeer => ("gpu_memcpy", "Memcpy PtoP (Device -> Device)".into()),
        SpanKind::HostToHost => ("gpu_memcpy", "Memcpy HtoH (Host -> Host)".into()),
        SpanKind::Memset => ("gpu_memset", "Memset (Device)".into()),
        SpanKind::HostFunction => ("gpu_memcpy", HOST_FUNCTION.into()),
    }
}

fn name(origin: &Origin) -> &str {
    match origin {
        Origin::Simulated { profile } => profile,
        Origin::Measured { device, .. } => device,
    }
}

/// The number that [`import`](mod@crate::import) takes for that stream.
fn number(stream: StreamId) -> u32 {
    match StreamId(stream.number()) {
        StreamId::LEGACY => 0,
        // CUPTI has no number for it; this one is a stream's that no one creates.
        StreamId::PER_THREAD => u32::MAX,
        StreamId(created) => created - StreamId::FIRST_CREATED + 1,
    }
}

/// From 1: readers take 0 for none.
fn correlation(step: u32) -> u64 {
    u64::from(step) + 1
}

/// Nanoseconds, as microseconds with three decimals.
struct Time(u64);

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1000, self.0 % 1000)
    }
}

/// A string of JSON.
fn text(plain: &str) -> String {
    let mut quoted = String::from("\"");
    for character in plain.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\u{0}'..='\u{1f}' => quoted.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
