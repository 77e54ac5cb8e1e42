//! The capture waits for an event that was recorded before it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use cudarc::driver::sys::{
    CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE,
};
use lab::Result;
use lab::graphs::{Inference, Slot};

/// Answers all batches.
pub fn answer(inference: &Inference) -> Result<()> {
    let context = inference.context();
    let (main, side) = (&context.new_stream()?, &context.new_stream()?);
    let done = [context.new_event(None)?, context.new_event(None)?];
    let mut session = inference.allocate()?;

    // The clock runs from here to the end of the closure.
    session.region(|batches, slots, answers| {
        let mut graphs = Vec::new();
        for slot in slots.iter_mut() {
            done[0].record(main)?;
            main.begin_capture(MODE)?;
            main.wait(&done[0])?;
            issue(slot, [main, side])?;
            graphs.extend(main.end_capture(Flags(0))?);
        }
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // The images have been uploaded, and the answers downloaded.
            done[index].synchronize()?;
            answers.keep(slot)?;
            slot.load(batch)?;
            graphs[index].launch()?;
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
    side.join(main)?;
    slot.left(main)?;
    slot.right(side)?;
    main.join(side)?;
    slot.merge(main)?;
    main.memcpy_dtoh(&slot.device, &mut slot.answers)?;
    Ok(())
}
