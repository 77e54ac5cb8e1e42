//! A streaming map that fills the device, and then a matrix multiplication in a stream of the highest priority.

use cudarc::driver::result::stream::get_priority_range;
use lab::tensor_and_cuda_cores::{Kernel, multiprocessors};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let (_least, highest) = get_priority_range()?;
    let fast = context.new_stream_with_priority(highest)?;
    let stream = context.new_stream()?;
    let blocks = multiprocessors(lab)?;
    let mut matmul = Kernel::matmul(lab)?;
    let mut map = Kernel::streaming_map(lab)?;
    lab.region(|| {
        map.launch(&stream, 8 * blocks)?;
        matmul.launch(&fast, blocks)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
