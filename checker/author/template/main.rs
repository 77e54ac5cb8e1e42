//! Starts the exercise. The file to edit is `lib.rs`.

fn main() -> std::process::ExitCode {
    lab::exercise!(chapter_name::solve)
}
