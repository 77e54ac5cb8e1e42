//! The timing core, by programs that are written down here and simulated.

mod blocking;
mod engines;
mod graphs;
mod program;
mod properties;
