//! A thread for each slot: each loads, trains, waits and keeps by itself, and the next loads meanwhile.

use lab::Result;
use lab::prefetch::Feed;

/// Trains on all batches.
pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];

    let mut epoch = feed.allocate()?;

    // The clock runs from here to the end of the closure.
    epoch.region(|batches, slots, losses| {
        let (keep, kept) = lab::thread::channel()?;
        lab::thread::scope(|scope| {
            let mut trainers = Vec::new();
            for ((share, slot), stream) in (0..2).zip(slots.iter_mut()).zip(&streams) {
                let (turn, go_on) = lab::thread::channel()?;
                let keep = keep.clone();
                trainers.push(scope.spawn(move || -> Result<()> {
                    let mut mine = Some(slot);
                    for batch in batches.iter().filter(|batch| batch.number % 2 == share) {
                        let Some(slot) = mine.take() else { break };
                        slot.load(batch)?;
                        stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
                        slot.train(stream)?;
                        stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
                        stream.synchronize()?;
                        if keep.send((slot, turn.clone())).is_err() {
                            break;
                        }
                        mine = go_on.recv().ok();
                    }
                    Ok(())
                })?);
            }
            drop(keep);
            for (slot, turn) in kept.iter() {
                losses.keep(slot)?;
                if turn.send(slot).is_err() {
                    break;
                }
            }
            for trainer in trainers {
                trainer.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            }
            Ok(())
        })
    })
}
