//! One thread loads and asks for the rest; another waits for what comes back, and keeps it.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use lab::Result;
use lab::prefetch::Feed;
use lab::prefetch::Slot;
use lab::thread;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        let (to_keeper, done) = thread::channel::<(&mut Slot, &Arc<CudaStream>)>()?;
        let (to_loader, free) = thread::channel()?;
        for lane in slots.iter_mut().zip(&streams) {
            assert!(to_loader.send(lane).is_ok());
        }
        thread::scope(|scope| {
            let keeper = scope.spawn(move || -> Result<()> {
                for (slot, stream) in done.iter() {
                    stream.synchronize()?;
                    losses.keep(slot)?;
                    if to_loader.send((slot, stream)).is_err() {
                        break;
                    }
                }
                Ok(())
            })?;
            for batch in batches {
                let Ok((slot, stream)) = free.recv() else { break };
                slot.load(batch)?;
                stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
                slot.train(stream)?;
                stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
                if to_keeper.send((slot, stream)).is_err() {
                    break;
                }
            }
            drop(to_keeper);
            keeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    })
}
