//! Tests of the package from outside.

mod draw;
mod metrics;
mod samples;
mod version;
