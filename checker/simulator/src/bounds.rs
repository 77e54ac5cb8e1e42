//! Times of a task's work alone: the two ends of the scale on which overlap is measured.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use trace::metrics::Bounds;
use trace::program::{
    Access, AccessKind, BlockId, Call, Direction, Items, KernelId, Launch, Loop, Mode, Pipe, Place,
    Range, Step, StreamId,
};
use trace::{Program, Timeline};

use crate::device::peers::over_link_ns;
use crate::device::{Device, Schedule};
use crate::profile::{Link, NoSuchRate, Profile};
use crate::replay::replay_without;

/// The work of a task, engine by engine. Where two devices share it, it is that of one of them: the
/// other does as much, at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskWork {
    /// Nominal bytes from host to device.
    pub host_to_device_bytes: u64,
    /// Nominal bytes from device to host.
    pub device_to_host_bytes: u64,
    /// Nominal bytes from this device to the other, while as many come from there.
    pub between_bytes: u64,
    /// Work of the kernels.
    pub kernels: Vec<TaskKernel>,
    /// The host's own work, in ns.
    pub host_ns: u64,
    /// One of the requests that the host answers, where there are any; what all of them take is in
    /// the others.
    pub request: Option<Request>,
}

/// The work of a request: up it goes, through a kernel, and down again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Nominal bytes from host to device.
    pub host_to_device_bytes: u64,
    /// Nominal bytes from device to host.
    pub device_to_host_bytes: u64,
    /// Work of the kernel.
    pub kernel: TaskKernel,
}

/// The work of a task's kernels of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskKernel {
    /// The name of the rate.
    pub rate: String,
    /// In units of that rate.
    pub units: u64,
    /// Device memory traffic of one kernel that does all of it.
    pub bytes: u64,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Items that the threads share out among them; none where each does the same.
    pub items: Option<Items>,
    /// Instructions that its warps issue over and over, where the kernel says so: kernels that need
    /// another pipe may be side by side on one multiprocessor and lose nothing.
    pub inner_loop: Option<Loop>,
    /// How many blocks each of these kernels has, where the task says that they leave a part of the
    /// device empty: others may run beside them, and alone they take longer.
    pub blocks: Option<u64>,
    /// How many launches do all of it, where the task says so; else one.
    pub launches: Option<u64>,
}

/// S and floor of a task on a device.
///
/// S is the time that each engine takes for its share, one after the other. It is measured as on a
/// GPU, from the host's call to its waking up: one copy, and a kernel of each kind, or as many as
/// the task has. The host is one of the engines where it has work.
///
/// The floor is the longest of the shares at full speed, and kernels that need different pipes are
/// shares of their own. No fixed cost of an operation is in it, since the number of operations is
/// the student's choice, and small kernels run side by side where they leave nothing empty. So no
/// schedule is shorter than the floor.
pub fn bounds(work: &TaskWork, profile: &Arc<Profile>) -> Result<Bounds, NoSuchRate> {
    let copies = &profile.copies;
    let link_ns = |bytes: u64, link: &Link| bytes * 1000 / link.pinned_bytes_per_us.value;
    let up = link_ns(work.host_to_device_bytes, &copies.host_to_device);
    let down = link_ns(work.device_to_host_bytes, &copies.device_to_host);
    let mut pipes: BTreeMap<Option<Pipe>, u64> = BTreeMap::new();
    for TaskKernel { rate, units, inner_loop, .. } in &work.kernels {
        let per_us = profile.rate(rate)?.units_per_us_multiprocessor.value;
        let all = u128::from(per_us * profile.chip.multiprocessors.value);
        *pipes.entry(inner_loop.map(|it| it.pipe)).or_default() +=
            (u128::from(*units) * 1000 / all) as u64;
    }
    let kernels = pipes.into_values().max().unwrap_or(0);
    let longest = if profile.chip.copy_engines.value >= 2 { up.max(down) } else { up + down };
    let swap = over_link_ns(profile, work.between_bytes);
    let floor_ns = kernels.max(longest).max(swap).max(work.host_ns);

    let alone = |calls: Vec<Call>| if calls.is_empty() { 0 } else { makespan_ns(calls, profile) };
    let copy = |bytes: u64, of: fn(Range) -> [Place; 2]| match bytes {
        0 => Vec::new(),
        bytes => {
            let [source, target] = of(Range { block: BlockId(0), offset: 0, bytes });
            let (stream, mode) = (StreamId::LEGACY, Mode::Asynchronous);
            vec![Call::Copy { stream, mode, source, target, bytes }]
        }
    };
    let upload = |bytes| copy(bytes, |range| [Place::Pinned(range), Place::Device(range)]);
    let download = |bytes| copy(bytes, |range| [Place::Device(range), Place::Pinned(range)]);
    let shares = [
        upload(work.host_to_device_bytes),
        launches(&work.kernels, profile),
        download(work.device_to_host_bytes),
        between(work.between_bytes),
    ];
    let serial_ns = shares.into_iter().map(alone).sum::<u64>() + work.host_ns;
    let request_ns = work.request.as_ref().map_or(0, |it| {
        let mut calls = upload(it.host_to_device_bytes);
        calls.extend(launches(std::slice::from_ref(&it.kernel), profile));
        calls.extend(download(it.device_to_host_bytes));
        alone(calls)
    });
    Ok(Bounds { serial_ns, floor_ns, host_ns: work.host_ns, request_ns })
}

