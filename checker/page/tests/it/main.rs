//! The small language for host programs.

mod exercises;
mod mistakes;
mod shown;
