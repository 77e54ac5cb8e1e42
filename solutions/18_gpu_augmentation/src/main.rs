//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(gpu_augmentation_solution::train)
}
