//! # Issue order: who goes first?
//!
//! An array goes up, through a map and down, in 32 chunks. Four streams take them by turns, each chunk all the
//! way, so no event is needed: a stream keeps the steps of its chunks in order.
//!
//! The host asks step by step: for all copies up, then for all maps, then for all copies down. And one thing is
//! narrower than usual: each engine has a single work queue, where by default it has several; some frameworks
//! have it so. What the host asks for goes through it in the order in which it was asked for, whatever its
//! stream, and what cannot start yet holds up all that is behind it.
//!
//! **Your task:** another order, in which all three engines have work from beginning to end. Run
//! `cargo run -- run issue_order`: its lanes are streams, so look at when each kind of work begins and ends.
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

    // What the host asks for, in this order: steps, and the chunks that they are for.
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
