//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(implicit_sync_solution::serve)
}
