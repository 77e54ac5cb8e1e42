//! When operations start and end, out of the record of the traced section.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use trace::Record;
use trace::program::{Call, Place};
use trace::timeline::{Method, Origin, SpanKind};

/// Of the small copies and memsets, in bytes.
pub(crate) const SMALL: u64 = 4 << 10;
/// A kernel that takes longer only passes time, in ns.
const LONG: u64 = 200_000;

/// Durations of the smallest operations, and how long after its call a pageable upload starts.
pub(crate) fn samples(record: &Record) -> Result<BTreeMap<String, Vec<i64>>> {
    if let Origin::Measured { method, .. } = &record.timeline.origin
        && *method != Method::Cupti
    {
        bail!("there is no CUPTI: {}", record.notes.join("; "));
    }
    let called: BTreeMap<u32, u64> =
        record.timeline.host.iter().map(|call| (call.step, call.start_ns)).collect();
    let mut samples: BTreeMap<&str, Vec<i64>> = BTreeMap::new();
    // An upload in pieces has a span for each: the first one counts.
    let mut uploads: BTreeMap<u32, u64> = BTreeMap::new();
    for span in &record.timeline.spans {
        let ns = span.end_ns.saturating_sub(span.start_ns);
        let call = record.program.steps.get(span.step as usize).map(|step| &step.call);
        if let Some(Call::Copy { source: Place::Pageable, .. }) = call {
            let first = uploads.entry(span.step).or_insert(span.start_ns);
            *first = span.start_ns.min(*first);
            continue;
        }
        let key = match span.kind {
            SpanKind::Kernel if ns < LONG => "span_kernel_ns",
            SpanKind::HostToDevice if span.bytes == SMALL => "span_h2d_ns",
            SpanKind::DeviceToHost if span.bytes == SMALL => "span_d2h_ns",
            SpanKind::Memset if span.bytes == SMALL => "span_memset_ns",
            _ => continue,
        };
        samples.entry(key).or_default().push(signed(ns));
    }
    for (step, start_ns) in uploads {
        if let Some(called) = called.get(&step) {
            let lead = start_ns.saturating_sub(*called);
            samples.entry("pageable_h2d_lead_ns").or_default().push(signed(lead));
        }
    }
    Ok(samples.into_iter().map(|(key, samples)| (key.to_owned(), samples)).collect())
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}
