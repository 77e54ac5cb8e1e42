//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(how_many_lanes_solution::process)
}
