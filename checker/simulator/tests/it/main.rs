//! The timing core, by programs that are written down here and simulated.

mod blocking;
mod causes;
mod engines;
mod graphs;
mod hostile;
mod mixed;
mod profiles;
mod program;
mod properties;
mod recorded;
mod threads;
