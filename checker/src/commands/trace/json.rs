//! A trace as one JSON object. Every key is always there, null where nothing is known.

use serde::Serialize;
use trace::draw::Row;
use trace::hazards::StreamNames;
use trace::import::Process;
use trace::metrics::critical_path::Sum;
use trace::metrics::idle::{Doing, Gaps};
use trace::metrics::{Blocked, Copies};
use trace::{Metrics, hazards};

use viewer::facts::Run;
use viewer::lines::NOT_SHOWN;
use viewer::source::Source;

use crate::report::json::{HazardObject, hazard};
use crate::report::sources::Sources;

/// Version of the object.
const FORMAT: u32 = 1;

#[derive(Debug, Serialize)]
pub(super) struct Object<'a> {
    format: u32,
    file: String,
    /// `kineto`, `chrome`, `record` or `timeline`.
    source: &'static str,
    /// As `cuDriverGetVersion` counts: 13000 is CUDA 13.0.
    driver: Option<u32>,
    devices: Vec<Device<'a>>,
    notes: Vec<String>,
    not_shown: &'static str,
}

#[derive(Debug, Serialize)]
struct Device<'a> {
    device_index: u32,
    process: Option<Process>,
    name: String,
    start_ns: u64,
    span_ns: u64,
    /// |kernels ∩ copies and memsets| / |anything|.
    overlap_share_of_busy: Option<f64>,
    metrics: &'a Metrics,
    streams: &'a [Row],
    copies: &'a [Copies],
    idle: &'a [Gaps],
    idle_host: &'a [Doing<'a>],
    critical_path: Vec<Sum>,
    held: &'a [Blocked<'a>],
    hazards: Option<Vec<HazardObject>>,
}

/// The object that stands for a trace.
pub(super) fn object<'a>(source: &Source, runs: &'a [Run<'a>]) -> Object<'a> {
    let devices = runs.iter().map(|run| Device {
        device_index: run.device.index,
        process: run.device.process.clone(),
        name: run.device.title(),
        start_ns: run.extent.start_ns,
        span_ns: run.extent.ns(),
        overlap_share_of_busy: run.metrics.overlap_share,
        metrics: &run.metrics,
        streams: &run.streams,
        copies: &run.copies,
        idle: &run.idle.causes,
        idle_host: &run.idle.host,
        critical_path: run.path.sums(),
        held: &run.blocked,
        hazards: run
            .hazards
            .as_ref()
            .map(|found: &Vec<hazards::Hazard>| found.iter().map(hazard_alone).collect()),
    });
    Object {
        format: FORMAT,
        file: source.name.clone(),
        source: source.format(),
        driver: source.driver(),
        devices: devices.collect(),
        notes: source.notes(),
        not_shown: NOT_SHOWN,
    }
}

/// A hazard in a program whose source is not at hand.
fn hazard_alone(found: &hazards::Hazard) -> HazardObject {
    hazard(found, &StreamNames::default(), &Sources::new())
}
