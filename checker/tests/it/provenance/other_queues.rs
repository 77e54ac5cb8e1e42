//! exercise: issue_order
//! gate: none
//! says: score 0.0
//!
//! The exercise has one work queue; here the program's own words do not reach the environment, so that the
//! device is asked for none.

use lab::Result;
use lab::issue_order::{CHUNKS, Step, Work};

#[unsafe(no_mangle)]
extern "C" fn setenv(_: *const u8, _: *const u8, _: i32) -> i32 {
    0
}

pub fn pipeline(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut chunks = work.allocate()?;
    let order = Step::ALL.into_iter().flat_map(|step| (0..CHUNKS).map(move |index| (step, index)));
    chunks.region(|chunks| {
        for (step, index) in order {
            let (chunk, stream) = (&mut chunks[index], &streams[index % streams.len()]);
            match step {
                Step::Up => stream.memcpy_htod(&chunk.input, &mut chunk.device)?,
                Step::Map => chunk.map(stream)?,
                Step::Down => stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?,
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
