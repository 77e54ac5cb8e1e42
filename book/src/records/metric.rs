//! The numbers that a page may name.

use std::fmt;
use std::sync::Arc;

use simulator::Profile;
use simulator::bounds::bounds_of_program;
use trace::Record;
use trace::draw::{duration, size};
use trace::metrics::{self, Bounds, Metrics, memory};
use trace::program::{Call, Direction};
use trace::record::Output;
use trace::timeline::{Interval, SpanKind};

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A time in ns.
    Time(u64),
    /// A part of a whole.
    Share(f64),
    /// How many.
    Count(usize),
    /// How many times as much.
    Times(f64),
    /// Memory, in bytes.
    Size(u64),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // A number and its unit stay on one line.
            Self::Time(ns) => f.write_str(&duration(ns).replace(' ', "\u{a0}")),
            Self::Share(share) => write!(f, "{:.0}\u{a0}%", share * 100.0),
            Self::Count(count) => write!(f, "{count}"),
            Self::Times(times) => write!(f, "{times:.2}"),
            Self::Size(bytes) => f.write_str(&size(bytes).replace(' ', "\u{a0}")),
        }
    }
}

impl Number {
    /// Its value: ms for times, percent for shares, MiB for memory.
    pub fn value(self) -> f64 {
        match self {
            Self::Time(ns) => ns as f64 / 1e6,
            Self::Share(share) => share * 100.0,
            Self::Count(count) => count as f64,
            Self::Times(times) => times,
            Self::Size(bytes) => bytes as f64 / f64::from(1 << 20),
        }
    }
}

/// The names, for messages.
const NAMES: &str = "makespan, kernels, kernel, up, down, hidden, exposed, overlap, all_lanes, idle, blocked, \
                     efficiency, freedom, latency, latency_ratio, host_work, after_launches, after_downloads, after_uploads, \
                     queued_after_launches, queued_after_downloads, in_uploads, launches_before_held, first_upload, first_download, \
                     last_copy, first_upload_call, last_upload_call, last_download_call, fill, drain, wrong, memory";

/// A number of one run.
pub fn number(record: &Record, metric: &str) -> Result<Number, String> {
    let metrics = Metrics::of(&record.timeline);
    let missing = |what: &str| format!("this run has no {what}");
    Ok(match metric {
        "makespan" => Number::Time(metrics.makespan_ns),
        "kernels" => Number::Time(metrics.kernel.busy_ns),
        "kernel" => Number::Time(one_kernel(record).ok_or_else(|| missing("kernels"))?),
        "up" => Number::Time(metrics.host_to_device.busy_ns),
        "down" => Number::Time(metrics.device_to_host.busy_ns),
        "hidden" => Number::Share(metrics.hidden_fraction.ok_or_else(|| missing("copies"))?),
        "exposed" => Number::Time(metrics.exposed_copy_ns),
        "overlap" => Number::Share(metrics.overlap_share.ok_or_else(|| missing("work"))?),
        "all_lanes" => Number::Time(metrics.all_lanes_ns),
        "idle" => Number::Time(metrics.idle_ns),
        "blocked" => Number::Time(metrics.host_blocked_ns),
        "efficiency" => {
            let bounds = task(record)?;
            let efficiency = bounds.overlap_efficiency(metrics.makespan_ns);
            Number::Share(efficiency.ok_or_else(|| missing("overlap to gain"))?)
        }
        "freedom" => {
            let freedom = task(record)?.host_freedom(metrics.makespan_ns);
            Number::Share(freedom.ok_or_else(|| missing("task with work for the host"))?)
        }
        "latency" => Number::Time(latency(record)?),
        "latency_ratio" => {
            let ratio = task(record)?.latency_ratio(latency(record)?);
            Number::Share(ratio.ok_or_else(|| missing("task with requests"))?)
        }
        "host_work" => Number::Time(host_work(record)),
        "first_upload" => Number::Time(first(record, SpanKind::HostToDevice)?),
        "first_download" => Number::Time(first(record, SpanKind::DeviceToHost)?),
        "last_copy" => Number::Time(last_copy(record)?),
        "first_upload_call" => Number::Time(calls(record, Direction::HostToDevice)?.0),
        "last_upload_call" => Number::Time(calls(record, Direction::HostToDevice)?.1),
        "last_download_call" => Number::Time(calls(record, Direction::DeviceToHost)?.1),
        "fill" => Number::Time(ends(record)?.0),
        "drain" => Number::Time(ends(record)?.1),
        "after_launches" => Number::Time(host_leaves(record, Loop::Launches)?),
        "after_downloads" => Number::Time(host_leaves(record, Loop::Downloads)?),
        "after_uploads" => Number::Time(host_leaves(record, Loop::Uploads)?),
        "in_uploads" => {
            let (begin, end) = (Loop::Downloads, Loop::Uploads);
            let (begin, end) = (host_leaves(record, begin)?, host_leaves(record, end)?);
            Number::Time(end.saturating_sub(begin))
        }
        "queued_after_launches" | "queued_after_downloads" => {
            let which = match metric {
                "queued_after_launches" => Loop::Launches,
                _ => Loop::Downloads,
            };
            let left = host_leaves(record, which)? + record.timeline.extent().start_ns;
            let queued = record.timeline.spans.iter();
            Number::Count(
                queued.filter(|span| span.kind == SpanKind::Kernel && span.end_ns > left).count(),
            )
        }
        "launches_before_held" => Number::Count(launches_before_held(record)),
        "memory" => Number::Size(memory::peak(&record.program).bytes),
        "wrong" => Number::Share(wrong(record).ok_or_else(|| missing("outputs that are checked"))?),
        _ => return Err(format!("there is no metric `{metric}`; there are: {NAMES}")),
    })
}

