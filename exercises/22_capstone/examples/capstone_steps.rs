//! The relay by numbers: each of the eight changes made or not.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use lab::capstone::{Batch, Relay, Runners};
use lab::exercise::Exercise;
use lab::priorities::get_priority_range;
use lab::{HostBlock, HostMemory, Lab, Result};

fn program(lab: &Lab) -> Result<()> {
    let relay = Relay::open(lab)?;
    let context = Arc::clone(relay.context());
    // 1: pinned host memory, and not pageable.
    let pinned: usize = lab.number("pinned", 1)?;
    let memory = [HostMemory::Pageable, HostMemory::Pinned][pinned];
    // 2: features that are kept, and not allocated for each batch.
    let kept: u64 = lab.number("kept", 1)?;
    // 3: how many buffers are used in turn.
    let buffers: usize = lab.number("buffers", 2)?;
    // 4: the host writes the log when the buffers are needed again.
    let later: u64 = lab.number("later", 1)?;
    // 5: the checkpoint is saved with the log, without a wait for the whole device.
    let patient: u64 = lab.number("patient", 1)?;
    // 6: the checkpoint is downloaded in the stream of the head, and not in the default stream.
    let aside: u64 = lab.number("aside", 1)?;
    // 7 and 8: streams of their own for the uploads and for the head. And one for the augmentation.
    let streams = [stream(&context, 0)?, stream(&context, 0)?, stream(&context, 0)?];
    let encoding = &streams[0];
    let uploading: usize = lab.number("uploading", 1)?;
    let uploading = &streams[uploading];
    let augmenting: usize = lab.number("augmenting", 0)?;
    let augmenting = &streams[augmenting];
    let training: u64 = lab.number("training", 1)?;
    let first: u64 = lab.number("first", 0)?;
    let own = stream(&context, first)?;
    let training = if training > 0 { &own } else { encoding };
    let saving = if aside > 0 { training.clone() } else { context.default_stream() };

    let mut slot = (0..buffers).map(|_| relay.slot(memory)).collect::<Result<Vec<_>>>()?;
    let mut features = (0..buffers).map(|_| relay.features()).collect::<Result<Vec<_>>>()?;
    let mut weights = relay.weights(memory)?;
    let events = || (0..buffers).map(|_| context.new_event(None)).collect::<Result<Vec<_>, _>>();
    let [uploaded, augmented, encoded, trained, written] =
        [events()?, events()?, events()?, events()?, events()?];

    relay.team()?.region(|batches, team| {
        for batch in batches {
            let at = batch.number % buffers;
            let slot = &mut slot[at];
            uploaded[at].synchronize()?;
            team.loader.load(batch, &mut slot.loaded)?;
            uploading.wait(&augmented[at])?;
            uploading.memcpy_htod(&slot.loaded, &mut slot.images)?;
            uploaded[at].record(uploading)?;

            augmenting.wait(&uploaded[at])?;
            augmenting.wait(&encoded[at])?;
            team.augmentation.augment(augmenting, batch, &slot.images, &mut slot.views)?;
            augmented[at].record(augmenting)?;

            let mut new = if kept > 0 { None } else { Some(relay.features()?) };
            let features = new.as_mut().unwrap_or(&mut features[at]);
            encoding.wait(&augmented[at])?;
            encoding.wait(&trained[at])?;
            team.encoder.encode(encoding, &slot.views, features)?;
            encoded[at].record(encoding)?;

            if let Some(last) = batch.number.checked_sub(buffers).filter(|_| later > 0) {
                written[at].synchronize()?;
                write(team, &batches[last], &slot.losses, (patient > 0).then_some(&weights))?;
            }
            training.wait(&encoded[at])?;
            team.head.train(training, batch, features)?;
            trained[at].record(training)?;
            training.memcpy_dtoh(team.head.losses(batch), &mut slot.losses)?;
            if batch.ends_lap() {
                saving.wait(&trained[at])?;
                team.head.download(&saving, &mut weights)?;
            }
            written[at].record(training)?;
            if later == 0 {
                written[at].synchronize()?;
                write(team, batch, &slot.losses, (patient > 0).then_some(&weights))?;
            }
            if batch.ends_lap() && patient == 0 {
                context.synchronize()?;
                team.checkpoints.save(batch, &weights)?;
            }
        }
        context.synchronize()?;
        let left = if later == 0 { 0 } else { buffers };
        for batch in &batches[batches.len() - left..] {
            let losses = &slot[batch.number % buffers].losses;
            write(team, batch, losses, (patient > 0).then_some(&weights))?;
        }
        Ok(())
    })
}

/// Writes down the losses of a batch and, where it ends a lap and they are given, saves the weights after it.
fn write(
    team: &mut Runners,
    batch: &Batch,
    losses: &HostBlock,
    weights: Option<&[HostBlock; 2]>,
) -> Result<()> {
    team.log.write(batch, losses)?;
    match weights.filter(|_| batch.ends_lap()) {
        Some(weights) => team.checkpoints.save(batch, weights),
        None => Ok(()),
    }
}

/// A stream, or one whose kernels come first.
fn stream(context: &Arc<CudaContext>, first: u64) -> Result<Arc<CudaStream>> {
    if first == 0 {
        return Ok(context.new_stream()?);
    }
    let (_, highest) = get_priority_range()?;
    Ok(context.new_stream_with_priority(highest)?)
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
