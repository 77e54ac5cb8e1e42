//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(measuring_solution::run)
}
