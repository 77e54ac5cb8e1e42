//! Which chapters of the book are about what a run lost its time to.

use std::collections::BTreeMap;

use trace::draw::duration;
use trace::metrics::idle::{Cause, Doing, Gaps};
use trace::observed::{HOST_WORK, Holding};
use trace::timeline::SpanKind;

use crate::facts::Run;

/// The part of a run below which no chapter is worth its time: one fiftieth.
const LEAST: u64 = 50;

/// A kernel that is shorter takes the host as long to launch, in ns: some microseconds a launch,
/// and as much for what a framework does around it.
const SHORT_KERNEL_NS: u64 = 20_000;

/// Gaps between operations of one stream take 1 to 7 µs and cannot be removed; longer ones, in ns,
/// are waits.
const LEAST_GAP_NS: u64 = 10_000;

/// Lessons that are told.
const MOST: usize = 4;

/// Time that a run lost, and the chapter that is about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lesson {
    /// The chapter's page, without its ending; also the name of its exercise.
    pub chapter: &'static str,
    /// How long, in ns. Two lessons may be about the same instants.
    pub ns: u64,
    /// The thing that happened in that time.
    pub what: &'static str,
}

impl Lesson {
    /// `15.3 ms in which copies of pageable memory hold the host`
    pub fn text(&self) -> String {
        format!("{} in which {}", duration(self.ns), self.what)
    }
}

/// The lessons of a run, the most time first.
pub fn lessons(run: &Run<'_>) -> Vec<Lesson> {
    let mut found: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let mut add = |chapter, what, ns: u64| {
        let sum: &mut u64 = found.entry((chapter, what)).or_default();
        *sum = sum.saturating_add(ns);
    };
    let (metrics, extent_ns) = (&run.metrics, run.extent.ns());
    let pageable_ns = run.pageable().map(|copies| copies.ns).sum();
    add("pinned_memory", "copies of pageable memory run and hold the host", pageable_ns);
    if metrics.kernel.busy_ns > 0 {
        let exposed_ns = metrics.exposed_copy_ns.saturating_sub(pageable_ns);
        add("three_lanes", "a copy runs and no kernel does", exposed_ns);
    }
    add(
        "peers",
        "devices exchange data and no other kernel runs",
        metrics.communication.busy_ns - metrics.hidden_communication_ns,
    );
    for doing in &run.idle.host {
        if let Some((chapter, what)) = meanwhile(run, doing) {
            add(chapter, what, doing.ns);
        }
    }
    let is_wait = |gaps: &&Gaps| {
        gaps.cause == Cause::Dependency && gaps.ns / gaps.gaps.max(1) >= LEAST_GAP_NS
    };
    for gaps in run.idle.causes.iter().filter(is_wait) {
        add("events", "the device is idle and work that was issued waits for its turn", gaps.ns);
    }
    let mut lessons: Vec<Lesson> =
        found.into_iter().map(|((chapter, what), ns)| Lesson { chapter, ns, what }).collect();
    lessons.retain(|lesson| lesson.ns > 0 && lesson.ns >= extent_ns / LEAST);
    lessons.sort_by_key(|lesson| std::cmp::Reverse(lesson.ns));
    lessons.truncate(MOST);
    lessons
}

/// The chapter about what the host did while the device waited for it, if there is one.
fn meanwhile(run: &Run<'_>, doing: &Doing<'_>) -> Option<(&'static str, &'static str)> {
    let own_code = match has_short_kernels(run) {
        true => ("graphs", "the device is idle between short kernels that come one by one"),
        false => ("prefetch", "the device is idle and the host runs code of its own"),
    };
    let Some(call) = doing.call.filter(|call| *call != HOST_WORK) else { return Some(own_code) };
    let issues = ["Launch", "Memcpy", "Memset"].iter().any(|name| call.contains(name));
    Some(match Holding::of(call, false) {
        Some(Holding::Wait | Holding::PageableCopy | Holding::Other) => {
            ("prefetch", "the device is idle and the host is in a call that waits")
        }
        Some(Holding::Free | Holding::Allocation | Holding::Load) => (
            "implicit_sync",
            "the device is idle and the host allocates or frees memory, or loads code",
        ),
        None if issues => {
            ("graphs", "the device is idle and the host is in a call that issues work")
        }
        None => return None,
    })
}

fn has_short_kernels(run: &Run<'_>) -> bool {
    let is_kernel = |(kind, _): &&(SpanKind, u64)| *kind == SpanKind::Kernel;
    let kernels = run.operations.iter().find(is_kernel).map_or(0, |(_, count)| *count);
    kernels > 0 && run.metrics.kernel.work_ns / kernels < SHORT_KERNEL_NS
}
