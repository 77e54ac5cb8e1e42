//! Three buffers, each with a stream of its own; the head is passed on from one stream to the next.

use lab::capstone::{Batch, Relay, Runners};
use lab::{HostBlock, HostMemory, Result};

/// Trains the head on all batches.
pub fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let mut streams = Vec::new();
    let (mut slots, mut features, mut weights) = (Vec::new(), Vec::new(), Vec::new());
    let (mut uploaded, mut done) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        streams.push(context.new_stream()?);
        slots.push(relay.slot(HostMemory::Pinned)?);
        features.push(relay.features()?);
        weights.push(relay.weights(HostMemory::Pinned)?);
        uploaded.push(context.new_event(None)?);
        done.push(context.new_event(None)?);
    }
    let [augmented, encoded, trained] =
        [context.new_event(None)?, context.new_event(None)?, context.new_event(None)?];
    relay.team()?.region(|batches, team| {
        for batch in batches {
            let at = batch.number % 3;
            let (slot, stream) = (&mut slots[at], &streams[at]);
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(stream)?;
            // There is one of each runner: each has to be done with the batch before.
            stream.wait(&augmented)?;
            team.augmentation.augment(stream, batch, &slot.images, &mut slot.views)?;
            augmented.record(stream)?;
            stream.wait(&encoded)?;
            team.encoder.encode(stream, &slot.views, &mut features[at])?;
            encoded.record(stream)?;
            if let Some(before) = batch.number.checked_sub(3) {
                done[at].synchronize()?;
                write(team, &batches[before], &slot.losses, &weights[at])?;
            }
            stream.wait(&trained)?;
            team.head.train(stream, batch, &features[at])?;
            if batch.ends_lap() {
                team.head.download(stream, &mut weights[at])?;
            }
            trained.record(stream)?;
            stream.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            done[at].record(stream)?;
        }
        context.synchronize()?;
        for batch in &batches[batches.len() - 3..] {
            let at = batch.number % 3;
            write(team, batch, &slots[at].losses, &weights[at])?;
        }
        Ok(())
    })
}

fn write(
    team: &mut Runners,
    batch: &Batch,
    losses: &HostBlock,
    weights: &[HostBlock; 2],
) -> Result<()> {
    team.log.write(batch, losses)?;
    if batch.ends_lap() {
        team.checkpoints.save(batch, weights)?;
    }
    Ok(())
}
