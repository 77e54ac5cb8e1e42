//! A drawing in rows of numbers: for those who cannot see it, and for print.

use serde::Serialize;

use crate::Timeline;
use crate::draw::Lanes;
use crate::draw::layout::lanes_of;
use crate::metrics::Coverage;
use crate::timeline::HostSpan;

/// One row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The lane, as the drawing names it, or `host blocked`.
    pub lane: String,
    /// How long it was busy, in ns.
    pub busy_ns: u64,
    /// That time as a share of the makespan; none where the makespan is 0.
    pub share: Option<f64>,
}

/// One row for each lane of `timeline`, and a first one for the time in which the host was blocked
/// where its calls are known.
pub fn table(timeline: &Timeline, lanes: Lanes) -> Vec<Row> {
    let extent = timeline.extent();
    let row = |lane: String, covered: Coverage| {
        let busy_ns = covered.ns();
        let share = (extent.ns() > 0).then(|| busy_ns as f64 / extent.ns() as f64);
        Row { lane, busy_ns, share }
    };
    let mut rows = Vec::new();
    if !timeline.host.is_empty() {
        let blocked = timeline.host.iter().map(HostSpan::blocked);
        rows.push(row("host blocked".into(), Coverage::of(blocked.map(|i| i.clip(extent)))));
    }
    for (label, spans) in lanes_of(timeline, None, lanes) {
        let intervals = spans.iter().map(|span| span.interval().clip(extent));
        rows.push(row(label, Coverage::of(intervals)));
    }
    rows
}
