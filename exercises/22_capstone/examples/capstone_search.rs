//! Searches the family of `capstone_steps` for its best schedule: every number of buffers, every stream for uploads and
//! augmentation, and a head that goes first or does not.
//!
//! ```sh
//! cargo build -p capstone --examples && target/debug/examples/capstone_search
//! ```

use std::process::{Command, ExitCode};

/// One schedule: its numbers, as they travel to the program, and how long it takes, in the program's own words.
fn measured(numbers: &str) -> Option<String> {
    let program = std::env::current_exe().ok()?.with_file_name("capstone_steps");
    let mut command = Command::new(program);
    command.env("SWIM_NUMBERS", numbers).env("SWIM_DEVICE", "sim");
    let output = command.output().ok().filter(|it| it.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    // What is wrong counts for nothing.
    text.contains("output correct").then(|| text.split(',').next().map(str::to_owned))?
}

#[expect(clippy::print_stdout, reason = "what was searched for")]
fn main() -> ExitCode {
    let mut found: Vec<(f64, String)> = Vec::new();
    for buffers in 1..=4 {
        for uploading in 0..3 {
            for augmenting in 0..3 {
                for training in 0..2 {
                    for first in 0..2 {
                        let numbers = format!(
                            "buffers={buffers},uploading={uploading},augmenting={augmenting},training={training},first={first}"
                        );
                        let time = measured(&numbers);
                        let ms = time.and_then(|it| it.strip_suffix(" ms")?.parse().ok());
                        found.extend(ms.map(|ms: f64| (ms, numbers)));
                    }
                }
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (ms, numbers) in found.iter().take(10) {
        println!("{ms:.2} ms  {numbers}");
    }
    println!("{} schedules", found.len());
    if found.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
