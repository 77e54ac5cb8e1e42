//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(chapter_name_solution::solve)
}
