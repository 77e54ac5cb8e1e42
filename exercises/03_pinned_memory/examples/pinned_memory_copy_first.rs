//! The copy is issued first, then the kernels, in another stream.

mod door;

use door::Work;
use lab::{Lab, Result};

fn issue(work: &mut Work) -> Result<()> {
    work.first.memcpy_htod(&work.images, &mut work.next)?;
    work.matmul.launch_times(&work.second, 32)?;
    Ok(())
}

fn program(lab: &Lab) -> Result<()> {
    let mut work = Work::new(lab)?;
    lab.region(|| {
        issue(&mut work)?;
        lab.context().synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
