//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::exercise!(peers_solution::send_round)
}
