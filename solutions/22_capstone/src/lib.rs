//! The solution of `capstone`: three streams, two slots, and a host that writes down what a batch has left when its slot is
//! needed again.

use lab::capstone::Relay;
#[allow(unused_imports, reason = "for functions of your own")]
use lab::capstone::{Batch, Runners};
#[allow(unused_imports, reason = "for functions of your own")]
use lab::{HostBlock, HostMemory, Result};

/// Trains the head on all batches.
pub fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let mut team = relay.team()?;
    // region: before the clock
    let stream = || context.new_stream();
    let (uploading, encoding, training) = (stream()?, stream()?, stream()?);
    let slot = || relay.slot(HostMemory::Pinned);
    let mut slots = [slot()?, slot()?];
    let mut features = [relay.features()?, relay.features()?];
    let mut weights = relay.weights(HostMemory::Pinned)?;
    // Of each slot: what was last done with it.
    let event = || context.new_event(None);
    let uploaded = [event()?, event()?];
    let augmented = [event()?, event()?];
    let encoded = [event()?, event()?];
    let trained = [event()?, event()?];
    let downloaded = [event()?, event()?];
    // endregion

    // The clock runs from here to the end of the closure.
    team.region(|batches, team| {
        // region: while the clock runs
        for batch in batches {
            let at = batch.number % 2;
            let (slot, features) = (&mut slots[at], &mut features[at]);

            // The loader may write where the upload of two batches ago has read.
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            uploading.wait(&augmented[at])?;
            uploading.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(&uploading)?;

            encoding.wait(&uploaded[at])?;
            let (images, views) = (&slot.images, &mut slot.views);
            team.augmentation.augment(&encoding, batch, images, views)?;
            augmented[at].record(&encoding)?;
            encoding.wait(&trained[at])?;
            team.encoder.encode(&encoding, &slot.views, features)?;
            encoded[at].record(&encoding)?;

            // The host has nothing left to issue for this slot but what overwrites its losses.
            if let Some(before) = batch.number.checked_sub(2) {
                downloaded[at].synchronize()?;
                write(team, &batches[before], &slot.losses, &weights)?;
            }
            training.wait(&encoded[at])?;
            team.head.train(&training, batch, features)?;
            trained[at].record(&training)?;
            training.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            if batch.ends_lap() {
                team.head.download(&training, &mut weights)?;
            }
            downloaded[at].record(&training)?;
        }
        context.synchronize()?;
        for batch in &batches[batches.len() - 2..] {
            let losses = &slots[batch.number % 2].losses;
            write(team, batch, losses, &weights)?;
        }
        // endregion
        Ok(())
    })
}
// region: functions of your own

/// Writes down what a batch has left in host memory.
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
// endregion
