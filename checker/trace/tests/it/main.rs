//! Tests of the package from outside.

mod draw;
mod hazards;
mod metrics;
mod samples;
mod version;
