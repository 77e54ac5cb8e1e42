//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(buffer_lifetime_solution::process)
}
