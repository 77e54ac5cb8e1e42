//! The baseline of `measuring`: the job in turn, each chunk after the one before.

use lab::measuring::Work;

fn main() -> std::process::ExitCode {
    lab::exercise!(Work::in_turn)
}
