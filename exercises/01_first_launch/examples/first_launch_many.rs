//! The first program once more, with ten times as many launches.
//!
//! Run it with `cargo run -- run first_launch --program many`.

mod clock;

use clock::print;
use lab::matmul::Matmul;
use lab::{Instant, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut matmul = Matmul::new(lab)?;
    lab.region(|| {
        let start = Instant::now()?;
        for _ in 0..2000 {
            matmul.launch(&stream)?;
        }
        print(start.elapsed()?);
        lab.context().synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
