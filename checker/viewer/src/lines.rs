//! The facts about a run as lines, each a name and a value.

use std::fmt::Write as _;

use trace::draw::duration;
use trace::metrics::critical_path::Part;
use trace::metrics::idle::Cause;
use trace::metrics::{Copies, Usage};
use trace::observed::Holding;
use trace::timeline::{HostMemory, SpanKind};
use trace::words::{counted, times};

use crate::facts::Run;
use crate::source::Source;

/// The limits of every trace.
pub const NOT_SHOWN: &str = "a trace shows what ran and when, not which memory was used: it \
    cannot show races, nor whether a wait was needed";

/// Lines of one list; the rest is summed up.
const MOST: usize = 8;

/// The file in a line: `run.json · a trace of PyTorch's profiler · driver for CUDA 13.0`.
pub fn headline(source: &Source) -> String {
    let name = std::path::Path::new(&source.name);
    let name = name.file_name().unwrap_or(name.as_os_str());
    let mut parts = vec![name.to_string_lossy().into_owned()];
    parts.push(
        match source.format() {
            "kineto" => "a trace of PyTorch's profiler",
            "chrome" => "a trace in Chrome's format",
            "record" => "a recorded run",
            _ => "a recorded timeline",
        }
        .into(),
    );
    if let Some(driver) = source.driver() {
        parts.push(format!("driver for CUDA {}.{}", driver / 1000, driver % 1000 / 10));
    }
    parts.join(" · ")
}

/// A name, which begins with two spaces for each level below the first, and a value.
pub type Line = (String, String);

/// The name of a line about such work.
fn words(kind: SpanKind) -> &'static str {
    match kind {
        SpanKind::HostToDevice => "  to device",
        SpanKind::Kernel => "  kernels",
        SpanKind::DeviceToHost => "  to host",
        SpanKind::DeviceToDevice => "  inside device",
        SpanKind::PeerToPeer => "  between devices",
        SpanKind::HostToHost => "  inside host",
        SpanKind::Memset => "  memsets",
        SpanKind::HostFunction => "  host functions",
    }
}

/// All lines of a run.
pub fn lines(run: &Run<'_>) -> Vec<Line> {
    let metrics = &run.metrics;
    let mut lines = Vec::new();
    let whole = run.extent.ns();
    let mut add = |name: &str, value: String| lines.push((name.to_owned(), value));
    add("span", duration(whole));
    add("busy", share(metrics.busy_ns, whole));
    for (kind, usage) in [
        (SpanKind::HostToDevice, Some(metrics.host_to_device)),
        (SpanKind::Kernel, Some(metrics.kernel)),
        (SpanKind::DeviceToHost, Some(metrics.device_to_host)),
        (SpanKind::DeviceToDevice, Some(metrics.device_to_device)),
        (SpanKind::PeerToPeer, Some(metrics.peer_to_peer)),
        (SpanKind::HostToHost, None),
        (SpanKind::Memset, Some(metrics.memset)),
        (SpanKind::HostFunction, None),
    ] {
        if let Some((_, count)) = run.operations.iter().find(|(of, _)| *of == kind) {
            let others = if kind == SpanKind::Kernel { metrics.communications } else { 0 };
            if *count > others {
                add(words(kind), engine(count - others, usage, whole));
            }
            if others > 0 {
                add("  communication", engine(others, Some(metrics.communication), whole));
            }
        }
    }
    for row in run.streams.iter().take(MOST) {
        add(&format!("  {}", row.lane), share(row.busy_ns, whole));
    }
    if run.streams.len() > MOST {
        add("", format!("and {} more streams", run.streams.len() - MOST));
    }
    if metrics.copies_ns > 0 {
        add("copies", duration(metrics.copies_ns));
        add(
            "  hidden",
            format!("{} beside kernels", share(metrics.hidden_copy_ns, metrics.copies_ns)),
        );
        add("  exposed", share(metrics.exposed_copy_ns, metrics.copies_ns));
    }
    let pairs = [
        ("  kernels, to device", metrics.kernel_host_to_device_ns),
        ("  kernels, to host", metrics.kernel_device_to_host_ns),
        ("  both directions", metrics.both_directions_ns),
        ("  all three", metrics.all_lanes_ns),
    ];
    let memory_ns = [
        metrics.device_to_device.busy_ns,
        metrics.peer_to_peer.busy_ns,
        metrics.memset.busy_ns,
        metrics.copies_ns,
    ];
    if let Some(value) = metrics.overlap_share.filter(|_| memory_ns.iter().any(|&ns| ns > 0)) {
        add("overlap", format!("{value:.3} of busy time, a kernel beside a copy or a memset"));
        for (name, ns) in pairs.into_iter().filter(|_| metrics.copies_ns > 0) {
            add(name, share(ns, whole));
        }
    }
    if metrics.communications > 0 {
        let hidden = share(metrics.hidden_communication_ns, metrics.communication.busy_ns);
        add("communication", duration(metrics.communication.busy_ns));
        add("  hidden", format!("{hidden} beside kernels, as Holistic Trace Analysis counts it"));
    }
    idle(run, &mut lines);
    path(run, &mut lines);
    copies(run, &mut lines);
    blocked(run, &mut lines);
    lines
}

/// `58.3 ms, 84 %`
fn share(ns: u64, whole: u64) -> String {
    format!("{}, {}", duration(ns), trace::draw::scale::percent(ns, whole))
}

