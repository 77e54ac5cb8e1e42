//! Calls as a program makes them: with cudarc, through the driver library, in a region, and of
//! several kinds in turn. They take longer than the same calls one kind after the other. That is
//! cudarc's own work, and what the library notes, and what is no longer in the host's caches when a
//! kind has its turn again.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PinnedHostSlice,
    PushKernelArg as _,
};
use cudarc::nvrtc::Ptx;
use trace::lab_protocol::{Region, Request};

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, KIB, MS, REPETITIONS, call};
use crate::pages::Caches;
use crate::samples::Samples;

/// As many as programs have that overlap copies and kernels.
const STREAMS: usize = 4;
/// Groups of an upload, a kernel and a download that are measured. They are far from the 1021
/// operations after which a launch blocks.
const GROUPS: usize = 40;
/// Groups before those: the first calls of each stream take longer.
const FIRST: usize = 2 * STREAMS;
/// The size of its copies.
const BYTES: usize = 4 * KIB;
/// Longer than so many calls take.
const AHEAD: u64 = 8 * MS;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    if gpu.arm == Arm::Real {
        return Err("a program's calls pass through the driver library".to_owned());
    }
    let mut program = Program::new(gpu).map_err(|error| error.to_string())?;
    let caches = Caches::new(gpu)?;
    let (mut groups, mut calls) = (Vec::new(), Vec::new());
    // In turn, so that both are measured at the pace that the host has at the time.
    let measured = (0..gpu.arm.repetitions(REPETITIONS)).try_for_each(|_| {
        caches.empty(gpu)?;
        groups.push(program.groups(gpu)?);
        calls.push(one_kind_after_the_other(gpu)?);
        Ok(())
    });
    samples.keep("program_group_ns", measured.clone().map(|()| groups));
    samples.keep("program_calls_ns", measured.map(|()| calls));
    Ok(())
}

/// A program that copies up, launches a kernel and copies down in one stream after the other.
struct Program {
    streams: Vec<Arc<CudaStream>>,
    function: CudaFunction,
    groups: Vec<Group>,
}

/// The memory of a group.
struct Group {
    up: PinnedHostSlice<u32>,
    device: CudaSlice<u32>,
    down: PinnedHostSlice<u32>,
}

impl Program {
    fn new(gpu: &Gpu) -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        // SAFETY: each group has memory of its own and uses it in one stream, and nothing is freed
        // meanwhile.
        unsafe { context.disable_event_tracking() };
        let streams = (0..STREAMS).map(|_| context.new_stream()).collect::<Result<_, _>>()?;
        let function =
            context.load_module(Ptx::from_src(kernels::map::IMAGE))?.load_function("map_a")?;
        let words = gpu.arm.in_memory(BYTES) / size_of::<u32>();
        // SAFETY: no word is read before one is written.
        let pinned = || unsafe { context.alloc_pinned_with_flags(words, 0) };
        let group = |_| {
            let device = context.default_stream().alloc_zeros(words)?;
            Ok(Group { up: pinned()?, device, down: pinned()? })
        };
        let groups = (0..FIRST + GROUPS).map(group).collect::<Result<_, _>>()?;
        Ok(Self { streams, function, groups })
    }

    /// Measures what a group takes the host, in ns. Before each copy cudarc has the stream wait for
    /// the event of the pinned memory.
    fn groups(&mut self, gpu: &Gpu) -> Outcome<i64> {
        let Self { streams, function, groups } = self;
        let issue = |groups: &mut [Group]| {
            groups
                .iter_mut()
                .zip(streams.iter().cycle())
                .try_for_each(|(group, stream)| {
                    stream.memcpy_htod(&group.up, &mut group.device)?;
                    nothing(stream, function)?;
                    stream.memcpy_dtoh(&group.device, &mut group.down)
                })
                .map_err(|error| error.to_string())
        };
        let (first, others) = groups.split_at_mut(FIRST);
        let ask = |request| lab::driver::ask(&request).map_err(|error| error.to_string());
        ask(Request::RegionBegin(Region { name: "program".to_owned(), ..Region::default() }))?;
        let total = streams
            .iter()
            .try_for_each(|stream| gpu.spin(stream.cu_stream(), AHEAD))
            .and_then(|()| issue(first))
            .and_then(|()| gpu.held(|| issue(others)));
        gpu.idle()?;
        ask(Request::RegionEnd)?;
        Ok(total? / GROUPS as i64)
    }
}

/// Measures what the driver's functions take that a group calls, each over and over, in ns.
fn one_kind_after_the_other(gpu: &Gpu) -> Outcome<i64> {
    let [stream, other] = gpu.streams;
    let pair = gpu.pair(BYTES)?;
    let [_, pending] = gpu.order;
    gpu.idle()?;
    gpu.spin(other, AHEAD)?;
    gpu.record(pending, other)?;
    gpu.spin(stream, AHEAD)?;
    let row = |call: &dyn Fn() -> Outcome<()>| {
        call()?; // the first takes longer
        gpu.held(|| (0..GROUPS).try_for_each(|_| call()))
    };
    let copy = |direction| gpu.copy(direction, pair.host, pair.device, BYTES, stream);
    let copies = Direction::BOTH.map(|direction| row(&|| copy(direction)));
    let (wait, launch) = (row(&|| gpu.wait(stream, pending)), row(&|| gpu.nothing(stream)));
    gpu.idle()?;
    call!(cuMemFree_v2(pair.device))?;
    call!(cuMemFreeHost(pair.host.cast()))?;
    let [up, down] = copies;
    Ok((up? + down? + launch? + 2 * wait?) / GROUPS as i64)
}

/// Launches a kernel over no elements.
fn nothing(stream: &Arc<CudaStream>, function: &CudaFunction) -> Result<(), DriverError> {
    let config = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
    let (none, elements, rounds) = (0_u64, 0_u32, 0_u32);
    let mut launch = stream.launch_builder(function);
    launch.arg(&none).arg(&none).arg(&elements).arg(&rounds);
    // SAFETY: the kernel takes two pointers and two numbers, and touches nothing for no elements.
    unsafe { launch.launch(config) }.map(drop)
}
