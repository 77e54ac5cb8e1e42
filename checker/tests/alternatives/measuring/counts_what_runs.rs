//! Counts what runs on each engine, from each start and end to the next.

use lab::Result;
use lab::measuring::{Engine, Readings, Run, Trace, Work};

/// Measures, and does the job.
pub fn run(work: &Work) -> Result<()> {
    work.run(measure, choose)
}

/// What a trace comes to.
fn measure(trace: &Trace) -> Readings {
    let mut readings = Readings::default();
    add_up(trace, &mut readings);
    readings = Readings::default();
    let mut changes = vec![(trace.start_ns, None), (trace.end_ns, None)];
    for it in trace.operations.iter().filter(|it| it.start_ns < it.end_ns) {
        let engine = it.engine as usize;
        changes.push((it.start_ns.max(trace.start_ns), Some((engine, 1))));
        changes.push((it.end_ns.min(trace.end_ns), Some((engine, -1))));
    }
    changes.sort_by_key(|it| it.0);
    let (mut running, mut at, mut idle_since) = ([0_i32; 3], trace.start_ns, None);
    for (ns, change) in changes {
        let busy = running.map(|it| it > 0);
        let count = busy.iter().filter(|it| **it).count();
        let passed = ns - at;
        if passed > 0 {
            if count == 0 {
                idle_since.get_or_insert(at);
            } else if let Some(start) = idle_since.take() {
                end_gap(trace, &mut readings, start, at);
            }
        }
        readings.busy_engines_ns[count] += passed;
        let sums =
            [&mut readings.kernels_ns, &mut readings.to_device_ns, &mut readings.to_host_ns];
        for (sum, _) in sums.into_iter().zip(busy).filter(|it| it.1) {
            *sum += passed;
        }
        if busy[1] || busy[2] {
            *(if busy[0] { &mut readings.hidden_ns } else { &mut readings.exposed_ns }) += passed;
        }
        at = ns;
        if let Some((engine, by)) = change {
            running[engine] += by;
        }
    }
    if let Some(start) = idle_since {
        end_gap(trace, &mut readings, start, trace.end_ns);
    }
    readings
}

/// Which run's plan the job is done by.
fn choose(runs: &[Run]) -> usize {
    let mut best = 0;
    for (index, run) in runs.iter().enumerate() {
        if hidden_share(run) > hidden_share(&runs[best]) {
            best = index;
        }
    }
    for (index, run) in runs.iter().enumerate() {
        if run.trace.makespan_ns() < runs[best].trace.makespan_ns() {
            best = index;
        }
    }
    best
}

/// Adds up the durations of each engine's operations.
fn add_up(trace: &Trace, readings: &mut Readings) {
    for operation in &trace.operations {
        let ns = operation.end_ns - operation.start_ns;
        match operation.engine {
            Engine::Kernels => readings.kernels_ns += ns,
            Engine::ToDevice => readings.to_device_ns += ns,
            Engine::ToHost => readings.to_host_ns += ns,
        }
    }
    let copies = readings.to_device_ns + readings.to_host_ns;
    readings.hidden_ns = copies.min(readings.kernels_ns);
    readings.exposed_ns = copies - readings.hidden_ns;
}

/// The share of the copying that a kernel hides.
fn hidden_share(run: &Run) -> f64 {
    let Readings { hidden_ns, exposed_ns, .. } = run.readings;
    hidden_ns as f64 / (hidden_ns + exposed_ns) as f64
}

/// Puts an idle time down to its reason.
fn end_gap(trace: &Trace, readings: &mut Readings, start: u64, end: u64) {
    let next = trace.operations.iter().find(|it| it.start_ns >= end);
    let reason = match next {
        None => &mut readings.idle_end_ns,
        Some(next) if next.issued_ns > start => &mut readings.idle_host_ns,
        Some(_) => &mut readings.idle_dependency_ns,
    };
    *reason += end - start;
}
