//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(fork_join_solution::forward)
}
