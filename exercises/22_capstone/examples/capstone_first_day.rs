//! One stream, pageable memory, and a host that waits for each batch.

use lab::capstone::Relay;
use lab::exercise::Exercise;
use lab::{HostMemory, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let relay = &Relay::open(lab)?;
    let context = relay.context();
    let mut slot = relay.slot(HostMemory::Pageable)?;
    let mut weights = relay.weights(HostMemory::Pageable)?;
    let stream = context.new_stream()?;
    relay.team()?.region(|batches, team| {
        for batch in batches {
            team.loader.load(batch, &mut slot.loaded)?;
            stream.memcpy_htod(&slot.loaded, &mut slot.images)?;
            let (images, views) = (&slot.images, &mut slot.views);
            team.augmentation.augment(&stream, batch, images, views)?;
            let mut features = relay.features()?;
            team.encoder.encode(&stream, &slot.views, &mut features)?;
            team.head.train(&stream, batch, &features)?;
            let losses = team.head.losses(batch);
            stream.memcpy_dtoh(losses, &mut slot.losses)?;
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
    lab::puzzle!(program)
}
