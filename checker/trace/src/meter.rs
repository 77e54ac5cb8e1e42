//! The readings that a meter has to give: the intervals of a run, and the numbers that they come
//! to.
//!
//! The numbers are those of [`Metrics`] and [`idle`]: a meter that a reader writes is compared with
//! what the checker itself says of the same intervals. The traces that are kept here are moved and
//! stretched by a seed, so that no number of theirs is known beforehand.

use serde::{Deserialize, Serialize};

use crate::Timeline;
use crate::metrics::{Metrics, idle};
use crate::observed::Observed;
use crate::program::StreamId;
use crate::timeline::{HostSpan, Interval, Origin, Span, SpanKind};

/// Engines that do the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Engine {
    /// The multiprocessors: kernels.
    Kernels,
    /// The copy engine from host to device.
    ToDevice,
    /// The copy engine from device to host.
    ToHost,
}

/// An operation of the device. All times are in ns, on one clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The engine that did it.
    pub engine: Engine,
    /// The stream that it was in.
    pub stream: u32,
    /// When the host's call began that issued it.
    pub issued_ns: u64,
    /// When it started.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// A run: a window of time, and the operations of one device. Those that are there run from before
/// the window or until after it as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// When the window begins.
    pub start_ns: u64,
    /// When it ends.
    pub end_ns: u64,
    /// In the order in which they started.
    pub operations: Vec<Operation>,
}

/// Readings of a run, in ns of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Readings {
    /// Time in which at least one kernel ran.
    pub kernels_ns: u64,
    /// Time in which at least one copy to the device ran.
    pub to_device_ns: u64,
    /// Time in which at least one copy to the host ran.
    pub to_host_ns: u64,
    /// Time in which none, one, two, all three of the engines were busy.
    pub busy_engines_ns: [u64; 4],
    /// Time in which a copy and a kernel ran.
    pub hidden_ns: u64,
    /// Time in which a copy ran and no kernel did.
    pub exposed_ns: u64,
    /// Time in which nothing ran, where the operation that came next had not been issued when it
    /// began.
    pub idle_host_ns: u64,
    /// The same, where that operation had been issued.
    pub idle_dependency_ns: u64,
    /// The same, where no operation came next.
    pub idle_end_ns: u64,
}

/// The names of the numbers, in the order of [`Readings::values`].
pub const NAMES: [&str; Readings::COUNT] = [
    "kernels_ns",
    "to_device_ns",
    "to_host_ns",
    "busy_engines_ns[0]",
    "busy_engines_ns[1]",
    "busy_engines_ns[2]",
    "busy_engines_ns[3]",
    "hidden_ns",
    "exposed_ns",
    "idle_host_ns",
    "idle_dependency_ns",
    "idle_end_ns",
];

impl Readings {
    /// How many numbers there are.
    pub const COUNT: usize = 12;

    /// All numbers, in the order of [`NAMES`].
    pub fn values(&self) -> [u64; Self::COUNT] {
        let [none, one, two, three] = self.busy_engines_ns;
        [
            self.kernels_ns,
            self.to_device_ns,
            self.to_host_ns,
            none,
            one,
            two,
            three,
            self.hidden_ns,
            self.exposed_ns,
            self.idle_host_ns,
            self.idle_dependency_ns,
            self.idle_end_ns,
        ]
    }
}

/// The checker's readings of a run.
pub fn read(trace: &Trace) -> Readings {
    let timeline = trace.timeline();
    let metrics = Metrics::of(&timeline);
    let [kernels, up, down] =
        [metrics.kernel, metrics.host_to_device, metrics.device_to_host].map(|it| it.busy_ns);
    let three = metrics.all_lanes_ns;
    let pairs = metrics.kernel_host_to_device_ns
        + metrics.kernel_device_to_host_ns
        + metrics.both_directions_ns;
    let two = pairs - 3 * three;
    let one = kernels + up + down - 2 * two - 3 * three;
    let observed = Observed::of_timeline(timeline);
    let idle = idle(&observed).causes;
    let because = |cause| idle.iter().find(|it| it.cause == cause).map_or(0, |it| it.ns);
    Readings {
        kernels_ns: kernels,
        to_device_ns: up,
        to_host_ns: down,
        busy_engines_ns: [metrics.idle_ns, one, two, three],
        hidden_ns: metrics.hidden_copy_ns,
        exposed_ns: metrics.exposed_copy_ns,
        idle_host_ns: because(idle::Cause::Host),
        idle_dependency_ns: because(idle::Cause::Dependency),
        idle_end_ns: because(idle::Cause::EmptyQueue),
    }
}

