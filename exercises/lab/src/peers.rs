//! The ring of `peers`: two devices have a shard each. Its inside stays where it is, and its edge
//! goes to the other device in each step. And the river of the puzzle, of which each device has a
//! half.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DriverError, sys};
use kernels::task::peers::{INSIDES, SPEC, STAGES, given, made};
use kernels::{Stage, Task};
use trace::lab_protocol::Buffer;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{Error, Lab, Result};

pub use kernels::task::peers::STEPS;

/// Edges of a shard: one that is worked on and sent, one that arrives meanwhile.
const EDGES: usize = 2;

/// The contexts of two devices, of which the first is current.
pub fn contexts(lab: &Lab) -> Result<[Arc<CudaContext>; 2]> {
    let first = lab.context().clone();
    if CudaContext::device_count()? < 2 {
        let why = "this takes two GPUs, and this machine has one\nhint: the simulated device has two: `--device sim`";
        return Err(Error::Refused(why.to_owned()));
    }
    let second = CudaContext::new(1)?;
    // SAFETY: as in the first: what automatic events would order is what the exercise is about.
    unsafe { second.disable_event_tracking() };
    first.bind_to_thread()?;
    Ok([first, second])
}

/// Lets each of two devices use the default pool of the other, which is where cudarc allocates
/// memory.
pub fn allow_access(contexts: [&Arc<CudaContext>; 2]) -> Result<()> {
    let [first, second] = contexts;
    allow(first, second, true)?;
    allow(second, first, true)
}

/// Says whether a device may use the default pool of another one: `cuMemPoolSetAccess`.
pub fn allow(of: &Arc<CudaContext>, by: &Arc<CudaContext>, enabled: bool) -> Result<()> {
    use sys::CUmemAccess_flags::{
        CU_MEM_ACCESS_FLAGS_PROT_NONE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
    };
    let access = sys::CUmemAccessDesc {
        location: sys::CUmemLocation {
            type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
            id: by.cu_device(),
        },
        flags: if enabled {
            CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        } else {
            CU_MEM_ACCESS_FLAGS_PROT_NONE
        },
    };
    of.bind_to_thread()?;
    let mut pool = std::ptr::null_mut();
    // SAFETY: writes one handle, and reads one description.
    unsafe {
        done(sys::cuDeviceGetDefaultMemPool(&raw mut pool, of.cu_device()))?;
        done(sys::cuMemPoolSetAccess(pool, &raw const access, 1))?;
    }
    Ok(())
}

fn done(result: sys::CUresult) -> Result<(), DriverError> {
    result.result()
}

/// The ring, not yet in memory.
pub struct Ring {
    lab: Lab,
    task: Task,
    contexts: [Arc<CudaContext>; 2],
    maps: [Map; 2],
}

impl Ring {
    /// The contexts of the two devices.
    pub fn contexts(&self) -> [&Arc<CudaContext>; 2] {
        self.contexts.each_ref()
    }

    /// Lets each device use the memory of the other.
    pub fn allow_access(&self) -> Result<()> {
        allow_access(self.contexts())
    }

    /// Allocates a shard on each device.
    pub fn allocate(&self) -> Result<Session<'_>> {
        let [first, second] = [0, 1].map(|device| self.shard(device));
        Ok(Session { ring: self, shards: [first?, second?] })
    }

    fn shard(&self, device: usize) -> Result<Shard> {
        let stream = self.contexts[device].default_stream();
        let elements = self.task.elements() as usize;
        // SAFETY: any bits are a valid `u32`. What is read is written first: by the region, or by a
        // copy.
        let memory = |elements| unsafe { stream.alloc(elements) };
        Ok(Shard {
            edges: [memory(elements)?, memory(elements)?],
            inside: memory(INSIDES * elements)?,
            map: self.maps[device].clone(),
        })
    }
}

/// The ring, in memory.
pub struct Session<'a> {
    ring: &'a Ring,
    shards: [Shard; 2],
}

/// The part of the ring that a device has in its memory.
pub struct Shard {
    /// Room for two edges. In step `n` the edge is in the one with number `n % 2`, and the edge of
    /// the other device arrives in the other one.
    pub edges: [CudaSlice<u32>; EDGES],
    inside: CudaSlice<u32>,
    map: Map,
}

impl Shard {
    /// Launches the kernel of a step over the edge that is in `edges[number]`.
    pub fn edge(&mut self, stream: &Arc<CudaStream>, number: usize) -> Result<()> {
        self.map.launch(stream, &mut self.edges[number])
    }

