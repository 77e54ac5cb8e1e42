//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(first_launch_solution::train)
}
