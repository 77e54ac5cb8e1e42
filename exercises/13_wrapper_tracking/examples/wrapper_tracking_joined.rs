//! The left kernel is launched first, and each upload waits for the stream of that kernel.

use lab::exercise::Exercise;
use lab::matmul::Matmul;
use lab::wrapper_tracking::Work;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let upload = context.new_stream()?;
    let left = context.new_stream()?;
    let right = context.new_stream()?;
    let mut matmul = Matmul::new(lab)?;
    let mut batches = work.short()?;
    let half = batches.half();
    let mut input = upload.alloc_zeros(2 * half)?;
    let mut left_result = upload.alloc_zeros(half)?;
    let mut right_result = upload.alloc_zeros(half)?;
    batches.region(|batches| {
        for batch in batches {
            upload.join(&left)?;
            upload.memcpy_htod(&batch.input, &mut input)?;
            let (left_input, right_input) = input.split_at(half);
            for _ in 0..60 {
                matmul.launch(&left)?;
            }
            work.map(&left, &left_input, &mut left_result.as_view_mut())?;
            work.map(&right, &right_input, &mut right_result.as_view_mut())?;
            left.memcpy_dtoh(&left_result, &mut batch.left)?;
            right.memcpy_dtoh(&right_result, &mut batch.right)?;
        }
        context.synchronize()?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
