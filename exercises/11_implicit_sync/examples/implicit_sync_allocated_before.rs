//! The same calls, but two blocks are allocated before the first launch.
//!
//! Run it with `cargo run -- run implicit_sync --program allocated_before`.

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
    let (mut left, mut right) = (Branch::narrow(lab)?, Branch::narrow(lab)?);
    let (memory, words) = (SynchronousMemory::of(context), lab.elements(WORDS));
    let mut notes = third.alloc_zeros::<u32>(words)?;
    lab.region(|| {
        // SAFETY: nothing reads it.
        let device = unsafe { memory.alloc(words)? }; // cuMemAlloc
        let pinned = HostBlock::new(context, HostMemory::Pinned, words)?; // cuMemHostAlloc
        left.launch(&first)?;

        let event = third.record_event(None)?; // cuEventCreate, cuEventRecord
        third.memset_zeros(&mut notes)?; // cuMemsetD8Async
        context.mem_get_info()?; // cuMemGetInfo
        let fourth = context.new_stream()?; // cuStreamCreate
        fourth.wait(&event)?; // cuStreamWaitEvent
        // SAFETY: nothing reads it.
        let ordered = unsafe { third.alloc::<u32>(words)? }; // cuMemAllocAsync
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
