//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(wrapper_tracking_solution::process)
}
