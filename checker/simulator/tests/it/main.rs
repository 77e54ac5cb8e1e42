//! The timing core, by programs that are written down here and simulated.

mod blocking;
mod bounds;
mod cache;
mod causes;
mod contained;
mod engines;
mod first_calls;
mod graphs;
mod held;
mod host_cache;
mod hostile;
mod judging;
mod kept;
mod mixed;
mod orders;
mod pairs;
mod peers;
mod pools;
mod process;
mod profiles;
mod program;
mod properties;
mod recorded;
mod threads;
mod two_devices;
mod waits;

#[path = "../../../trace/tests/it/hazards/script.rs"]
mod script;

#[path = "../figures/mod.rs"]
mod figures;
