//! Tests of the package from outside.

mod critical_path;
mod draw;
mod fidelity;
mod fuzz;
mod hazards;
mod import;
mod metrics;
mod samples;
mod version;

#[path = "../kineto/mod.rs"]
mod kineto;
#[path = "../kineto/mutate.rs"]
mod mutate;
