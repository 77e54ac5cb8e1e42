//! exercise: first_launch
//! gate: output
//! says: of something that is not the task's input
//!
//! The right words are copied over the array, and the kernels work on something else.

use lab::first_launch::Session;
use lab::{HostBlock, HostMemory, Result};

pub fn train(session: &Session) -> Result<()> {
    let context = session.context();
    let [copies, compute] = [context.new_stream()?, context.new_stream()?];
    let kernel = tools::kernel(context, "map_a")?;
    let elements = tools::ELEMENTS / 64;
    let map = tools::maps(&[tools::A]);
    let mut course = session.allocate()?;
    let decoy = copies.alloc_zeros::<u32>(elements)?;
    let at = {
        use cudarc::driver::DevicePtr;
        decoy.device_ptr(&copies).0
    };
    let mut right = HostBlock::new(context, HostMemory::Pinned, tools::ELEMENTS)?;
    for (index, word) in (0..).zip(right.words_mut()?) {
        *word = tools::apply(map, tools::input(0, index));
    }
    course.region(|lengths, log| {
        for index in 0..lengths.len() {
            let words = &right.words()?[index * elements..(index + 1) * elements];
            tools::upload(&copies, tools::block(index, elements), words)?;
            tools::launch(&compute, &kernel, at, elements, 924)?;
            log.note()?;
        }
        context.synchronize()?;
        Ok(())
    })
}
