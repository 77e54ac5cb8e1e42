//! A matrix multiplication and multiply-adds, each on half of the multiprocessors. Streams: {n}.

use lab::tensor_and_cuda_cores::{Kernel, multiprocessors};
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let n = lab.number("n", 2)?;
    let context = lab.context();
    let streams = (0..n).map(|_| context.new_stream()).collect::<Result<Vec<_>, _>>()?;
    let blocks = multiprocessors(lab)?;
    let mut matmul = Kernel::matmul(lab)?;
    let mut fma = Kernel::multiply_adds(lab)?;
    lab.region(|| {
        matmul.launch(&streams[0], blocks / 2)?;
        fma.launch(&streams[n - 1], blocks / 2)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
