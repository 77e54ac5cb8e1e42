//! Starts the solution.

fn main() -> std::process::ExitCode {
    lab::driver::connections(1);
    lab::exercise!(issue_order_solution::pipeline)
}
