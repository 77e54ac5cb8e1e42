//! The program; everything is in the library beside it.

use std::process::ExitCode;

#[cfg(target_os = "linux")]
fn main() -> ExitCode {
    checker::main(checker::commands::dispatch)
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::print_stderr, reason = "the printer is not part of this build")]
fn main() -> ExitCode {
    eprintln!(
        "{}",
        concat!(
            "error: the exercises run on Linux and on WSL2 alone, because the driver takes the place of ",
            "`libcuda.so`\n\nhint: on Windows use WSL2, elsewhere the container described in README.md",
        )
    );
    ExitCode::from(4)
}
