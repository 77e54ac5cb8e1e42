//! Tests of the package from outside.

mod draw;
mod fidelity;
mod hazards;
mod metrics;
mod samples;
mod version;
