//! The checkpoint has a stream of its own, with an event in each direction.

use lab::capstone::{Batch, Relay, Runners};
use lab::{HostBlock, HostMemory, Result};

/// Trains the head on all batches.
pub fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let [uploading, encoding, training, saving] = [
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
        context.new_stream()?,
    ];
    let mut slots = [relay.slot(HostMemory::Pinned)?, relay.slot(HostMemory::Pinned)?];
    let mut features = [relay.features()?, relay.features()?];
    let mut weights = relay.weights(HostMemory::Pinned)?;
    let event = || context.new_event(None);
    let [uploaded, augmented, encoded, trained, down] = [
        [event()?, event()?],
        [event()?, event()?],
        [event()?, event()?],
        [event()?, event()?],
        [event()?, event()?],
    ];
    let saved = event()?;
    relay.team()?.region(|batches, team| {
        for batch in batches {
            let at = batch.number % 2;
            let (slot, features) = (&mut slots[at], &mut features[at]);
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            uploading.wait(&augmented[at])?;
            uploading.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(&uploading)?;
            encoding.wait(&uploaded[at])?;
            team.augmentation.augment(&encoding, batch, &slot.images, &mut slot.views)?;
            augmented[at].record(&encoding)?;
            encoding.wait(&trained[at])?;
            team.encoder.encode(&encoding, &slot.views, features)?;
            encoded[at].record(&encoding)?;
            if let Some(before) = batch.number.checked_sub(2) {
                down[at].synchronize()?;
                write(team, &batches[before], &slot.losses, &weights, &saved)?;
            }
            training.wait(&encoded[at])?;
            training.wait(&saved)?;
            team.head.train(&training, batch, features)?;
            trained[at].record(&training)?;
            training.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            down[at].record(&training)?;
            if batch.ends_lap() {
                saving.wait(&trained[at])?;
                team.head.download(&saving, &mut weights)?;
                saved.record(&saving)?;
            }
        }
        context.synchronize()?;
        for batch in &batches[batches.len() - 2..] {
            write(team, batch, &slots[batch.number % 2].losses, &weights, &saved)?;
        }
        Ok(())
    })
}

fn write(
    team: &mut Runners,
    batch: &Batch,
    losses: &HostBlock,
    weights: &[HostBlock; 2],
    saved: &cudarc::driver::CudaEvent,
) -> Result<()> {
    team.log.write(batch, losses)?;
    if batch.ends_lap() {
        saved.synchronize()?;
        team.checkpoints.save(batch, weights)?;
    }
    Ok(())
}
