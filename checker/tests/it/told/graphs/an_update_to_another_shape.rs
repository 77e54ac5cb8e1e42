//! The graph is a chain, and each batch is captured with two branches.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::sys::{
    self, CUgraphInstantiate_flags as Flags,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL as MODE,
};
use cudarc::driver::{CudaStream, result};
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
        main.begin_capture(MODE)?;
        issue(&mut slots[0], [main, main])?;
        let graph = main.end_capture(Flags(0))?.expect("the work of a batch");
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            // The images have been uploaded, and the answers downloaded.
            done[index].synchronize()?;
            answers.keep(slot)?;
            slot.load(batch)?;
            main.begin_capture(MODE)?;
            issue(slot, [main, side])?;
            // SAFETY: the stream is live, and what was captured is destroyed once it is in the other graph.
            unsafe {
                let captured = result::stream::end_capture(main.cu_stream())?;
                let mut info = MaybeUninit::zeroed();
                let graph = graph.cu_graph_exec();
                sys::cuGraphExecUpdate_v2(graph, captured, info.as_mut_ptr()).result()?;
                result::graph::destroy(captured)?;
            }
            graph.launch()?;
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
    if !Arc::ptr_eq(main, side) {
        side.join(main)?;
    }
    slot.left(main)?;
    slot.right(side)?;
    if !Arc::ptr_eq(main, side) {
        main.join(side)?;
    }
    slot.merge(main)?;
    main.memcpy_dtoh(&slot.device, &mut slot.answers)?;
    Ok(())
}