/// The mean latency of requests. Where their arrival is not stated, the time between the first call
/// for a copy to the device and the end of the last copy.
fn latency(record: &Record) -> Result<u64, String> {
    if let Some(latency) = metrics::latency(&record.program, &record.timeline) {
        return Ok(latency.mean_ns);
    }
    let begin = record.timeline.extent().start_ns;
    let asks = |step: u32| {
        let call = record.program.steps.get(step as usize).map(|step| &step.call);
        call.and_then(Call::direction) == Some(Direction::HostToDevice)
    };
    let mut host = record.timeline.host.iter();
    let first = host.find(|host| host.start_ns >= begin && asks(host.step));
    let first = first.ok_or("this run has no request")?.start_ns - begin;
    Ok(last_copy(record)?.saturating_sub(first))
}

/// The share of the outputs' elements that are not what the task expects.
fn wrong(record: &Record) -> Option<f64> {
    record.trials.iter().find_map(|trial| match trial.output {
        Output::Unchecked => None,
        Output::Correct | Output::Unfounded { .. } => Some(0.0),
        Output::Wrong { wrong, of, .. } => Some(wrong as f64 / of as f64),
    })
}

/// How long a kernel takes: the middle one, by length.
fn one_kernel(record: &Record) -> Option<u64> {
    let kernels = record.timeline.spans.iter().filter(|span| span.kind == SpanKind::Kernel);
    let mut lengths: Vec<u64> = kernels.map(|span| span.end_ns - span.start_ns).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied()
}

/// How many launches returned at once before the first that blocked; all of them if none did.
fn launches_before_held(record: &Record) -> usize {
    let is_launch = |step: u32| {
        let step = record.program.steps.get(step as usize);
        matches!(step.map(|step| &step.call), Some(Call::Launch(_)))
    };
    let launches = record.timeline.host.iter().filter(|call| is_launch(call.step));
    launches.take_while(|call| call.blocked_ns == 0).count()
}

