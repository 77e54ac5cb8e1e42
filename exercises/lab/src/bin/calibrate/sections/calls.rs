//! The cost of calls to the host: on an idle device, after a kernel, in pairs of making and ending.

use std::ptr;

use cudarc::driver::sys::CUevent;

use crate::arm::Outcome;
use crate::gpu::{
    self, Direction, Gpu, KIB, MIB, MS, Pair, REPETITIONS, Timing, call, do_nothing, entry, event,
    is_free, is_ready, load,
};
use crate::pages::Pages;
use crate::samples::Samples;

/// After a kernel: well below the 1021 operations after which a launch blocks.
const CALLS: usize = 200;
/// One at a time.
const TRIES: usize = 101;
/// Longer than so many calls take.
const AHEAD: u64 = 8 * MS;
/// More than the caches of a processor hold.
const OTHERS: usize = 256 * MIB;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let pair = gpu.pair(MIB)?;
    streams_and_events(gpu, &pair, samples)?;
    memory(gpu, samples);
    page_locking(gpu, samples)?;
    rest(gpu, samples)
}

/// A call with its name.
type Named<'a> = (&'a str, Box<dyn Fn() -> Outcome<()> + 'a>);

/// Calls that put work into a stream or ask about it.
fn stream_calls<'a>(gpu: &'a Gpu, pair: &'a Pair, pending: CUevent) -> Vec<Named<'a>> {
    let [stream, _] = gpu.streams;
    let [recorded, _] = gpu.order;
    let copy = move |direction| {
        Box::new(move || gpu.copy(direction, pair.host, pair.device, 4 * KIB, stream))
    };
    let memset = gpu.arm.in_memory(4 * KIB);
    vec![
        ("launch", Box::new(move || gpu.nothing(stream))),
        ("h2d", copy(Direction::HostToDevice)),
        ("d2h", copy(Direction::DeviceToHost)),
        ("memset", Box::new(move || call!(cuMemsetD8Async(pair.device, 0, memset, stream)))),
        ("event_record", Box::new(move || gpu.record(recorded, stream))),
        ("event_record_timed", Box::new(move || gpu.record(gpu.stop, stream))),
        ("stream_wait", Box::new(move || gpu.wait(stream, pending))),
        ("event_query", Box::new(move || is_ready(pending).map(drop))),
        ("stream_query", Box::new(move || is_free(stream).map(drop))),
        (
            "host_function",
            Box::new(move || call!(cuLaunchHostFunc(stream, Some(do_nothing), ptr::null_mut()))),
        ),
    ]
}

fn streams_and_events(gpu: &Gpu, pair: &Pair, samples: &mut Samples) -> Outcome<()> {
    let [stream, other] = gpu.streams;
    let [_, pending] = gpu.order;
    for (name, call) in stream_calls(gpu, pair, pending) {
        let times = gpu.arm.repetitions(REPETITIONS);
        samples.take(format!("call_{name}_busy_ns"), times, || {
            gpu.idle()?;
            gpu.spin(other, AHEAD)?;
            gpu.record(pending, other)?;
            gpu.spin(stream, AHEAD)?;
            let total = gpu.held(|| (0..CALLS).try_for_each(|_| call()))?;
            let ended = is_free(stream)?;
            gpu.idle()?;
            match ended {
                true => Err(format!("{CALLS} calls took {total} ns, longer than what is ahead")),
                false => Ok(total / CALLS as i64),
            }
        });
        samples.take(format!("call_{name}_idle_ns"), gpu.arm.repetitions(TRIES), || {
            gpu.idle()?;
            gpu.held(&call)
        });
    }
    samples.take("call_synchronize_idle_ns", gpu.arm.repetitions(REPETITIONS), || {
        gpu.idle()?;
        gpu.held(|| (0..CALLS).try_for_each(|_| gpu.synchronize(stream)))
            .map(|total| total / CALLS as i64)
    });
    let times = gpu.arm.repetitions(TRIES);
    make_and_end(gpu, samples, "stream_create", "stream_destroy", times, gpu::stream, |stream| {
        call!(cuStreamDestroy_v2(stream))
    });
    let untimed = || event(Timing::Off);
    make_and_end(gpu, samples, "event_create", "event_destroy", times, untimed, |event| {
        call!(cuEventDestroy_v2(event))
    });
    Ok(())
}

