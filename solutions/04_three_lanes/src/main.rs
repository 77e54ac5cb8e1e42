//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(three_lanes_solution::swim)
}
