//! # CUDA graphs: the whole river in one call
//!
//! A server answers one batch after the other. The host loads a batch into pinned memory, which takes it 30 µs. Then the
//! batch is uploaded, a small network makes answers of it in 18 kernels, and these are downloaded. A kernel takes about
//! 3 µs, and so does its launch: the host spends more time on issuing a batch than on loading it.
//!
//! The 20 operations are the same for each batch, and so is the memory of each of the two `slots`.
//!
//! **Your task:** have the host spend its time on loading. Capture the work of a slot in a graph, once, and launch
//! that for each batch. Then the device sets the pace: let the two branches of the network run side by side in the graph.
//! Run `cargo run -- run graphs` and look at the host's row.
//!
//! `stream.begin_capture(MODE)?` begins a capture, and `stream.end_capture(FLAGS)?` returns a graph, which is `None` if there
//! was nothing to capture; `graph.launch()?` launches it into the same stream. `side.join(&main)?` lets `side` wait for
//! what is in `main` so far. Edit between the `region` marks only; lines are added and moved, none is changed.

use std::sync::Arc;

use cudarc::driver::CudaStream;
#[allow(unused_imports, reason = "for the capture")]
use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE,
};
use lab::Result;
use lab::graphs::{Inference, Slot};

/// Answers all batches.
pub fn answer(inference: &Inference) -> Result<()> {
    let context = inference.context();
    let streams = [
        context.new_stream()?,
        // region: streams
        context.new_stream()?,
        // endregion
    ];
    // With one stream, the right branch shares it with everything else.
    let (main, side) = (&streams[0], &streams[1 % streams.len()]);
    let done = [context.new_event(None)?, context.new_event(None)?];
    let mut session = inference.allocate()?;

    // The clock runs from here to the end of the closure.
    session.region(|batches, slots, answers| {
        // region: before the first batch
        let mut graphs = Vec::new();
        for slot in slots.iter_mut() {
            main.begin_capture(MODE)?;
            issue(slot, [main, side])?;
            graphs.extend(main.end_capture(Flags(0))?);
        }
        // endregion
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // The images have been uploaded, and the answers downloaded.
            done[index].synchronize()?;
            answers.keep(slot)?;
            slot.load(batch)?;
            // region: the work of a batch
            graphs[index].launch()?;
            // endregion
            done[index].record(main)?;
        }
        context.synchronize()?;
        slots.iter().try_for_each(|slot| answers.keep(slot))
    })
}

/// Issues the work of a batch.
fn issue(slot: &mut Slot, [main, side]: [&Arc<CudaStream>; 2]) -> Result<()> {
    main.memcpy_htod(&slot.images, &mut slot.device)?;
    slot.stem(main)?;
    // region: before the branches
    side.join(main)?;
    // endregion
    slot.left(main)?;
    slot.right(side)?;
    // region: after the branches
    main.join(side)?;
    // endregion
    slot.merge(main)?;
    main.memcpy_dtoh(&slot.device, &mut slot.answers)?;
    Ok(())
}
