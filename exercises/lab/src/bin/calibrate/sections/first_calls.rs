//! The first call of its kind after the host has worked on other memory: what it takes where the
//! driver's code and data are in no cache. A program's region begins like that.

use std::collections::BTreeMap;
use std::ptr;

use crate::arm::Outcome;
use crate::gpu::{self, Direction, Gpu, KIB, MIB, REPETITIONS, Timing, call, do_nothing, event};
use crate::pages::Caches;
use crate::samples::Samples;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let caches = Caches::new(gpu)?;
    let pair = gpu.pair(MIB)?;
    let [stream, other] = gpu.streams;
    let launch = || gpu.nothing(stream);
    let copy = || gpu.copy(Direction::HostToDevice, pair.host, pair.device, 4 * KIB, stream);
    let memset = || call!(cuMemsetD8Async(pair.device, 0, gpu.arm.in_memory(4 * KIB), stream));
    let function = || call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()));
    let take = || {
        let mut pointer = 0;
        call!(cuMemAllocAsync(&mut pointer, gpu.arm.in_memory(MIB), stream)).map(|()| pointer)
    };
    // As long as some of it is in use, the pool keeps what it has.
    let kept = take()?;
    let mut rows = Rows { gpu, samples: BTreeMap::new() };
    let measured = (0..gpu.arm.repetitions(REPETITIONS)).try_for_each(|_| {
        caches.empty(gpu)?;
        rows.time("first_copy_ns", copy)?;
        rows.time("first_launch_after_copy_ns", launch)?;

        caches.empty(gpu)?;
        rows.time("first_launch_ns", launch)?;
        rows.time("first_copy_after_launch_ns", copy)?;

        caches.empty(gpu)?;
        launch()?;
        let made = rows.time("first_event_create_ns", || event(Timing::Off))?;
        rows.time("first_event_record_ns", || gpu.record(made, stream))?;
        rows.time("first_stream_wait_ns", || gpu.wait(other, made))?;
        rows.time("first_event_destroy_ns", || call!(cuEventDestroy_v2(made)))?;
        rows.time("first_memset_ns", memset)?;
        rows.time("first_host_function_ns", function)?;
        let made = rows.time("first_stream_create_ns", gpu::stream)?;
        rows.time("first_stream_destroy_ns", || call!(cuStreamDestroy_v2(made)))?;
        let taken = rows.time("first_alloc_async_ns", take)?;
        rows.time("first_free_async_ns", || call!(cuMemFreeAsync(taken, stream)))?;
        gpu.idle()?;
        let block = rows.time("first_alloc_ns", || gpu.allocate(4 * MIB))?;
        rows.time("first_free_ns", || call!(cuMemFree_v2(block)))
    });
    for (key, taken) in rows.samples {
        samples.keep(key, measured.clone().map(|()| taken));
    }
    measured?;
    call!(cuMemFreeAsync(kept, stream))
}

/// Samples that were taken in turn, by key.
struct Rows<'a> {
    gpu: &'a Gpu,
    samples: BTreeMap<&'static str, Vec<i64>>,
}

impl Rows<'_> {
    /// Makes a call and keeps what it took.
    fn time<T>(&mut self, key: &'static str, call: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let began = self.gpu.arm.now()?;
        let made = call()?;
        self.samples.entry(key).or_default().push(began.elapsed_ns()?);
        Ok(made)
    }
}
