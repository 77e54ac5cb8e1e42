//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(events_solution::relay)
}
