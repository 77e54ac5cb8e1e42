//! Timelines that the tests measure and draw, built by hand.

use trace::observed::{Called, Observed};
use trace::program::StreamId;
use trace::timeline::{HostSpan, Interval, Origin, Span, SpanKind};
use trace::{Program, Timeline};

pub(crate) const KERNEL: SpanKind = SpanKind::Kernel;
pub(crate) const UP: SpanKind = SpanKind::HostToDevice;
pub(crate) const DOWN: SpanKind = SpanKind::DeviceToHost;
pub(crate) const INSIDE: SpanKind = SpanKind::DeviceToDevice;
pub(crate) const SET: SpanKind = SpanKind::Memset;

pub(crate) const LAUNCH: &str = "cuLaunchKernel";
pub(crate) const COPY: &str = "cuMemcpyHtoDAsync";

/// The `number`-th stream that a program creates, from 1.
pub(crate) fn stream(number: u32) -> StreamId {
    StreamId(StreamId::FIRST_CREATED + number - 1)
}

pub(crate) fn empty() -> Timeline {
    Timeline::new(Origin::Simulated { profile: "h200".into() })
}

/// A span of `kind` in `[start, end)`, in stream 1.
pub(crate) fn span(kind: SpanKind, start_ns: u64, end_ns: u64) -> Span {
    Span {
        step: 0,
        kind,
        name: (kind == KERNEL).then(|| "mix".into()),
        stream: stream(1),
        start_ns,
        end_ns,
        bytes: 0,
        host_memory: None,
    }
}

/// A timeline of these spans, over a region if one is given.
pub(crate) fn timeline(region: Option<(u64, u64)>, spans: &[(SpanKind, u64, u64)]) -> Timeline {
    let mut timeline = empty();
    timeline.region = region.map(|(start, end)| Interval::new(start, end));
    timeline.spans = spans.iter().map(|&(kind, start, end)| span(kind, start, end)).collect();
    timeline
}

/// A run whose times are written down in µs.
pub(crate) struct Run(pub(crate) Observed<'static>);

impl Run {
    pub(crate) fn new() -> Self {
        Self(Observed::of_timeline(empty()))
    }

    pub(crate) fn timeline(&mut self) -> &mut Timeline {
        &mut self.0.timeline
    }

    /// A call of a thread; its step. It holds the host for the last `held` µs.
    pub(crate) fn call(
        &mut self,
        name: &'static str,
        thread: u32,
        time: (u64, u64),
        held: u64,
    ) -> u32 {
        let step = self.0.calls.len() as u32;
        self.0.calls.push(Called { name, thread, holding: None, line: None });
        let (start_ns, end_ns, blocked_ns) = (us(time.0), us(time.1), us(held));
        self.timeline().host.push(HostSpan { step, start_ns, end_ns, blocked_ns });
        step
    }

    /// What a call issued in the `number`-th stream.
    pub(crate) fn work(&mut self, step: u32, kind: SpanKind, number: u32, time: (u64, u64)) {
        let work = Span { step, stream: stream(number), ..span(kind, us(time.0), us(time.1)) };
        self.timeline().spans.push(work);
    }

    /// A call of the first thread, and what it issued.
    pub(crate) fn issue(
        &mut self,
        kind: SpanKind,
        number: u32,
        called: (u64, u64),
        time: (u64, u64),
    ) -> u32 {
        let name = if kind == KERNEL { LAUNCH } else { COPY };
        let step = self.call(name, 0, called, 0);
        self.work(step, kind, number, time);
        step
    }
}

/// Numbers that look random and are the same everywhere (Knuth's MMIX generator).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// A number below `limit`.
    pub(crate) fn roll(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % limit
    }
}

/// Microseconds in ns.
pub(crate) const fn us(us: u64) -> u64 {
    us * 1000
}

