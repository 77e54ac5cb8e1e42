//! A matrix multiplication, and then a streaming map of {each} blocks on each multiprocessor in another stream.

use lab::tensor_and_cuda_cores::{Kernel, multiprocessors};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let blocks = multiprocessors(lab)?;
    let each: u32 = lab.number("each", 8)?;
    let mut matmul = Kernel::matmul(lab)?;
    let mut map = Kernel::streaming_map(lab)?;
    lab.region(|| {
        matmul.launch(&streams[1], blocks)?;
        map.launch(&streams[0], each * blocks)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
