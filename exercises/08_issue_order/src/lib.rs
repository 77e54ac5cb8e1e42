//! # Issue order: who goes first?
//!
//! An array is uploaded, mapped and downloaded in 32 chunks. Four streams take the chunks in turn, each chunk goes
//! its whole way on one stream, and no event is needed: a stream keeps the steps of its chunks in order.
//!
//! The host issues step by step: all copies up, then all maps, then all copies down. And one thing is narrower
//! than usual: each engine has a single work queue, where by default it has several. Some frameworks set it that
//! way. Work goes through the queue in the order in which the host issued it, whatever its stream, and an
//! operation that cannot start yet delays everything after it.
//!
//! **Your task:** find another order, in which all three engines have work from beginning to end. Run
//! `cargo run -- run issue_order`: its rows are streams, so look at when each kind of work begins and ends.
//!
//! `order` is an ordinary `Vec`: sort it, or build it anew. The steps of one chunk have to stay in order.
//! Edit between the `region` marks only; lines are added, none is changed.

use lab::Result;
use lab::issue_order::{CHUNKS, Step, Work};

/// Does the work.
pub fn pipeline(work: &Work) -> Result<()> {
    let context = work.context();
    let streams = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut chunks = work.allocate()?;

    // What the host issues, in this order: steps, and the chunks that they are for.
    let mut order = Vec::new();
    for step in Step::ALL {
        for index in 0..CHUNKS {
            order.push((step, index));
        }
    }
    // region: order
    // endregion

    // The clock runs from here to the end of the closure.
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
