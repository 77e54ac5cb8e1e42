//! The same two buffers without a wait, and a deeper network: more kernels for each batch.

use lab::exercise::Exercise;
use lab::matmul::Matmul;
use lab::prefetch::Feed;
use lab::{Lab, Result};

/// Additional layers of the network: multiplications of two matrices of 1024 by 1024, together
/// longer than the kernel.
const LAYERS: usize = 64;

fn program(lab: &Lab) -> Result<()> {
    let feed = Feed::open(lab)?;
    let context = feed.context();
    let streams = [context.new_stream()?, context.new_stream()?];
    let mut layer = Matmul::new(lab)?;
    let mut epoch = feed.short()?;
    epoch.region(|batches, slots, losses| {
        for batch in batches {
            let index = batch.number % 2;
            let (slot, stream) = (&mut slots[index], &streams[index]);
            slot.load(batch)?;
            losses.keep(slot)?;
            stream.memcpy_htod(&slot.images, &mut slot.device.images())?;
            slot.train(stream)?;
            for _ in 0..LAYERS {
                layer.launch(stream)?;
            }
            stream.memcpy_dtoh(&slot.device.losses(), &mut slot.losses)?;
        }
        context.synchronize()?;
        losses.keep(&slots[0])?;
        losses.keep(&slots[1])?;
        Ok(())
    })
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
