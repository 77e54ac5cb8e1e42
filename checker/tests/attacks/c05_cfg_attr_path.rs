//! C05: the same, behind a condition

#[cfg_attr(all(), path = "@WORKSPACE@/solutions/01_first_launch/src/lib.rs")]
mod solution;

pub use solution::train;
