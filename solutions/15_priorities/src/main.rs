//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(priorities_solution::serve)
}
