//! Takes the run in which the kernels are busy for the largest share of the time.

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
    let [kernels, up, down] =
        [Engine::Kernels, Engine::ToDevice, Engine::ToHost].map(|it| times(trace, &[it]));
    let copies = times(trace, &[Engine::ToDevice, Engine::ToHost]);
    let all = times(trace, &[Engine::Kernels, Engine::ToDevice, Engine::ToHost]);
    (readings.kernels_ns, readings.to_device_ns, readings.to_host_ns) =
        (ns(&kernels), ns(&up), ns(&down));
    readings.hidden_ns = ns(&copies) + ns(&kernels) - ns(&all);
    readings.exposed_ns = ns(&copies) - readings.hidden_ns;

    let both = |a: &[(u64, u64)], b: &[(u64, u64)]| {
        let mut common = Vec::new();
        for &(start, end) in a {
            let parts = b.iter().map(|it| (it.0.max(start), it.1.min(end)));
            common.extend(parts.filter(|it| it.0 < it.1));
        }
        common
    };
    let pairs = [both(&kernels, &up), both(&kernels, &down), both(&up, &down)];
    let three = ns(&both(&pairs[0], &down));
    let two = pairs.iter().map(|it| ns(it)).sum::<u64>() - 3 * three;
    let one = ns(&all) - two - three;
    readings.busy_engines_ns = [trace.makespan_ns() - ns(&all), one, two, three];

    let starts = all.iter().map(|it| it.0).chain([trace.end_ns]);
    let ends = [trace.start_ns].into_iter().chain(all.iter().map(|it| it.1));
    for (start, end) in ends.zip(starts).filter(|it| it.0 < it.1) {
        *match trace.operations.iter().find(|it| it.start_ns >= end) {
            None => &mut readings.idle_end_ns,
            Some(next) if next.issued_ns > start => &mut readings.idle_host_ns,
            Some(_) => &mut readings.idle_dependency_ns,
        } += end - start;
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
    let busy = |run: &Run| run.readings.kernels_ns as f64 / run.trace.makespan_ns() as f64;
    for (index, run) in runs.iter().enumerate() {
        if busy(run) > busy(&runs[best]) {
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

/// When at least one of these engines ran, as intervals that do not touch, in order and inside the window.
fn times(trace: &Trace, engines: &[Engine]) -> Vec<(u64, u64)> {
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for operation in trace.operations.iter().filter(|it| engines.contains(&it.engine)) {
        let start = operation.start_ns.max(trace.start_ns);
        let end = operation.end_ns.min(trace.end_ns);
        match merged.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ if start < end => merged.push((start, end)),
            _ => {}
        }
    }
    merged
}

fn ns(times: &[(u64, u64)]) -> u64 {
    times.iter().map(|it| it.1 - it.0).sum()
}
