//! Stream-ordered allocation, and what the other kind does to it. Documented in the driver API's chapter
//! on the stream-ordered memory allocator.

use std::ptr;

use cudarc::driver::sys::{self, CUresult};

use crate::bench::{Bench, Event, Kind, MS, Stream, cu};
use crate::row::{FREE, Fact, INVALID_VALUE, Memory, NOT_SUPPORTED, OVERLAP, Result, Row, SUCCESS};

const KIND: Kind = Kind::NonBlocking;
/// A size that the pool does not hold already: nobody else asks for it.
const BYTES: usize = 48 << 20;

const REUSED: Fact = Fact::Memory(Memory::Reused);
const FRESH: Fact = Fact::Memory(Memory::Fresh);

fn allocate(stream: sys::CUstream) -> Result<u64> {
    allocate_bytes(BYTES, stream)
}

fn allocate_bytes(bytes: usize, stream: sys::CUstream) -> Result<u64> {
    let mut address = 0;
    cu!(cuMemAllocAsync(&mut address, bytes, stream)).result()?;
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

/// The pool that memory comes from if nobody asks for another.
struct Pool(sys::CUmemoryPool);

const THRESHOLD: sys::CUmemPool_attribute =
    sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;

impl Pool {
    fn of(bench: &Bench) -> Result<Self> {
        let mut pool = ptr::null_mut();
        cu!(cuDeviceGetDefaultMemPool(&mut pool, bench.device)).result()?;
        Ok(Self(pool))
    }

    /// How much it holds on to, in bytes.
    fn hold(&self, mut bytes: u64) -> Result<()> {
        cu!(cuMemPoolSetAttribute(self.0, THRESHOLD, (&raw mut bytes).cast())).result()
    }

    fn attribute(&self, attribute: sys::CUmemPool_attribute) -> Result<u64> {
        let mut value = 0_u64;
        cu!(cuMemPoolGetAttribute(self.0, attribute, (&raw mut value).cast())).result()?;
        Ok(value)
    }

    fn set(&self, attribute: sys::CUmemPool_attribute, mut value: u64) -> Fact {
        Fact::Code(cu!(cuMemPoolSetAttribute(self.0, attribute, (&raw mut value).cast())))
    }

    /// How many pieces of 32 MiB it has.
    fn chunks(&self) -> Result<Fact> {
        let reserved = sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT;
        Ok(Fact::Number((self.attribute(reserved)? >> 25) as i32))
    }

    fn trim(&self) -> Result<()> {
        cu!(cuMemPoolTrimTo(self.0, 0)).result()
    }
}

/// How many pieces of [`BYTES`] the device has less than when it had `before` bytes.
fn taken_since(before: usize) -> Result<Fact> {
    Ok(Fact::Number((before.saturating_sub(left()?) / BYTES) as i32))
}

/// Free device memory, in bytes.
fn left() -> Result<usize> {
    let (mut free, mut total) = (0, 0);
    cu!(cuMemGetInfo_v2(&mut free, &mut total)).result()?;
    Ok(free)
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
            name("what is left while a block is in use, freed, synchronized"),
            &[Fact::Number(1), Fact::Number(1), Fact::Number(0)],
            |bench| {
                let stream = Stream::new(KIND)?;
                let before = left()?;
                let address = allocate(stream.handle())?;
                let in_use = taken_since(before)?;
                bench.kernel(stream.handle(), MS)?;
                free(address, stream.handle())?;
                let freed = taken_since(before)?;
                bench.synchronize()?;
                Ok(vec![in_use, freed, taken_since(before)?])
            },
        )
        .alone(),
        Row::new(
            name("what is left with a release threshold: synchronized, trimmed"),
            &[Fact::Number(1), Fact::Number(0)],
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                let before = left()?;
                pool.hold(u64::MAX)?;
                free(allocate(stream.handle())?, stream.handle())?;
                bench.synchronize()?;
                let synchronized = taken_since(before)?;
                pool.trim()?;
                let trimmed = taken_since(before)?;
                pool.hold(0)?;
                Ok(vec![synchronized, trimmed])
            },
        )
        .alone(),
        Row::new(
            name("freed, synchronized and allocated again, with a release threshold"),
            &[REUSED],
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                pool.hold(u64::MAX)?;
                let before = allocate(stream.handle())?;
                free(before, stream.handle())?;
                bench.synchronize()?;
                let after = allocate(stream.handle())?;
                free(after, stream.handle())?;
                pool.hold(0)?;
                bench.synchronize()?;
                Ok(vec![if after == before { REUSED } else { FRESH }])
            },
        )
        .alone(),
        Row::new(
            name("a pool's release threshold: at first, once it was set"),
            &[Fact::Number(0), Fact::Number(1 << 20)],
            |bench| {
                let pool = Pool::of(bench)?;
                let first = pool.attribute(THRESHOLD)?;
                pool.hold(1 << 20)?;
                let then = pool.attribute(THRESHOLD)?;
                pool.hold(0)?;
                Ok([first, then].map(|bytes| Fact::Number(bytes as i32)).to_vec())
            },
        )
        .alone(),
        Row::new(name("cuMemAllocFromPoolAsync of the default pool"), &[SUCCESS], |bench| {
            let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
            let mut address = 0;
            let code = cu!(cuMemAllocFromPoolAsync(&mut address, BYTES, pool.0, stream.handle()));
            code.result()?;
            free(address, stream.handle())?;
            bench.synchronize()?;
            Ok(vec![Fact::Code(code)])
        })
        .alone(),
        Row::new(name("how much a pool has given out"), &[Fact::Number(1)], |bench| {
            let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
            let address = allocate(stream.handle())?;
            let used = pool.attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
            free(address, stream.handle())?;
            bench.synchronize()?;
            Ok(vec![Fact::Number((used? / BYTES as u64) as i32)])
        })
        .alone(),
        Row::new(
            name("what a pool has, after each of eight allocations of 24 MiB"),
            &[1, 2, 3, 3, 4, 5, 6, 6].map(Fact::Number),
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                let (mut blocks, mut facts) = (Vec::new(), Vec::new());
                for _ in 0..8 {
                    blocks.push(allocate_bytes(24 << 20, stream.handle())?);
                    facts.push(pool.chunks()?);
                }
                blocks.into_iter().try_for_each(|block| free(block, stream.handle()))?;
                bench.synchronize()?;
                Ok(facts)
            },
        )
        .alone(),
        Row::new(
            name("what a pool has, of 64 MiB freed and divided: at first, two of 32, joined again"),
            &[2, 2, 2].map(Fact::Number),
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                let whole = allocate_bytes(64 << 20, stream.handle())?;
                let first = pool.chunks()?;
                free(whole, stream.handle())?;
                let halves = [(); 2].map(|()| allocate_bytes(32 << 20, stream.handle()));
                let divided = pool.chunks()?;
                halves.into_iter().try_for_each(|half| free(half?, stream.handle()))?;
                let joined = allocate_bytes(64 << 20, stream.handle())?;
                let again = pool.chunks()?;
                free(joined, stream.handle())?;
                bench.synchronize()?;
                Ok(vec![first, divided, again])
            },
        )
        .alone(),
        Row::new(
            name(
                "what a pool has, after a wait for another stream, a query, a wait for the stream",
            ),
            &[2, 2, 0].map(Fact::Number),
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                let other = Stream::new(KIND)?;
                free(allocate_bytes(64 << 20, stream.handle())?, stream.handle())?;
                while cu!(cuStreamQuery(stream.handle())) != CUresult::CUDA_SUCCESS {}
                cu!(cuStreamSynchronize(other.handle())).result()?;
                let waited = pool.chunks()?;
                cu!(cuStreamQuery(stream.handle())).result()?;
                let asked = pool.chunks()?;
                cu!(cuStreamSynchronize(stream.handle())).result()?;
                Ok(vec![waited, asked, pool.chunks()?])
            },
        )
        .alone(),
        Row::new(
            name("what a pool has, after a wait for an event that comes after the free"),
            &[2, 0].map(Fact::Number),
            |bench| {
                let (stream, pool) = (Stream::new(KIND)?, Pool::of(bench)?);
                let event = Event::new()?;
                free(allocate_bytes(64 << 20, stream.handle())?, stream.handle())?;
                event.record(stream.handle())?;
                let before = pool.chunks()?;
                cu!(cuEventSynchronize(event.handle())).result()?;
                Ok(vec![before, pool.chunks()?])
            },
        )
        .alone(),
        Row::new(
            name("the most that a pool had: reset, set to another value; what it has, set"),
            &[SUCCESS, SUCCESS, INVALID_VALUE, INVALID_VALUE],
            |bench| {
                let pool = Pool::of(bench)?;
                Ok(vec![
                    pool.set(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0),
                    pool.set(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_HIGH, 0),
                    pool.set(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 1),
                    pool.set(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, 1),
                ])
            },
        )
        .alone(),
        Row::new(name("a pool of one's own"), &[SUCCESS], |bench| {
            // SAFETY: every field may be zero: no kind, no place, no limit.
            let mut wanted: sys::CUmemPoolProps = unsafe { std::mem::zeroed() };
            wanted.allocType = sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
            wanted.location.type_ = sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE;
            wanted.location.id = bench.device;
            let mut pool = ptr::null_mut();
            let code = cu!(cuMemPoolCreate(&mut pool, &wanted));
            code.result()?;
            cu!(cuMemPoolDestroy(pool)).result()?;
            Ok(vec![Fact::Code(code)])
        })
        .alone()
        .gap(&[NOT_SUPPORTED]),
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
