//! The pool of stream-ordered memory: how it grows, and what it costs to give memory back.

use std::ptr;

use cudarc::driver::sys::{CUdeviceptr, CUmemPool_attribute, CUmemoryPool};

use crate::arm::Outcome;
use crate::gpu::{Gpu, MS, REPETITIONS, call};
use crate::samples::Samples;

/// Chunks that the pool grows by.
const CHUNKS: [usize; 3] = [1, 4, 16];

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let mut pool: CUmemoryPool = ptr::null_mut();
    call!(cuDeviceGetDefaultMemPool(&mut pool, 0))?;
    let allocate = |bytes: usize| {
        let mut memory: CUdeviceptr = 0;
        call!(cuMemAllocAsync(&mut memory, bytes, stream)).map(|()| memory)
    };
    let free = |memory: CUdeviceptr| call!(cuMemFreeAsync(memory, stream));
    gpu.idle()?;
    let one = allocate(1)?;
    let mut chunk = 0_usize;
    let reserved = CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
    call!(cuMemPoolGetAttribute(pool, reserved, (&raw mut chunk).cast()))?;
    free(one)?;
    samples.keep("pool_chunk_bytes", Ok(vec![gpu.arm.nominal(chunk) as i64]));

    let times = gpu.arm.repetitions(REPETITIONS);
    for chunks in CHUNKS {
        let (mut grows, mut gives_back) = (Vec::new(), Vec::new());
        for _ in 0..times {
            gpu.idle()?;
            let mut memory = 0;
            grows.push(gpu.held(|| allocate(chunks * chunk).map(|new| memory = new))?);
            free(memory)?;
            // The free has run by then.
            gpu.arm.pause(MS)?;
            gives_back.push(gpu.held(|| gpu.synchronize(stream))?);
        }
        samples.keep(format!("pool_grow_ns/{chunks}"), Ok(grows));
        samples.keep(format!("pool_give_back_ns/{chunks}"), Ok(gives_back));
    }
    Ok(())
}
