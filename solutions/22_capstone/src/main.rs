//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(capstone_solution::train)
}
