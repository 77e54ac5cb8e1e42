//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(default_stream_solution::process)
}
