//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(chunked_pipeline_solution::pipeline)
}
