//! Two buffers, pinned memory, a log that is written later: and one stream for everything.

use lab::capstone::{Batch, Relay, Runners};
use lab::{HostBlock, HostMemory, Result};

/// Trains the head on all batches.
pub fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let stream = context.new_stream()?;
    let mut slots = [relay.slot(HostMemory::Pinned)?, relay.slot(HostMemory::Pinned)?];
    let mut features = relay.features()?;
    let mut weights = relay.weights(HostMemory::Pinned)?;
    let uploaded = [context.new_event(None)?, context.new_event(None)?];
    let done = [context.new_event(None)?, context.new_event(None)?];
    relay.team()?.region(|batches, team| {
        for batch in batches {
            let at = batch.number % 2;
            let slot = &mut slots[at];
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(&stream)?;
            team.augmentation.augment(&stream, batch, &slot.images, &mut slot.views)?;
            team.encoder.encode(&stream, &slot.views, &mut features)?;
            team.head.train(&stream, batch, &features)?;
            if let Some(before) = batch.number.checked_sub(2) {
                done[at].synchronize()?;
                write(team, &batches[before], &slot.losses, &weights)?;
            }
            stream.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            if batch.ends_lap() {
                team.head.download(&stream, &mut weights)?;
            }
            done[at].record(&stream)?;
        }
        stream.synchronize()?;
        for batch in &batches[batches.len() - 2..] {
            write(team, batch, &slots[batch.number % 2].losses, &weights)?;
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
