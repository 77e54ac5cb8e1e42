//! The program with the commands for a class; everything is in the library beside it.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    checker::main(class::dispatch)
}

#[cfg(not(target_os = "linux"))]
fn main() -> ExitCode {
    ExitCode::from(4) // the checker itself says why
}
