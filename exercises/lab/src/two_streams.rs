//! The two jobs of `two_streams`: an array is copied to the device, and another, which is there
//! already, is mapped. Neither needs the other.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Task;
use kernels::task::two_streams::{ARRIVED, FRESH, MAPPED, RESIDENT, SPEC};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Parts of each array in the exercise: enough for the two jobs to go on side by side, few enough
/// for each part to be long against its call.
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
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (index, part) in fresh.iter().enumerate() {
            let first = index * part.host.len();
            inputs.push(part.host.buffer(FRESH, first)?);
            outputs.push(device_buffer(ARRIVED, first, &part.device));
        }
        for (index, part) in resident.iter().enumerate() {
            let first = index * part.device.len();
            inputs.push(device_buffer(RESIDENT, first, &part.device));
            outputs.push(device_buffer(MAPPED, first, &part.device));
        }
        jobs.lab.measure(&jobs.task, [inputs, outputs], || body(fresh, resident))
    }
}

impl Exercise for Jobs {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut course = self.whole()?;
        let (fresh, resident) = (&mut course.fresh[0], &mut course.resident[0]);
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&fresh.host, &mut fresh.device)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            resident.map(stream)?;
            Ok(())
        })
    }
}
