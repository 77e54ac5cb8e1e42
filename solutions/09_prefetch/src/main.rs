//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(prefetch_solution::train)
}
