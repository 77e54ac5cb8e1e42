//! The same with a block of `cuMemAlloc`, which `cuMemFree` frees.

use lab::exercise::Exercise;
use lab::implicit_sync::{Service, SynchronousMemory};
use lab::{Lab, Result};

/// Words of each block: 64 MiB.
const WORDS: usize = 1 << 24;

fn program(lab: &Lab) -> Result<()> {
    let context = lab.context();
    let first = context.new_stream()?;
    let second = context.new_stream()?;
    let service = Service::open(lab)?;
    let kernel = service.load_kernel()?;
    let memory = SynchronousMemory::of(context);
    let words = lab.elements(WORDS);
    lab.region(|| {
        // SAFETY: the next line clears it.
        let mut block = unsafe { memory.alloc(words)? };
        first.memset_zeros(&mut block)?;
        let ready = first.record_event(None)?;
        second.wait(&ready)?;
        kernel.launch(&second, &mut block)?;
        drop(block);
        let other = first.alloc_zeros::<u32>(words)?;
        context.synchronize()?;
        drop(other);
        Ok(())
    })?;
    Ok(())
}

fn main() -> std::process::ExitCode {
    lab::puzzle!(program)
}
