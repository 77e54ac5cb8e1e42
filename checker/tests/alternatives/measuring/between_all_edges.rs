//! Between any two neighbouring starts and ends nothing changes: looks at each such piece.

use lab::Result;
use lab::measuring::{Engine, Operation, Readings, Run, Trace, Work};

/// Measures, and does the job.
pub fn run(work: &Work) -> Result<()> {
    work.run(measure, choose)
}

/// What a trace comes to.
fn measure(trace: &Trace) -> Readings {
    let mut readings = Readings::default();
    add_up(trace, &mut readings);
    readings = Readings::default();
    let inside = |ns: u64| ns.clamp(trace.start_ns, trace.end_ns);
    let mut edges = vec![trace.start_ns, trace.end_ns];
    for operation in &trace.operations {
        edges.extend([inside(operation.start_ns), inside(operation.end_ns)]);
    }
    edges.sort_unstable();
    edges.dedup();
    let mut gap_from = None;
    for pair in edges.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let [kernel, up, down] = [Engine::Kernels, Engine::ToDevice, Engine::ToHost].map(|engine| {
            let runs = |it: &Operation| it.engine == engine && it.start_ns <= from && to <= it.end_ns;
            trace.operations.iter().any(runs)
        });
        let ns = to - from;
        let count = [kernel, up, down].iter().filter(|it| **it).count();
        readings.busy_engines_ns[count] += ns;
        readings.kernels_ns += if kernel { ns } else { 0 };
        readings.to_device_ns += if up { ns } else { 0 };
        readings.to_host_ns += if down { ns } else { 0 };
        match (up || down, kernel) {
            (true, true) => readings.hidden_ns += ns,
            (true, false) => readings.exposed_ns += ns,
            _ => {}
        }
        if count == 0 {
            gap_from.get_or_insert(from);
        } else if let Some(start) = gap_from.take() {
            end_gap(trace, &mut readings, start, from);
        }
    }
    if let Some(start) = gap_from {
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
