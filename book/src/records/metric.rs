//! The numbers that a page may name.

use std::fmt;

use simulator::Profile;
use simulator::bounds::bounds_of_program;
use trace::Record;
use trace::draw::duration;
use trace::metrics::{Bounds, Metrics};
use trace::program::{Call, Direction};
use trace::timeline::SpanKind;

/// A number with its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A time in ns.
    Time(u64),
    /// A part of a whole.
    Share(f64),
    /// A ratio that is not a part.
    Ratio(f64),
    /// How many.
    Count(usize),
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            // A number and its unit stay on one line.
            Self::Time(ns) => f.write_str(&duration(ns).replace(' ', "\u{a0}")),
            Self::Share(share) => write!(f, "{:.0}\u{a0}%", share * 100.0),
            Self::Ratio(ratio) => write!(f, "{ratio:.2}"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

impl Number {
    /// Its value: ms for times, percent for shares.
    pub fn value(self) -> f64 {
        match self {
            Self::Time(ns) => ns as f64 / 1e6,
            Self::Share(share) => share * 100.0,
            Self::Ratio(ratio) => ratio,
            Self::Count(count) => count as f64,
        }
    }
}

/// The names, for messages.
const NAMES: &str = "makespan, kernels, up, down, hidden, exposed, overlap, all_lanes, idle, blocked, \
                     efficiency, after_launches, after_downloads, after_uploads, queued_after_launches, \
                     first_upload, first_download";

/// A number of one run.
pub fn number(record: &Record, metric: &str) -> Result<Number, String> {
    let metrics = Metrics::of(&record.timeline);
    let missing = |what: &str| format!("this run has no {what}");
    Ok(match metric {
        "makespan" => Number::Time(metrics.makespan_ns),
        "kernels" => Number::Time(metrics.kernel.busy_ns),
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
            Number::Ratio(efficiency.ok_or_else(|| missing("overlap to gain"))?)
        }
        "first_upload" => Number::Time(first(record, SpanKind::HostToDevice)?),
        "first_download" => Number::Time(first(record, SpanKind::DeviceToHost)?),
        "after_launches" => Number::Time(host_leaves(record, Loop::Launches)?),
        "after_downloads" => Number::Time(host_leaves(record, Loop::Downloads)?),
        "after_uploads" => Number::Time(host_leaves(record, Loop::Uploads)?),
        "queued_after_launches" => {
            let left = host_leaves(record, Loop::Launches)? + record.timeline.extent().start_ns;
            let queued = record.timeline.spans.iter();
            Number::Count(
                queued.filter(|span| span.kind == SpanKind::Kernel && span.end_ns > left).count(),
            )
        }
        _ => return Err(format!("there is no metric `{metric}`; there are: {NAMES}")),
    })
}

/// When the first operation of a kind starts, counted from the start of the region.
fn first(record: &Record, kind: SpanKind) -> Result<u64, String> {
    let extent = record.timeline.extent();
    let starts = record.timeline.spans.iter().filter(|span| span.kind == kind);
    let inside = starts.map(|span| span.start_ns).filter(|start| *start >= extent.start_ns);
    let first = inside.min().ok_or("this run has no such copy")?;
    Ok(first - extent.start_ns)
}

/// A loop of a program, by the calls that it makes.
#[derive(Clone, Copy)]
enum Loop {
    Launches,
    Downloads,
    Uploads,
}

/// When the host came back from the last call of a loop, counted from the start of the region. A wait
/// that follows the call belongs to the loop.
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

/// The two ends of the scale: of the task where the record has them, else of what the program asks for.
fn task(record: &Record) -> Result<Bounds, String> {
    if let Some(bounds) = record.trials.iter().find_map(|trial| trial.bounds) {
        return Ok(bounds);
    }
    let profile: Profile = toml::from_str(Profile::H200).map_err(|error| error.to_string())?;
    bounds_of_program(&record.program, &profile).map_err(|error| error.to_string())
}
