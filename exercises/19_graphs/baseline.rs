//! The baseline of `graphs`: the work of each batch is issued call by call, in one stream. Correct, and the host is busy with
//! calls for more than half of the time.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::Result;
use lab::graphs::{Inference, Slot};

fn answer(inference: &Inference) -> Result<()> {
    let context = inference.context();
    let main = &context.new_stream()?;
    let done = [context.new_event(None)?, context.new_event(None)?];
    let mut session = inference.allocate()?;

    session.region(|batches, slots, answers| {
        for batch in batches {
            let index = batch.number % 2;
            let slot = &mut slots[index];
            done[index].synchronize()?;
            answers.keep(slot)?;
            slot.load(batch)?;
            issue(slot, main)?;
            done[index].record(main)?;
        }
        context.synchronize()?;
        slots.iter().try_for_each(|slot| answers.keep(slot))
    })
}

fn issue(slot: &mut Slot, main: &Arc<CudaStream>) -> Result<()> {
    main.memcpy_htod(&slot.images, &mut slot.device)?;
    slot.stem(main)?;
    slot.left(main)?;
    slot.right(main)?;
    slot.merge(main)?;
    main.memcpy_dtoh(&slot.device, &mut slot.answers)?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::exercise!(answer)
}
