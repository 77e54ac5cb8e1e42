//! Two events around the kernels measure the time, in place of a clock.

mod clock;

use std::time::Duration;

use clock::print;
use cudarc::driver::sys::CUevent_flags;
use lab::matmul::Matmul;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let stream = lab.context().new_stream()?;
    let mut matmul = Matmul::new(lab)?;
    let timed = Some(CUevent_flags::CU_EVENT_DEFAULT);
    lab.region(|| {
        let start = stream.record_event(timed)?;
        for _ in 0..100 {
            matmul.launch(&stream)?;
        }
        for _ in 0..100 {
            matmul.launch(&stream)?;
        }
        let end = stream.record_event(timed)?;
        end.synchronize()?;
        print(Duration::from_secs_f32(start.elapsed_ms(&end)? / 1e3));
        lab.context().synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