/// A pipeline of `chunks` through copy up, kernel and copy down: each chunk in one of `streams`
/// streams, in turn, with one engine to a stage. One stream makes it serial.
pub(crate) fn pipeline(chunks: u32, streams: u32) -> Timeline {
    let stages = [(UP, us(350)), (KERNEL, us(330)), (DOWN, us(320))];
    let mut timeline = empty();
    let mut engine_free = [us(20); 3];
    let mut stream_free = vec![us(20); streams as usize];
    for chunk in 0..chunks {
        let lane = (chunk % streams) as usize;
        for (stage, (kind, ns)) in stages.into_iter().enumerate() {
            let start = engine_free[stage].max(stream_free[lane]);
            engine_free[stage] = start + ns;
            stream_free[lane] = start + ns;
            let step = chunk * 3 + stage as u32;
            timeline.spans.push(Span {
                step,
                stream: stream(lane as u32 + 1),
                bytes: if kind == KERNEL { 0 } else { 16 << 20 },
                ..span(kind, start, start + ns)
            });
            let issued = u64::from(step) * us(3);
            timeline.host.push(HostSpan {
                step,
                start_ns: issued,
                end_ns: issued + 2_600,
                blocked_ns: 0,
            });
        }
    }
    timeline.spans.sort_by_key(|span| (span.start_ns, span.step));
    let issued = us(3) * u64::from(chunks) * 3;
    let end_ns = timeline.spans.iter().map(|span| span.end_ns).max().unwrap_or(0) + us(5);
    timeline.host.push(HostSpan {
        step: chunks * 3,
        start_ns: issued,
        end_ns,
        blocked_ns: end_ns - issued - us(2),
    });
    timeline.region = Some(Interval::new(0, end_ns));
    timeline
}

/// A thousand kernels of 58 us in stream 1, a hundred copies down of 200 us in stream 2, each of
/// which holds the host, then a hundred copies up of 332 us in stream 3, which hold it too.
pub(crate) fn puzzle() -> Timeline {
    let mut timeline = empty();
    let (mut now, mut kernels_free) = (0, us(5));
    for step in 0..1000 {
        timeline.spans.push(Span { step, ..span(KERNEL, kernels_free, kernels_free + us(58)) });
        timeline.host.push(HostSpan { step, start_ns: now, end_ns: now + 2_600, blocked_ns: 0 });
        kernels_free += us(58);
        now += 2_600;
    }
    for (kind, lane, ns) in [(DOWN, 2, us(200)), (UP, 3, us(332))] {
        for _ in 0..100 {
            let step = timeline.host.len() as u32;
            let start = now + us(4);
            timeline.spans.push(Span {
                step,
                stream: stream(lane),
                bytes: 8 << 20,
                ..span(kind, start, start + ns)
            });
            let end_ns = start + ns + us(6);
            timeline.host.push(HostSpan { step, start_ns: now, end_ns, blocked_ns: ns + us(6) });
            now = end_ns;
        }
    }
    let end_ns = now.max(kernels_free) + us(3);
    let step = timeline.host.len() as u32;
    timeline.host.push(HostSpan { step, start_ns: now, end_ns, blocked_ns: end_ns - now - us(2) });
    timeline.spans.sort_by_key(|span| (span.start_ns, span.step));
    timeline.region = Some(Interval::new(0, end_ns));
    timeline
}

/// Two streams, the second of which waits for an event of the first; the host declares work.
pub(crate) fn waiting() -> (Program, Timeline) {
    use trace::program::{Call, EventId, Step};
    let mut program = Program::new(1);
    let calls = [
        Call::HostWork { ns: us(40), target: None },
        Call::HostFunction { stream: stream(1), accesses: vec![] },
        Call::EventRecord { event: EventId(0), stream: stream(1) },
        Call::StreamWait { stream: stream(2), event: EventId(0) },
        Call::HostFunction { stream: stream(2), accesses: vec![] },
        Call::ContextSynchronize,
    ];
    program.steps = calls
        .into_iter()
        .map(|call| Step { call, site: None, thread: 0, gap_ns: 0, result: 0, device: 0 })
        .collect();
    let mut timeline = timeline(Some((us(10), us(210))), &[]);
    timeline.spans = vec![
        Span { step: 1, ..span(UP, us(55), us(120)) },
        Span { step: 4, stream: stream(2), ..span(KERNEL, us(122), us(200)) },
    ];
    let host = [(10, 50, 0), (50, 53, 0), (53, 54, 0), (54, 55, 0), (55, 58, 0), (58, 205, 145)];
    timeline.host = (0..)
        .zip(host)
        .map(|(step, (start, end, blocked))| HostSpan {
            step,
            start_ns: us(start),
            end_ns: us(end),
            blocked_ns: us(blocked),
        })
        .collect();
    (program, timeline)
}
