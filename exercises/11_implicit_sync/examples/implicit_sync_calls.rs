//! The puzzle as written: a dozen calls between two kernels that are in two streams.

use lab::fork_join::Branch;
use lab::implicit_sync::SynchronousMemory;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Words of each block: 64 KiB.
const WORDS: usize = 1 << 14;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let third = context.new_stream()?;
    let mut left = Branch::narrow_for(lab, 3)?;
    let mut right = Branch::narrow_for(lab, 3)?;
    let memory = SynchronousMemory::of(context);
    let words = lab.elements(WORDS);
    let mut notes = third.alloc_zeros::<u32>(words)?;
    lab.region(|| {
        left.launch(&first)?;

        let event = third.record_event(None)?;
        third.memset_zeros(&mut notes)?;
        context.mem_get_info()?;
        let fourth = context.new_stream()?;
        fourth.wait(&event)?;
        // SAFETY: nothing reads it.
        let device = unsafe { memory.alloc(words)? };
        let pinned = HostBlock::new(context, HostMemory::Pinned, words)?;
        // SAFETY: nothing reads it.
        let ordered = unsafe { third.alloc::<u32>(words)? };
        drop(ordered); // cuMemFreeAsync
        drop(pinned); // cuMemFreeHost
        drop(device); // cuMemFree

        right.launch(&second)?;
        context.synchronize()?;
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
