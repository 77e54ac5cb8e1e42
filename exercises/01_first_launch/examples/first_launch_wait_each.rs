//! The host waits for each kernel before it launches the next.

mod clock;

use clock::print;
use lab::matmul::Matmul;
use lab::{Instant, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut matmul = Matmul::new(lab)?;
    lab.region(|| {
        let start = Instant::now()?;
        for _ in 0..200 {
            matmul.launch(&stream)?;
            stream.synchronize()?;
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