fn memory(gpu: &Gpu, samples: &mut Samples) {
    let [stream, _] = gpu.streams;
    let times = gpu.arm.repetitions(REPETITIONS);
    // More than shares what is mapped with others.
    let free = |pointer| call!(cuMemFree_v2(pointer));
    make_and_end(gpu, samples, "alloc", "free", times, || gpu.allocate(4 * MIB), free);
    let large = || gpu.allocate(256 * MIB);
    make_and_end(gpu, samples, "alloc_large", "free_large", times, large, free);
    // As long as the first is there, the others need nothing mapped.
    let small = || gpu.allocate(4 * KIB);
    let kept = small();
    make_and_end(gpu, samples, "alloc_shared", "free_shared", times, small, free);
    let _ = kept.and_then(free);
    let free = |pointer: *mut u8| call!(cuMemFreeHost(pointer.cast()));
    let small = || gpu.pin(4 * KIB);
    let kept = small();
    make_and_end(gpu, samples, "alloc_host_shared", "free_host_shared", times, small, free);
    let _ = kept.and_then(free);
    let take = || {
        let mut pointer = 0;
        call!(cuMemAllocAsync(&mut pointer, gpu.arm.in_memory(MIB), stream)).map(|()| pointer)
    };
    let free = |pointer| call!(cuMemFreeAsync(pointer, stream));
    // As long as some of it is in use, the pool keeps what it has.
    let kept = take();
    make_and_end(gpu, samples, "alloc_async", "free_async", times, take, free);
    let _ = kept.and_then(free);
}

/// Page-locking. The pages that the system hands out are in no cache, as where a program has worked
/// on other memory since it gave some back: it clears them. Blocks below 2 MiB share what is mapped
/// with others.
fn page_locking(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    let others = Pages::new(gpu.arm.in_memory(OTHERS))?;
    for bytes in [2 * MIB, 4 * MIB, 16 * MIB, 64 * MIB] {
        let (mut locks, mut ends) = (Vec::new(), Vec::new());
        let measured = (0..gpu.arm.repetitions(REPETITIONS)).try_for_each(|_| {
            others.touch();
            let began = gpu.arm.now()?;
            let pointer = gpu.pin(bytes)?;
            locks.push(began.elapsed_ns()?);
            ends.push(gpu.held(|| call!(cuMemFreeHost(pointer.cast())))?);
            Ok(())
        });
        samples.keep(format!("call_alloc_host_ns/{bytes}"), measured.clone().map(|()| locks));
        samples.keep(format!("call_free_host_ns/{bytes}"), measured.map(|()| ends));
    }
    Ok(())
}

fn rest(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    // It was loaded before: the driver's cache of compiled code answers where it is enabled.
    let times = gpu.arm.repetitions(REPETITIONS);
    let image = kernels::map::IMAGE;
    make_and_end(
        gpu,
        samples,
        "module_load",
        "module_unload",
        times,
        || load(image),
        |module| call!(cuModuleUnload(module)),
    );
    // For calls that neither wait nor queue anything.
    samples.take("call_function_get_ns", times, || {
        gpu.held(|| (0..CALLS).try_for_each(|_| entry(gpu.map_module, c"map_a").map(drop)))
            .map(|total| total / CALLS as i64)
    });
    Ok(())
}

/// The cost of making a thing and of ending it, one after the other.
fn make_and_end<T>(
    gpu: &Gpu,
    samples: &mut Samples,
    make_name: &str,
    end_name: &str,
    times: usize,
    make: impl Fn() -> Outcome<T>,
    end: impl Fn(T) -> Outcome<()>,
) {
    let key = |name: &str| format!("call_{name}_ns");
    let mut ends = Ok(Vec::new());
    samples.take(key(make_name), times, || {
        let began = gpu.arm.now()?;
        let made = make()?;
        let taken = began.elapsed_ns()?;
        let ended = gpu.held(|| end(made))?;
        if let Ok(ends) = &mut ends {
            ends.push(ended);
        }
        Ok(taken)
    });
    samples.keep(key(end_name), ends);
}
