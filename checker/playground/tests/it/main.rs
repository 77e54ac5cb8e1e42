//! The small language for host programs.

mod exercises;
mod mistakes;
mod shown;

#[path = "../../../simulator/tests/figures/mod.rs"]
mod figures;
