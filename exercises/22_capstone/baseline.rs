//! The baseline of `capstone`: each runner waits for all the others. Correct, and nothing overlaps.

use lab::capstone::Relay;
use lab::{HostMemory, Result};

fn train(relay: &Relay) -> Result<()> {
    let context = relay.context();
    let stream = context.new_stream()?;
    let mut slot = relay.slot(HostMemory::Pageable)?;
    let mut weights = relay.weights(HostMemory::Pageable)?;

    relay.team()?.region(|batches, team| {
        for batch in batches {
            team.loader.load(batch, &mut slot.loaded)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            let (images, views) = (&slot.images, &mut slot.views);
            team.augmentation.augment(&stream, batch, images, views)?;
            let mut features = relay.features()?;
            team.encoder.encode(&stream, &slot.views, &mut features)?;
            team.head.train(&stream, batch, &features)?;
            stream.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            stream.synchronize()?;
            team.log.write(batch, &slot.losses)?;
            if batch.ends_lap() {
                let default = context.default_stream();
                team.head.download(&default, &mut weights)?;
                context.synchronize()?;
                team.checkpoints.save(batch, &weights)?;
            }
        }
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::exercise!(train)
}