impl Trace {
    /// The region of a timeline, and its kernels and copies between host and device.
    pub fn of(name: &str, timeline: &Timeline) -> Self {
        let extent = timeline.extent();
        let issued = |step: u32| {
            let at = timeline.host.partition_point(|call| call.step < step);
            timeline.host.get(at).filter(|call| call.step == step).map(|call| call.start_ns)
        };
        let operation = |span: &Span| {
            let engine = match span.kind {
                SpanKind::Kernel => Engine::Kernels,
                SpanKind::HostToDevice => Engine::ToDevice,
                SpanKind::DeviceToHost => Engine::ToHost,
                _ => return None,
            };
            let (start_ns, end_ns) = (span.start_ns, span.end_ns);
            (end_ns > extent.start_ns && start_ns < extent.end_ns).then_some(Operation {
                engine,
                stream: span.stream.0,
                issued_ns: issued(span.step)?,
                start_ns,
                end_ns,
            })
        };
        let (start_ns, end_ns) = (extent.start_ns, extent.end_ns);
        let mut operations: Vec<_> = timeline.spans.iter().filter_map(operation).collect();
        operations.sort_by_key(|operation| operation.start_ns);
        Self { name: name.to_owned(), start_ns, end_ns, operations }
    }

    /// How long the window is, in ns.
    pub fn makespan_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    fn timeline(&self) -> Timeline {
        let mut timeline = Timeline::new(Origin::Simulated { profile: String::new() });
        timeline.region = Some(Interval::new(self.start_ns, self.end_ns));
        for (step, operation) in (0..).zip(&self.operations) {
            let &Operation { engine, stream, issued_ns, start_ns, end_ns } = operation;
            let kind = match engine {
                Engine::Kernels => SpanKind::Kernel,
                Engine::ToDevice => SpanKind::HostToDevice,
                Engine::ToHost => SpanKind::DeviceToHost,
            };
            timeline.spans.push(Span {
                step,
                kind,
                name: None,
                stream: StreamId(stream),
                start_ns,
                end_ns,
                bytes: 0,
                host_memory: None,
            });
            let (start_ns, end_ns) = (issued_ns, issued_ns);
            timeline.host.push(HostSpan { step, start_ns, end_ns, blocked_ns: 0 });
        }
        timeline
    }

    /// The same run at another time, and slower.
    fn moved(self, seed: u64) -> Self {
        // Both are small enough for the times to stay far from their limits.
        let (factor, later) = (1 + (seed & 0xff) % 5, (seed >> 8) % 1_000_000_007);
        let at = |ns: u64| ns * factor + later;
        let operation = |it: Operation| Operation {
            issued_ns: at(it.issued_ns),
            start_ns: at(it.start_ns),
            end_ns: at(it.end_ns),
            ..it
        };
        Self {
            name: self.name,
            start_ns: at(self.start_ns),
            end_ns: at(self.end_ns),
            operations: self.operations.into_iter().map(operation).collect(),
        }
    }

    /// One that is kept: a line with its window, then a line for each operation.
    fn parse(name: &str, text: &str) -> Option<Self> {
        let mut lines = text.lines().filter(|line| !line.starts_with('#'));
        let numbers = |line: &str| -> Option<Vec<u64>> {
            line.split_whitespace().map(|word| word.parse().ok()).collect()
        };
        let window = numbers(lines.next()?)?;
        let operation = |line: &str| {
            let (engine, rest) = line.split_at_checked(1)?;
            let engine = match engine {
                "k" => Engine::Kernels,
                ">" => Engine::ToDevice,
                "<" => Engine::ToHost,
                _ => return None,
            };
            let [stream, issued_ns, start_ns, end_ns] = numbers(rest)?[..] else { return None };
            let stream = u32::try_from(stream).ok()?;
            Some(Operation { engine, stream, issued_ns, start_ns, end_ns })
        };
        let operations = lines.map(operation).collect::<Option<_>>()?;
        let [start_ns, end_ns] = window[..] else { return None };
        Some(Self { name: name.to_owned(), start_ns, end_ns, operations })
    }
}