/// A copy of so many bytes over the link between two devices.
fn between(bytes: u64) -> Vec<Call> {
    let block = |device| Range { block: BlockId::on(device, 0), offset: 0, bytes };
    let (stream, mode) = (StreamId::LEGACY, Mode::Asynchronous);
    let (source, target) = (Place::Device(block(1)), Place::Device(block(0)));
    let access = Call::PeerAccess { by: 1, pool: false, enabled: true };
    let copy = Call::Copy { stream, mode, source, target, bytes };
    if bytes == 0 { Vec::new() } else { vec![access, copy] }
}

/// A launch of each of these kernels, with what the device has to know of it.
fn launches(kernels: &[TaskKernel], profile: &Profile) -> Vec<Call> {
    let calls = (0..).map(KernelId).zip(kernels).flat_map(|(id, kernel)| {
        let resident = profile.resident_blocks(kernel.threads.max(1), kernel.registers, 0);
        let all = profile.chip.multiprocessors.value * u64::from(resident);
        let launches = kernel.launches.unwrap_or(1).max(1);
        let bytes = kernel.bytes / launches;
        // No more than have items.
        let some = kernel.items.map_or(all, |items| {
            (bytes / u64::from(items.bytes.max(1))).div_ceil(kernel.threads.max(1).into())
        });
        let blocks = kernel.blocks.unwrap_or(all.min(some)).max(1);
        let known = Call::FunctionGet {
            kernel: id,
            name: String::new(),
            rate: kernel.rate.clone(),
            registers: kernel.registers,
            shared_bytes: 0,
            items: kernel.items,
            inner_loop: kernel.inner_loop,
        };
        let launch = Launch {
            kernel: id,
            stream: StreamId::LEGACY,
            grid: [blocks as u32, 1, 1],
            block: [kernel.threads.max(1), 1, 1],
            shared_bytes: 0,
            units: kernel.units / launches,
            bytes,
            // All kernels read the same; the first one finds it in no cache.
            accesses: vec![Access {
                kind: AccessKind::Read,
                range: Range { block: BlockId(0), offset: 0, bytes },
            }],
        };
        let launches = (0..launches).map(move |_| Call::Launch(launch.clone()));
        std::iter::once(known).chain(launches)
    });
    calls.collect()
}

/// Makespan of a region in which the host makes these calls and waits for the device.
fn makespan_ns(calls: Vec<Call>, profile: &Arc<Profile>) -> u64 {
    let (known, asked): (Vec<_>, Vec<_>) =
        calls.into_iter().partition(|call| !matches!(call, Call::Launch(_) | Call::Copy { .. }));
    let begun = known.into_iter().chain([Call::RegionBegin]).chain(asked);
    let calls = begun.chain([Call::ContextSynchronize, Call::RegionEnd]);
    let mut device = Device::new(Arc::clone(profile), Schedule::Exact);
    for (step, call) in (0..).zip(calls) {
        device.call(step, &call, &mut ());
    }
    device.run_to_idle(&mut ());
    device.take_timeline().extent().ns()
}

/// A part of a program's work that one kind of engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// Copies from host to device.
    HostToDevice,
    /// Kernels, memsets, copies within the device, and graphs.
    Kernels,
    /// Copies from device to host.
    DeviceToHost,
}

impl Share {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::HostToDevice, Self::Kernels, Self::DeviceToHost];

    /// The share of a call's work; none for a call that gives the device no work.
    pub fn of(call: &Call) -> Option<Self> {
        match call {
            Call::Copy { .. } => Some(match call.direction() {
                Some(Direction::HostToDevice) => Self::HostToDevice,
                Some(Direction::DeviceToHost) => Self::DeviceToHost,
                _ => Self::Kernels,
            }),
            Call::Launch(_) | Call::Memset { .. } | Call::GraphLaunch { .. } => Some(Self::Kernels),
            _ => None,
        }
    }

    /// Whether a program reduced to this share still makes this call.
    pub fn keeps(self, call: &Call) -> bool {
        Self::of(call).is_none_or(|share| share == self)
    }
}