    /// Launches the kernel of a step over the inside, which is three times as long.
    pub fn inside(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.inside)
    }

    /// The contents of the memory: the edge, and the arrays of the inside.
    fn buffers(&self, first: u32) -> Vec<Buffer> {
        let mut buffers = vec![device_buffer(first, 0, &self.edges[0])];
        let inside = device_buffer(0, 0, &self.inside);
        let bytes = inside.bytes / INSIDES as u64;
        let part = |number: u64| Buffer {
            array: first + 1 + number as u32,
            address: inside.address + number * bytes,
            bytes,
            ..inside
        };
        buffers.extend((0..INSIDES as u64).map(part));
        buffers
    }
}

impl Session<'_> {
    /// The measured region. Both devices are idle when it begins, and must be idle again when
    /// `body` returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut Shard, &mut Shard) -> Result<()>,
    ) -> Result<()> {
        let Self { ring, shards } = self;
        let [inputs, outputs] = [given, made].map(|first: fn(usize) -> u32| {
            let parts = shards.iter().enumerate().map(|(device, it)| it.buffers(first(device)));
            parts.flatten().collect()
        });
        let [first, second] = shards;
        ring.lab.measure(&ring.task, [inputs, outputs], || body(first, second))
    }
}

impl Exercise for Ring {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, contexts) = (lab.task(&SPEC), contexts(lab)?);
        let map =
            |device: usize| Map::load(&contexts[device], STAGES[device], task.rounds(), lab.scale);
        let maps = [map(0)?, map(1)?];
        contexts[0].bind_to_thread()?;
        Ok(Self { lab: lab.clone(), task, contexts, maps })
    }

    fn calibrate(&self) -> Result<()> {
        self.allow_access()?;
        let elements = self.task.elements() as usize * STEPS;
        let memory = |device: usize| -> Result<CudaSlice<u32>> {
            Ok(self.contexts[device].default_stream().alloc_zeros(elements)?)
        };
        let (source, mut target) = (memory(1)?, memory(0)?);
        self.contexts[0].bind_to_thread()?;
        // All steps in one: the same work, and what a call costs only once.
        self.lab
            .alone("between_devices", |stream| Ok(stream.memcpy_dtod(&source, &mut target)?))?;
        let Session { shards: [mut shard, _], .. } = self.allocate()?;
        shard.map = shard.map.with_rounds(self.task.rounds() * STEPS as u32);
        self.lab.alone("kernels", |stream| {
            shard.edge(stream, 0)?;
            shard.inside(stream)
        })
    }
}

/// The time of a step of the puzzle on each device where nothing else is at work, in µs.
const STEP_US: u64 = 1200;
/// One part in so many of it is for the edge.
const EDGE: u64 = 10;
/// Elements of an edge: 32 MiB.
const EDGE_ELEMENTS: usize = 8 << 20;

/// One half of the river of the puzzle.
pub struct Half {
    /// The part that goes to the other half.
    pub edge: CudaSlice<u32>,
    /// Where the other half's edge arrives.
    pub halo: CudaSlice<u32>,
    inside: CudaSlice<u32>,
    maps: [Map; 2],
}

/// The two halves of the river, each on a device of its own, and the contexts of the devices.
pub fn river(lab: &Lab) -> Result<([Arc<CudaContext>; 2], [Half; 2])> {
    let contexts = contexts(lab)?;
    let [first, second] = contexts.each_ref().map(|context| Half::new(lab, context));
    contexts[0].bind_to_thread()?;
    Ok((contexts, [first?, second?]))
}

impl Half {
    fn new(lab: &Lab, context: &Arc<CudaContext>) -> Result<Self> {
        let map = |part: u64| {
            let units = lab.speeds.map_units_per_us * STEP_US * part / EDGE;
            let rounds = units / EDGE_ELEMENTS as u64;
            Map::load(context, Stage::A, rounds as u32, lab.scale)
        };
        let memory = || context.default_stream().alloc_zeros(lab.elements(EDGE_ELEMENTS));
        Ok(Self {
            edge: memory()?,
            halo: memory()?,
            inside: memory()?,
            maps: [map(1)?, map(EDGE - 1)?],
        })
    }

    /// Launches the kernel of a step over the edge, for which it reads the halo.
    pub fn step_edge(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.maps[0].launch_between(stream, &self.halo.as_view(), &mut self.edge.as_view_mut())
    }

    /// Launches the kernel of a step over all the rest, which needs nothing from the other half.
    pub fn step_inside(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.maps[1].launch(stream, &mut self.inside)
    }
}
