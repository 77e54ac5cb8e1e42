//! A record in the JSON format of Chrome's tracer, which Perfetto opens too.

use serde_json::{Value, json};
use trace::Record;
use trace::program::Call;

/// The process that stands for the host, and the one that stands for the device.
const HOST: u32 = 0;
const DEVICE: u32 = 1;

/// The whole run: one event for each call of the host and for each operation of the device.
pub fn export(record: &Record) -> String {
    let mut events = vec![name(HOST, None, "host"), name(DEVICE, None, "device")];
    let mut streams: Vec<_> = record.timeline.spans.iter().map(|span| span.stream).collect();
    streams.sort_unstable();
    streams.dedup();
    for stream in streams {
        events.push(name(DEVICE, Some(stream.0), &stream.to_string()));
    }
    for host in &record.timeline.host {
        let step = record.program.steps.get(host.step as usize);
        let title = step.map_or("call".to_owned(), |step| title(&step.call));
        let line = step.and_then(|step| record.program.site(step)).map(ToString::to_string);
        events.push(json!({
            "ph": "X", "name": title, "cat": "call", "pid": HOST, "tid": step.map_or(0, |s| s.thread),
            "ts": micros(host.start_ns), "dur": micros(host.end_ns - host.start_ns),
            "args": {"step": host.step, "blocked_us": micros(host.blocked_ns), "line": line},
        }));
    }
    for span in &record.timeline.spans {
        let kind = serde_json::to_value(span.kind).unwrap_or_default();
        let title = if span.name.is_empty() { kind.clone() } else { json!(span.name) };
        events.push(json!({
            "ph": "X", "name": title, "cat": kind, "pid": DEVICE, "tid": span.stream.0,
            "ts": micros(span.start_ns), "dur": micros(span.end_ns - span.start_ns),
            "args": {"step": span.step, "bytes": span.bytes, "host_memory": span.host_memory},
        }));
    }
    let origin = json!(record.timeline.origin);
    json!({"displayTimeUnit": "ns", "otherData": {"origin": origin}, "traceEvents": events})
        .to_string()
}

fn name(process: u32, thread: Option<u32>, name: &str) -> Value {
    let what = if thread.is_some() { "thread_name" } else { "process_name" };
    json!({"ph": "M", "name": what, "pid": process, "tid": thread.unwrap_or(0), "args": {"name": name}})
}

/// The format counts in µs, with fractions.
fn micros(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

/// The variant's name, as in the record: `launch`, `stream_synchronize`.
fn title(call: &Call) -> String {
    match serde_json::to_value(call) {
        Ok(Value::String(name)) => name,
        Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
        _ => String::new(),
    }
}
