//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(frozen_encoder_solution::train)
}
