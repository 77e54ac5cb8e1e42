//! # The relay: everything at once
//!
//! A head is trained on what a frozen encoder makes of augmented images. Six runners hand each batch on: the loader reads
//! images into host memory, the augmentation makes views of them on the device, the encoder makes features of the views, and
//! the head is trained on the features. The log keeps the losses of each batch, and after every four batches a checkpoint keeps the
//! weights. This is how you would write it on the first day. It is correct, and each runner waits for all the others.
//!
//! **Your task:** let all of them run. There are eight changes to make. You know each of them from a chapter, and the
//! checker says after each run which of them are left. Run `cargo run -- run capstone` and begin with the first.
//!
//! `relay.slot(HostMemory::Pinned)?` is host memory that is pinned, and `relay.features()?` allocates by `cuMemAlloc`.
//! `team.head.download(&stream, &mut weights)?` queues the copies of the weights as they are when the stream gets there.
//! `batches` is a slice: `&batches[batch.number - 1]` is the batch before. Inside the `region` marks you may write what you like.

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
    let stream = context.new_stream()?;
    let mut slot = relay.slot(HostMemory::Pageable)?;
    let mut weights = relay.weights(HostMemory::Pageable)?;
    // endregion

    // The clock runs from here to the end of the closure.
    team.region(|batches, team| {
        // region: while the clock runs
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
        // endregion
        Ok(())
    })
}
// region: functions of your own
// endregion
