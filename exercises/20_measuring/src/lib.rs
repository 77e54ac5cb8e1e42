//! # Measuring overlap
//!
//! This time you write the instrument. `measure` is given a trace: a window of time, and the operations that a device did.
//! It fills in twelve numbers, all in ns of the window. `choose` is given one run of each of four plans for a job, with the numbers
//! that `measure` found. It takes one, and the job is done by that plan.
//!
//! The numbers are compared with the checker's own, on traces of PyTorch, on two small traces that were made by hand, on the
//! four runs, and on the run that counts. They have to be equal, to the ns.
//!
//! | number | time in which |
//! | --- | --- |
//! | `kernels_ns`, `to_device_ns`, `to_host_ns` | at least one kernel, copy to the device, copy to the host ran |
//! | `busy_engines_ns[n]` | exactly `n` of these three engines were busy |
//! | `hidden_ns`, `exposed_ns` | a copy ran, and a kernel ran too, or no kernel did |
//! | `idle_host_ns` | nothing ran, and the next operation had not been issued when that began |
//! | `idle_dependency_ns` | nothing ran, and the next operation had been issued by then |
//! | `idle_end_ns` | nothing ran, and no operation came next |
//!
//! What is there adds up durations. That is wrong as soon as two operations run at the same time.
//!
//! **Your task:** measure time and not work, and choose by the number that counts. Run `cargo run -- run measuring`: it says
//! which numbers are wrong, and in which trace.
//!
//! - An operation has `engine`, `stream`, `issued_ns`, `start_ns` and `end_ns`. The list is in the order in which they started.
//! - Operations may run from before the window or until after it. What is outside of the window does not count.
//! - `runs[i].trace.makespan_ns()` says how long a run took.
//!
//! Edit between the `region` marks only. Lines are added: what you write into `readings` takes the place of what is there.

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
    // region: measure
    // endregion
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
    // region: choose
    // endregion
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

// region: helpers
// endregion
