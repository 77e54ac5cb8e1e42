//! The host writes one batch later, right before it trains the next: the device has that one to encode meanwhile.

use lab::capstone::Relay;
use lab::{HostMemory, Result};

/// Trains the head on all batches.
pub fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let [encoding, training] = [context.new_stream()?, context.new_stream()?];
    let mut slots = [relay.slot(HostMemory::Pinned)?, relay.slot(HostMemory::Pinned)?];
    let mut features = [relay.features()?, relay.features()?];
    let mut weights = relay.weights(HostMemory::Pinned)?;
    let event = || context.new_event(None);
    let [uploaded, encoded, trained, down] =
        [[event()?, event()?], [event()?, event()?], [event()?, event()?], [event()?, event()?]];
    relay.team()?.region(|batches, team| {
        for batch in batches {
            let at = batch.number % 2;
            let (slot, features) = (&mut slots[at], &mut features[at]);
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            encoding.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(&encoding)?;
            team.augmentation.augment(&encoding, batch, &slot.images, &mut slot.views)?;
            encoding.wait(&trained[at])?;
            team.encoder.encode(&encoding, &slot.views, features)?;
            encoded[at].record(&encoding)?;
            // The batch before is written while the device has this one to encode.
            if let Some(before) = batch.number.checked_sub(1) {
                let last = &batches[before];
                let other = &slots[before % 2];
                down[before % 2].synchronize()?;
                team.log.write(last, &other.losses)?;
                if last.ends_lap() {
                    team.checkpoints.save(last, &weights)?;
                }
            }
            let slot = &mut slots[at];
            training.wait(&encoded[at])?;
            team.head.train(&training, batch, features)?;
            trained[at].record(&training)?;
            training.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            if batch.ends_lap() {
                team.head.download(&training, &mut weights)?;
            }
            down[at].record(&training)?;
        }
        context.synchronize()?;
        let last = &batches[batches.len() - 1];
        team.log.write(last, &slots[last.number % 2].losses)?;
        team.checkpoints.save(last, &weights)
    })
}