fn engine(count: u64, usage: Option<Usage>, whole: u64) -> String {
    let operations = counted(count as usize, "operation");
    let Some(usage) = usage else { return operations };
    let mut text = format!("{}, {operations}", share(usage.busy_ns, whole));
    if usage.work_ns > usage.busy_ns {
        _ = write!(text, " of {} together", duration(usage.work_ns));
    }
    text
}

fn idle(run: &Run<'_>, lines: &mut Vec<Line>) {
    lines.push(("idle".into(), share(run.metrics.idle_ns, run.extent.ns())));
    for gaps in &run.idle.causes {
        let (name, why) = match gaps.cause {
            Cause::Host => ("  host", "the next operation was not asked for yet"),
            Cause::Dependency => ("  dependency", "it was asked for, and waited for its turn"),
            Cause::EmptyQueue => ("  empty queue", "nothing followed"),
            Cause::Unknown => ("  unknown", "its call is not in the trace"),
        };
        let count = counted(gaps.gaps as usize, "gap");
        let from = duration(gaps.longest.start_ns.saturating_sub(run.extent.start_ns));
        let longest = duration(gaps.longest.ns());
        let text = format!("{}, {count}: {why}", duration(gaps.ns));
        lines.push((name.into(), text));
        lines.push((String::new(), format!("the longest {longest}, from {from}")));
        if gaps.cause == Cause::Host {
            meanwhile(run, lines);
        }
    }
}

/// Adds the work of the host while the device waited for it.
fn meanwhile(run: &Run<'_>, lines: &mut Vec<Line>) {
    for doing in run.idle.host.iter().take(3) {
        let call = doing.call.unwrap_or("its own code, between calls");
        let text = format!("{} in {call}{}", duration(doing.ns), at(doing.line));
        lines.push(("    meanwhile".into(), text));
    }
}

fn path(run: &Run<'_>, lines: &mut Vec<Line>) {
    let sums = run.path.sums();
    if sums.is_empty() {
        return;
    }
    let parts = run.path.segments.len();
    lines.push((
        "critical path".into(),
        match parts {
            1 => "a single part".to_owned(),
            parts => format!("{parts} parts, one after the other"),
        },
    ));
    for sum in sums {
        let name = match sum.part {
            Part::Work(kind) => words(kind),
            // Nothing in the file says what that was.
            _ if run.device.observed.calls.is_empty() => "  unknown",
            Part::Launch => "  launching",
            Part::Turnaround => "  turnaround",
            Part::Host => "  host",
        };
        lines.push((
            name.into(),
            format!("{}, {}", share(sum.ns, run.extent.ns()), times(sum.parts)),
        ));
    }
}

fn copies(run: &Run<'_>, lines: &mut Vec<Line>) {
    if run.pageable().next().is_none() {
        return;
    }
    lines.push(("pageable copies".into(), String::new()));
    for copies in run.copies.iter().filter(|copies| copies.host_memory.is_some()) {
        let way = if copies.kind == SpanKind::HostToDevice { "to device" } else { "to host" };
        let pageable = copies.host_memory == Some(HostMemory::Pageable);
        let name = if pageable { format!("  {way}") } else { format!("  ({way}, pinned)") };
        lines.push((name, amount(copies)));
    }
}

/// `100 copies, 419 MB at 12.5 GB/s`
fn amount(copies: &Copies) -> String {
    // Bytes per ns are GB/s.
    let rate = (copies.ns > 0).then(|| copies.bytes as f64 / copies.ns as f64);
    let rate = rate.map(|rate| format!(" at {rate:.1} GB/s")).unwrap_or_default();
    let megabytes = copies.bytes as f64 / 1e6;
    format!("{} copies, {megabytes:.1} MB in {}{rate}", copies.copies, duration(copies.ns))
}

fn blocked(run: &Run<'_>, lines: &mut Vec<Line>) {
    if run.blocked.is_empty() {
        return;
    }
    let total = run
        .blocked
        .iter()
        .filter(|blocked| blocked.why.waits())
        .map(|blocked| blocked.ns)
        .fold(0, u64::saturating_add);
    let text = format!("{} in calls that hold it", duration(total));
    lines.push(("host held".into(), text));
    for blocked in run.blocked.iter().take(MOST) {
        let times = times(blocked.calls);
        let longest = match blocked.calls {
            1 => String::new(),
            _ => format!(", the longest {}", duration(blocked.longest_ns)),
        };
        let (call, why) = (blocked.call, blocked.why.label());
        let text = format!(
            "{} in {call}{}: {why}, {times}{longest}",
            duration(blocked.ns),
            at(blocked.line)
        );
        lines.push((String::from("  ") + kind(blocked.why), text));
    }
    if run.blocked.len() > MOST {
        lines.push((String::new(), format!("and {} more calls", run.blocked.len() - MOST)));
    }
}

fn kind(why: Holding) -> &'static str {
    match why {
        Holding::Wait => "wait",
        Holding::PageableCopy => "pageable copy",
        Holding::Free => "free",
        Holding::Allocation => "allocation",
        Holding::Load => "load",
        Holding::Other => "other",
    }
}

fn at(line: Option<&str>) -> String {
    line.map(|line| format!(" at {line}")).unwrap_or_default()
}
