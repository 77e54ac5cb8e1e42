//! A matrix multiplication, and then a streaming map that fills the device. Streams: {n}.

use lab::tensor_and_cuda_cores::{Kernel, multiprocessors};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 2)?;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let blocks = multiprocessors(lab)?;
    let mut matmul = Kernel::matmul(lab)?;
    let mut map = Kernel::streaming_map(lab)?;
    lab.region(|| {
        matmul.launch(&streams[0], blocks)?;
        map.launch(&streams[n - 1], 8 * blocks)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
