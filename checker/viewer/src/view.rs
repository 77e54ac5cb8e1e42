//! The drawing of devices, and the part of their runs that is looked at.

use trace::draw::{Lanes, Layout, Panel};
use trace::timeline::Interval;

use crate::facts::Run;
use crate::source::Device;

/// Streams that can be told apart in one drawing; with more, rows are engines.
const MOST_STREAMS: usize = 8;

/// Streams as rows, or engines where there are too many streams.
pub fn lanes(devices: &[Device<'_>]) -> Lanes {
    let few = |device: &Device<'_>| device.streams() <= MOST_STREAMS;
    if devices.iter().all(few) { Lanes::Streams } else { Lanes::Engines }
}

/// Looks at a part alone: `part` is given where the first operation of all devices starts and where
/// the last one of a device ends, in ns.
pub fn look(devices: &mut [Device<'_>], part: impl Fn(u64, u64) -> Interval) {
    let starts = devices.iter().map(|device| device.observed.timeline.extent().start_ns);
    let start_ns = starts.min().unwrap_or(0);
    for device in devices {
        let timeline = &mut device.observed.timeline;
        timeline.region = Some(part(start_ns, timeline.extent().end_ns));
    }
}

/// One chart for each device, on one axis.
pub fn layout(runs: &[Run<'_>], lanes: Lanes) -> Layout {
    let titles: Vec<String> = runs.iter().map(|run| run.device.title()).collect();
    let panels: Vec<Panel<'_>> = runs
        .iter()
        .zip(&titles)
        .map(|(run, title)| Panel {
            title,
            timeline: &run.device.observed.timeline,
            program: run.device.program,
        })
        .collect();
    Layout::new(&panels, lanes)
}
