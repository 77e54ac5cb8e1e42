//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(graphs_solution::answer)
}