/// The traces that are kept, moved by a seed.
pub fn kept(seed: u64) -> Vec<Trace> {
    const KEPT: [(&str, &str); 5] = [
        ("corners", include_str!("meter/corners.txt")),
        ("edges", include_str!("meter/edges.txt")),
        ("PyTorch's `three_lanes`", include_str!("meter/three_lanes.txt")),
        ("PyTorch's `wrapper_tracking`", include_str!("meter/wrapper_tracking.txt")),
        ("PyTorch's `buffer_lifetime`", include_str!("meter/buffer_lifetime.txt")),
    ];
    let parsed = KEPT.iter().filter_map(|(name, text)| Trace::parse(name, text));
    parsed.map(|trace| trace.moved(seed)).collect()
}

/// Words for the readings of all traces that are kept: two for each number, the lower one first.
pub const KEPT_WORDS: usize = 5 * 2 * Readings::COUNT;

/// The readings of the kept traces, as words of 32 bits.
pub fn kept_words(seed: u64) -> Vec<u32> {
    kept(seed).iter().flat_map(|trace| words(&read(trace))).collect()
}

/// Readings in words, two for each number, the lower one first.
pub fn words(readings: &Readings) -> Vec<u32> {
    readings.values().iter().flat_map(|&value| [value as u32, (value >> 32) as u32]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kept_trace_reads_and_each_number_of_it_is_something_somewhere() {
        let traces = kept(7);
        assert_eq!(traces.len() * 2 * Readings::COUNT, KEPT_WORDS);
        assert_eq!(kept_words(7).len(), KEPT_WORDS);
        let readings: Vec<_> = traces.iter().map(|trace| read(trace).values()).collect();
        for (index, name) in NAMES.iter().enumerate() {
            assert!(readings.iter().any(|values| values[index] > 0), "{name} is 0 everywhere");
        }
        for (trace, values) in traces.iter().zip(&readings) {
            let engines: u64 = values[3..7].iter().sum();
            assert_eq!(engines, trace.makespan_ns(), "{}", trace.name);
            assert_eq!(values[9..].iter().sum::<u64>(), values[3], "{}", trace.name);
            let starts: Vec<_> = trace.operations.iter().map(|it| it.start_ns).collect();
            assert!(starts.is_sorted(), "{}", trace.name);
        }
    }

    #[test]
    fn a_seed_moves_and_stretches_a_trace_and_changes_no_share() {
        let [one, other] = [0, 3 + (1234 << 8)].map(|seed| kept(seed).swap_remove(2));
        let [a, b] = [&one, &other].map(|trace| read(trace).values());
        assert_eq!(a.map(|value| 4 * value), b);
        assert_eq!(other.start_ns, 4 * one.start_ns + 1234);
    }

    #[test]
    fn corners_and_edges_come_to_what_they_come_to_by_hand() {
        let readings = kept(0).iter().map(read).collect::<Vec<_>>();
        let corners = Readings {
            kernels_ns: 30 + 100 + 20 + 40,
            to_device_ns: 60 + 20,
            to_host_ns: 110 + 60,
            busy_engines_ns: [640, 280, 80, 0],
            hidden_ns: 10 + 50,
            exposed_ns: 50 + 60 + 60,
            idle_host_ns: 60 + 240,
            idle_dependency_ns: 100 + 180,
            idle_end_ns: 60,
        };
        let edges = Readings {
            kernels_ns: 60,
            to_device_ns: 50,
            busy_engines_ns: [10, 70, 20, 0],
            hidden_ns: 20,
            exposed_ns: 30,
            idle_dependency_ns: 10,
            ..Readings::default()
        };
        assert_eq!(readings[..2], [corners, edges]);
    }
}
