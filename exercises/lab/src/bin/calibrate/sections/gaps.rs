//! Gaps: from one operation to the next, and between host and device.

use std::ptr;

use cudarc::driver::sys::{CUdeviceptr, CUmemPool_attribute, CUstream};

use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, KIB, MIB, MS, REPETITIONS, call, do_nothing, is_free};
use crate::samples::Samples;

const TRIES: usize = 101;
/// A row is at most 900 calls of less than 5 µs.
const GATE: u64 = 8 * MS;
/// A copy of which hardly anything but its fixed part counts.
const SMALL: usize = 4 * KIB;
/// A copy that goes through a copy engine whatever else there is. What passes before and after
/// smaller ones differs from process to process: of 4 KiB by a factor of three.
const LARGE: usize = 2 * MIB;
/// Lengths of two rows of operations; three calls to each at most, and below 1021 in all.
const ROWS: [usize; 2] = [100, 300];

/// Lengths of two rows of host functions. The system wakes the driver's thread for them when it
/// likes, some tenths of a millisecond sooner or later.
const FUNCTIONS: [usize; 2] = [100, 500];

/// The pool of stream-ordered memory, which keeps what it has.
struct Ordered;

impl Ordered {
    const BYTES: usize = MIB;

    fn new() -> Outcome<Self> {
        let mut pool = ptr::null_mut();
        call!(cuDeviceGetDefaultMemPool(&mut pool, 0))?;
        let mut most = u64::MAX;
        let attribute = CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
        call!(cuMemPoolSetAttribute(pool, attribute, (&raw mut most).cast()))?;
        Ok(Self)
    }

    fn allocate(&self, stream: CUstream) -> Outcome<CUdeviceptr> {
        let mut memory = 0;
        call!(cuMemAllocAsync(&mut memory, Self::BYTES, stream))?;
        Ok(memory)
    }
}

type Issue<'a> = Box<dyn Fn() -> Outcome<()> + 'a>;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let [stream, _] = gpu.streams;
    let pairs = [gpu.pair(LARGE)?, gpu.pair(LARGE)?];
    let kernel = || gpu.nothing(stream);
    let copy = |direction: Direction, bytes: usize| {
        let pair = &pairs[usize::from(direction == Direction::DeviceToHost)];
        gpu.copy(direction, pair.host, pair.device, bytes, stream)
    };
    let up = |bytes: usize| copy(Direction::HostToDevice, bytes);
    let down = |bytes: usize| copy(Direction::DeviceToHost, bytes);
    let in_turn = || up(LARGE).and_then(|()| kernel()).and_then(|()| down(LARGE));
    let times = gpu.arm.repetitions(REPETITIONS);

    let rows: [(&str, Issue<'_>); 6] = [
        ("kernel", Box::new(kernel)),
        ("h2d", Box::new(|| up(SMALL))),
        ("d2h", Box::new(|| down(SMALL))),
        ("large_h2d", Box::new(|| up(LARGE))),
        ("large_d2h", Box::new(|| down(LARGE))),
        ("large_h2d_kernel_d2h", Box::new(in_turn)),
    ];
    for (name, issue) in &rows {
        samples.take(format!("{name}_period_ns"), times, || gpu.period(GATE, ROWS, issue));
    }
    samples.take("host_function_period_ns", times, || {
        gpu.period(GATE, FUNCTIONS, || {
            call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()))
        })
    });

    // The driver's thread falls asleep while a kernel of this length runs.
    const LONG: u64 = 40_000;
    const LONG_ROWS: [usize; 2] = [10, 40];
    let long = || gpu.spin(stream, LONG);
    let function = || call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()));
    samples.take("long_kernel_period_ns", times, || gpu.period(GATE, LONG_ROWS, long));
    samples.take("function_after_kernel_period_ns", times, || {
        gpu.period(GATE, LONG_ROWS, || long().and_then(|()| function()))
    });

    let ordered = Ordered::new()?;
    // Each takes three places in the stream's queue, and perhaps more.
    const FREED_ROWS: [usize; 2] = [50, 150];
    call!(cuMemFreeAsync(ordered.allocate(stream)?, stream))?; // the first one makes the pool grow
    samples.take("freed_kernel_period_ns", times, || {
        gpu.period(GATE, FREED_ROWS, || {
            let memory = ordered.allocate(stream)?;
            kernel()?;
            call!(cuMemFreeAsync(memory, stream))
        })
    });

    // From a call on an idle device to the moment when the host knows that its operation has ended:
    // by waiting for it, and by asking over and over. Both take the same way; what waiting takes
    // longer is the wake.
    samples.take("query_ns", times, || {
        gpu.idle()?;
        gpu.spin(stream, MS)?;
        let total = gpu.held(|| (0..100).try_for_each(|_| is_free(stream).map(drop)))?;
        gpu.idle()?;
        Ok(total / 100)
    });
    let query = u64::try_from(samples.median("query_ns")?).unwrap_or(0);
    for (name, issue) in &rows[..3] {
        // What an engine did before may count for the first operation of another.
        issue()?;
        gpu.idle()?;
        samples.take(format!("{name}_to_synchronize_ns"), gpu.arm.repetitions(TRIES), || {
            gpu.idle()?;
            gpu.held(|| {
                issue()?;
                gpu.synchronize(stream)
            })
        });
        // The end may fall anywhere between two queries: so does the first of them, in steps.
        let mut step = 0;
        samples.take(format!("{name}_to_query_ns"), TRIES, || {
            gpu.idle()?;
            step = (step + 1) % TRIES as u64;
            gpu.held(|| {
                issue()?;
                gpu.arm.pause(query * step / TRIES as u64)?;
                while !is_free(stream)? {}
                Ok(())
            })
        });
    }
    Ok(())
}
