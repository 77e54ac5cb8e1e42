//! Starts the exercise. Yours to edit is `lib.rs`.

fn main() -> std::process::ExitCode {
    lab::exercise!(buffer_lifetime::process)
}