/// S and floor of the work that a program issues, where no task says what it should: each share as
/// it was issued, by a program that issues nothing else. So pageable memory is as slow in S as it
/// is in the program, and a program that does one thing after the other stands at 0.
pub fn bounds_of_program(program: &Program, profile: &Arc<Profile>) -> Bounds {
    let copy_engines = profile.chip.copy_engines.value;
    let ends = ends_of_program(program, copy_engines, |left: &dyn Fn(&Call) -> bool| {
        let left_out = |call: &Call| !left(call);
        Ok::<_, Infallible>(replay_without(program, Arc::clone(profile), Schedule::Exact, left_out))
    });
    match ends {
        Ok(bounds) => bounds,
        Err(never) => match never {},
    }
}

/// S and floor of a program, from timelines of its parts: `play` runs the calls for which its
/// argument is true.
///
/// Each share is played with what the host does between its operations. So S counts declared host
/// work three times, which does not show as long as it is hidden; where it does, S is what the
/// shares take without it, and the work once.
pub fn ends_of_program<E>(
    program: &Program,
    copy_engines: u64,
    mut play: impl FnMut(&dyn Fn(&Call) -> bool) -> Result<Timeline, E>,
) -> Result<Bounds, E> {
    let work_ns = host_work_ns(program);
    let mut ends = [Bounds::default(); 2];
    for (host_works, ends) in [true, false].into_iter().zip(&mut ends) {
        if !host_works && work_ns == 0 {
            break;
        }
        let mut alone = [Alone::default(); Share::ALL.len()];
        for (share, alone) in Share::ALL.into_iter().zip(&mut alone) {
            let is_host_work = |call: &Call| matches!(call, Call::HostWork { .. });
            let keeps = |call: &Call| share.keeps(call) && (host_works || !is_host_work(call));
            *alone = Alone::of(&play(&keeps)?);
        }
        *ends = bounds_of_shares(alone, copy_engines);
    }
    let [mut bounds, without] = ends;
    if work_ns > 0 {
        bounds.serial_ns = bounds.serial_ns.min(without.serial_ns + work_ns);
    }
    Ok(bounds)
}

/// The declared host work of a program's region, or of all of it, in ns.
fn host_work_ns(program: &Program) -> u64 {
    let place = |is: fn(&Call) -> bool| program.steps.iter().position(|step| is(&step.call));
    let begin = place(|call| matches!(call, Call::RegionBegin)).unwrap_or(0);
    let end = place(|call| matches!(call, Call::RegionEnd)).unwrap_or(program.steps.len());
    let ns = |step: &Step| if let Call::HostWork { ns, .. } = step.call { ns } else { 0 };
    program.steps.iter().take(end).skip(begin).map(ns).sum()
}

/// Time of a share when nothing else is issued.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Alone {
    /// From the start of the first operation of the region to the end of the last, in ns.
    pub extent_ns: u64,
    /// The operations themselves, in ns: while the host prepares the next one, another share may
    /// use what this one does not.
    pub busy_ns: u64,
}

impl Alone {
    /// That of what ran in the region, or in all.
    pub fn of(timeline: &Timeline) -> Self {
        let begin = timeline.extent().start_ns;
        let inside = || timeline.spans.iter().filter(|span| span.start_ns >= begin);
        let first = inside().map(|span| span.start_ns).min();
        let last = inside().map(|span| span.end_ns).max();
        Self {
            extent_ns: first.zip(last).map_or(0, |(first, last)| last - first),
            busy_ns: inside().map(|span| span.end_ns - span.start_ns).sum(),
        }
    }
}

/// S and floor, from what the shares take alone, in the order of [`Share::ALL`].
fn bounds_of_shares([up, kernels, down]: [Alone; 3], copy_engines: u64) -> Bounds {
    let one_engine = if copy_engines >= 2 { 0 } else { up.busy_ns + down.busy_ns };
    let extents = [up, kernels, down].map(|alone| alone.extent_ns);
    Bounds {
        serial_ns: extents.iter().sum(),
        floor_ns: extents.into_iter().fold(one_engine, u64::max),
        // A program does not tell which of its host's work the task wants.
        host_ns: 0,
        request_ns: 0,
    }
}
