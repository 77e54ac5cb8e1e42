//! Two halves of each batch on two streams, with cudarc's event tracking on.

use lab::exercise::Exercise;
use lab::wrapper_tracking::Work;
use lab::{Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let work = Work::open(lab)?;
    let context = work.context();
    let upload = context.new_stream()?;
    let left = context.new_stream()?;
    let right = context.new_stream()?;
    let mut batches = work.short()?;
    let half = batches.half();
    let mut inputs = [upload.alloc_zeros(2 * half)?, upload.alloc_zeros(2 * half)?];
    let mut results = upload.alloc_zeros(2 * half)?;
    let (mut left_result, mut right_result) = results.split_at_mut(half);
    batches.region(|batches| {
        for (number, batch) in batches.iter_mut().enumerate() {
            let input = &mut inputs[number % 2];
            upload.memcpy_htod(&batch.input, input)?;
            let (left_input, right_input) = input.split_at(half);
            work.map(&left, &left_input, &mut left_result)?;
            work.map(&right, &right_input, &mut right_result)?;
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
