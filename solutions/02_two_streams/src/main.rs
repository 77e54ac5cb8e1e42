//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(two_streams_solution::swim)
}
