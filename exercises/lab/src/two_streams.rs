//! The two jobs of `two_streams`: an array is copied to the device, and another, which is there already, is
//! mapped. Neither needs the other.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::two_streams::{ARRIVED, FRESH, MAPPED, RESIDENT, SPEC};
use kernels::{Stage, Task};
use trace::lab::{Buffer, Region};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::pipeline::device_address;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Parts of each array in the exercise: enough for the two jobs to go on side by side, few enough for each
/// part to be long against its call.
const PARTS: usize = 16;

/// The two jobs, not yet in memory.
pub struct Jobs {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Jobs {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates both arrays in the parts of the exercise.
    pub fn allocate(&self) -> Result<Course<'_>> {
        self.parts(PARTS)
    }

    /// Allocates both arrays in one piece each, for the puzzle.
    pub fn whole(&self) -> Result<Course<'_>> {
        self.parts(1)
    }

    /// Allocates both arrays in two halves each, for the puzzle.
    pub fn halves(&self) -> Result<Course<'_>> {
        self.parts(2)
    }

    fn parts(&self, parts: usize) -> Result<Course<'_>> {
        let elements = self.task.elements() as usize / parts;
        let stream = self.context().default_stream();
        // SAFETY: all of it is written before any of it is read: by the lab or by a copy.
        let device = || unsafe { stream.alloc::<u32>(elements) };
        let mut course = Course { jobs: self, fresh: Vec::new(), resident: Vec::new() };
        for _ in 0..parts {
            let host = self.lab.host_block(HostMemory::Pinned, elements)?;
            course.fresh.push(Fresh { host, device: device()? });
            course.resident.push(Resident { device: device()?, map: self.map.clone() });
        }
        Ok(course)
    }
}

/// The two jobs in memory.
pub struct Course<'a> {
    jobs: &'a Jobs,
    fresh: Vec<Fresh>,
    resident: Vec<Resident>,
}

/// A part of the array that is to be copied to the device.
pub struct Fresh {
    /// Where it is: pinned memory of the host.
    pub host: HostBlock,
    /// Where it goes.
    pub device: CudaSlice<u32>,
}

/// A part of the array that is on the device.
pub struct Resident {
    device: CudaSlice<u32>,
    map: Map,
}

impl Resident {
    /// Launches the map over this part, in place.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.device)
    }
}

impl Course<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut [Fresh], &mut [Resident]) -> Result<()>,
    ) -> Result<()> {
        let Self { jobs, fresh, resident } = self;
        let stream = jobs.context().default_stream();
        let elements = jobs.task.elements() / fresh.len() as u64;
        let buffer = |array, index: usize, address| {
            let (first, bytes) = (index as u64 * elements, elements * 4);
            Buffer { array, first, address, bytes }
        };
        let device = |array, index, data: &CudaSlice<u32>| {
            buffer(array, index, device_address(data, &stream))
        };
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (index, part) in fresh.iter().enumerate() {
            inputs.push(buffer(FRESH, index, part.host.address()?));
            outputs.push(device(ARRIVED, index, &part.device));
        }
        for (index, part) in resident.iter().enumerate() {
            inputs.push(device(RESIDENT, index, &part.device));
            outputs.push(device(MAPPED, index, &part.device));
        }
        let region =
            Region { task: jobs.task.name().to_owned(), inputs, outputs, ..Region::default() };
        jobs.lab.region_on(region, || body(fresh, resident)).map(drop)
    }
}

impl Exercise for Jobs {
    fn open(lab: &Lab) -> Result<Self> {
        let task = lab.task(&SPEC);
        let map = Map::load(lab.context(), Stage::A, task.rounds(), lab.scale)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut course = self.whole()?;
        let (fresh, resident) = (&mut course.fresh[0], &mut course.resident[0]);
        let stream = self.context().new_stream()?;
        let alone = |name: &str| Region { name: name.to_owned(), ..Region::default() };
        self.lab.region_on(alone("host_to_device"), || {
            stream.memcpy_htod(&fresh.host, &mut fresh.device)?;
            Ok(stream.synchronize()?)
        })?;
        self.lab.region_on(alone("kernels"), || {
            resident.map(&stream)?;
            Ok(stream.synchronize()?)
        })?;
        Ok(())
    }
}