/// The work that the host declares in the region.
fn host_work(record: &Record) -> u64 {
    let extent = record.timeline.extent();
    let works = |step: u32| {
        let step = record.program.steps.get(step as usize);
        matches!(step.map(|step| &step.call), Some(Call::HostWork { .. }))
    };
    let inside = record.timeline.host.iter().filter(|call| works(call.step));
    inside.map(|call| Interval::new(call.start_ns, call.end_ns).clip(extent).ns()).sum()
}

/// When the first operation of a kind starts, counted from the start of the region.
fn first(record: &Record, kind: SpanKind) -> Result<u64, String> {
    let extent = record.timeline.extent();
    let starts = record.timeline.spans.iter().filter(|span| span.kind == kind);
    let inside = starts.map(|span| span.start_ns).filter(|start| *start >= extent.start_ns);
    let first = inside.min().ok_or("this run has no such copy")?;
    Ok(first - extent.start_ns)
}

/// When the last copy between host and device is done.
fn last_copy(record: &Record) -> Result<u64, String> {
    let extent = record.timeline.extent();
    let copies = record.timeline.spans.iter().filter(|span| span.kind.is_transfer());
    let last = copies.map(|span| span.end_ns).max().ok_or("this run has no copy")?;
    Ok(last.saturating_sub(extent.start_ns))
}

/// The time before the first kernel starts, and after the last one ends.
fn ends(record: &Record) -> Result<(u64, u64), String> {
    let extent = record.timeline.extent();
    let kernels = || record.timeline.spans.iter().filter(|span| span.kind == SpanKind::Kernel);
    let first = kernels().map(|span| span.start_ns).min().ok_or("this run has no kernel")?;
    let last = kernels().map(|span| span.end_ns).max().ok_or("this run has no kernel")?;
    Ok((first.saturating_sub(extent.start_ns), extent.end_ns.saturating_sub(last)))
}

/// How long the host was in the first call of the region that issues a copy in a direction, and in
/// the last.
fn calls(record: &Record, direction: Direction) -> Result<(u64, u64), String> {
    let begin = record.timeline.extent().start_ns;
    let call = |step: u32| record.program.steps.get(step as usize).map(|step| &step.call);
    let asks = |step| call(step).and_then(Call::direction) == Some(direction);
    let host = record.timeline.host.iter();
    let mut calls = host.filter(|host| host.start_ns >= begin && asks(host.step));
    let first = calls.next().ok_or("this run has no such copy, or its calls are not known")?;
    let last = calls.next_back().unwrap_or(first);
    Ok((first.end_ns - first.start_ns, last.end_ns - last.start_ns))
}

/// A loop of a program, by the calls that it makes.
#[derive(Clone, Copy)]
enum Loop {
    Launches,
    Downloads,
    Uploads,
}

/// When the last call of a loop returned, counted from the start of the region. A
/// wait that follows the call belongs to the loop.
fn host_leaves(record: &Record, which: Loop) -> Result<u64, String> {
    let steps = &record.program.steps;
    let inside = |call: &Call| match which {
        Loop::Launches => matches!(call, Call::Launch(_)),
        Loop::Downloads => call.direction() == Some(Direction::DeviceToHost),
        Loop::Uploads => call.direction() == Some(Direction::HostToDevice),
    };
    let last = steps.iter().rposition(|step| inside(&step.call));
    let mut last = last.ok_or("this run has no such loop")?;
    while matches!(steps.get(last + 1).map(|s| &s.call), Some(Call::StreamSynchronize { .. })) {
        last += 1;
    }
    let host = record.timeline.host.iter().find(|host| host.step as usize == last);
    let end = host.ok_or("the times of this run's calls are not known")?.end_ns;
    Ok(end.saturating_sub(record.timeline.extent().start_ns))
}

/// The two ends of the scale: of the task where the record has them, else of the program's work.
fn task(record: &Record) -> Result<Bounds, String> {
    if let Some(bounds) = record.trials.iter().find_map(|trial| trial.bounds) {
        return Ok(bounds);
    }
    let profile: Profile = toml::from_str(Profile::H200).map_err(|error| error.to_string())?;
    Ok(bounds_of_program(&record.program, &Arc::new(profile)))
}
