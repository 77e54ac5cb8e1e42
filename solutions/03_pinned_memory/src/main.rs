//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(pinned_memory_solution::evaluate)
}
