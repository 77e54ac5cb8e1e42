//! Stream-ordered allocation, and what the other kind does to it. Documented in the driver API's chapter
//! on the stream-ordered memory allocator.

use std::ptr;

use cudarc::driver::sys::{self, CUresult};

use crate::bench::{Bench, Event, Kind, MS, Stream, cu};
use crate::row::{FREE, Fact, Memory, OVERLAP, Result, Row, SUCCESS};

const KIND: Kind = Kind::NonBlocking;
/// A size that the pool does not hold already: nobody else asks for it.
const BYTES: usize = 48 << 20;

const REUSED: Fact = Fact::Memory(Memory::Reused);
const FRESH: Fact = Fact::Memory(Memory::Fresh);

fn allocate(stream: sys::CUstream) -> Result<u64> {
    let mut address = 0;
    cu!(cuMemAllocAsync(&mut address, BYTES, stream)).result()?;
    Ok(address)
}

fn free(address: u64, stream: sys::CUstream) -> Result<()> {
    cu!(cuMemFreeAsync(address, stream)).result()
}

/// Memory is freed behind a kernel of one stream and allocated again in another, or the same.
fn again(
    bench: &Bench,
    to: impl FnOnce(&Stream, &Stream) -> Result<sys::CUstream>,
) -> Result<Vec<Fact>> {
    let (first, second) = (Stream::new(KIND)?, Stream::new(KIND)?);
    let before = allocate(first.handle())?;
    bench.synchronize()?;
    bench.kernel(first.handle(), MS)?;
    free(before, first.handle())?;
    let stream = to(&first, &second)?;
    let after = allocate(stream)?;
    free(after, stream)?;
    bench.synchronize()?;
    Ok(vec![if after == before { REUSED } else { FRESH }])
}

pub(super) fn rows() -> Vec<Row> {
    let name = |what: &str| format!("memory: {what}");
    vec![
        Row::new(name("freed and allocated again in one stream"), &[REUSED], |bench| {
            again(bench, |first, _| Ok(first.handle()))
        })
        .alone(),
        Row::new(
            name("freed in one stream, allocated in another that waits for it"),
            &[REUSED],
            |bench| {
                again(bench, |first, second| {
                    second.wait(&Event::recorded(first.handle())?)?;
                    Ok(second.handle())
                })
            },
        )
        .alone(),
        Row::new(
            name("freed in one stream, allocated in another that does not wait"),
            &[FRESH],
            |bench| again(bench, |_, second| Ok(second.handle())),
        )
        .alone(),
        Row::new(
            name("allocating in another stream while a free is pending orders nothing"),
            &[FREE, OVERLAP],
            |bench| {
                let stream = Stream::new(KIND)?;
                let before = allocate(stream.handle())?;
                bench.synchronize()?;
                let observed = bench.between(KIND, MS, |scene| {
                    free(before, scene.first.handle())?;
                    let after = allocate(scene.second.handle())?;
                    free(after, scene.second.handle())
                })?;
                Ok(vec![observed.waiting(), observed.streams()])
            },
        )
        .alone(),
        Row::new(
            name("cuMemFree of what cuMemAllocAsync gave, while another stream is busy"),
            &[FREE, OVERLAP],
            |bench| {
                let stream = Stream::new(KIND)?;
                let address = allocate(stream.handle())?;
                bench.synchronize()?;
                let observed = bench.between(KIND, MS, |_| cu!(cuMemFree_v2(address)).result())?;
                Ok(vec![observed.waiting(), observed.streams()])
            },
        )
        .alone(),
        Row::new(name("cuMemFreeAsync of what cuMemAlloc gave"), &[SUCCESS], |bench| {
            let stream = Stream::new(KIND)?;
            let mut address = 0;
            cu!(cuMemAlloc_v2(&mut address, BYTES)).result()?;
            let code = cu!(cuMemFreeAsync(address, stream.handle()));
            bench.synchronize()?;
            if code != CUresult::CUDA_SUCCESS {
                cu!(cuMemFree_v2(address)).result()?;
            }
            Ok(vec![Fact::Code(code)])
        })
        .alone(),
        Row::new(
            name("too much of each kind"),
            &[Fact::Code(CUresult::CUDA_ERROR_OUT_OF_MEMORY); 3],
            |bench| {
                const TOO_MUCH: usize = 1 << 46;
                let stream = Stream::new(KIND)?;
                let (mut address, mut host) = (0, ptr::null_mut());
                let plain = cu!(cuMemAlloc_v2(&mut address, TOO_MUCH));
                let ordered = cu!(cuMemAllocAsync(&mut address, TOO_MUCH, stream.handle()));
                let pinned = cu!(cuMemHostAlloc(&mut host, TOO_MUCH, 0));
                bench.synchronize()?;
                Ok([plain, ordered, pinned].map(Fact::Code).to_vec())
            },
        )
        .alone(),
    ]
}
