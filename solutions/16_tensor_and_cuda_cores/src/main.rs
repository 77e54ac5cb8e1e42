//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(tensor_and_cuda_cores_solution::compute)
}
