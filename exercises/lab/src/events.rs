//! The relay of `events`: an array is uploaded, mapped and downloaded again, one part in each
//! iteration. The device has fewer buffers than there are iterations, so the buffers are used in
//! turn.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Task;
use kernels::task::events::{INPUT, OUTPUT, SPEC};
use trace::lab_protocol::Buffer;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Laps of the exercise: filling and draining cost a lap each, and with this many they hardly show.
const LAPS: usize = 32;
/// Places on the device: one for each of the three stages, and one to spare, so that no stage waits
/// only because another took a little longer.
const SLOTS: usize = 4;

/// The relay, not yet in memory.
pub struct Relay {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Relay {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the laps of the exercise and its four slots.
    pub fn allocate(&self) -> Result<Course<'_>> {
        self.course(LAPS, SLOTS, HostMemory::Pinned)
    }

    /// Allocates the whole array as a single lap, for the puzzle.
    pub fn single(&self, memory: HostMemory) -> Result<Course<'_>> {
        self.course(1, 1, memory)
    }

    /// Memory for another array of the same size, on the host and on the device, for the puzzle:
    /// the caller's own.
    pub fn array(&self) -> Result<(HostBlock, CudaSlice<u32>)> {
        let elements = self.task.elements() as usize;
        let mut host = self.lab.host_block(HostMemory::Pinned, elements)?;
        host.words_mut()?.fill(1);
        Ok((host, self.context().default_stream().alloc_zeros(elements)?))
    }

    fn course(&self, laps: usize, slots: usize, memory: HostMemory) -> Result<Course<'_>> {
        let elements = self.task.elements() as usize / laps;
        let stream = self.context().default_stream();
        let lap = |index| {
            Ok(Lap {
                first: index * elements,
                slot: index % slots,
                input: self.lab.host_block(memory, elements)?,
                output: self.lab.host_block(memory, elements)?,
            })
        };
        let slot = |_| {
            // SAFETY: any bits are a valid `u32`. A program without the waits does read what lies
            // there.
            let data = unsafe { stream.alloc(elements)? };
            Ok(Slot { data, map: self.map.clone() })
        };
        Ok(Course {
            relay: self,
            laps: (0..laps).map(lap).collect::<Result<_>>()?,
            slots: (0..slots).map(slot).collect::<Result<_>>()?,
        })
    }
}

/// The relay in memory.
pub struct Course<'a> {
    relay: &'a Relay,
    laps: Vec<Lap>,
    slots: Vec<Slot>,
}

/// A part of the array.
pub struct Lap {
    first: usize,
    /// The slot that it goes through.
    pub slot: usize,
    /// The input.
    pub input: HostBlock,
    /// The output.
    pub output: HostBlock,
}

/// A place on the device.
pub struct Slot {
    /// The data in it.
    pub data: CudaSlice<u32>,
    map: Map,
}

impl Slot {
    /// Queues the map over this slot, in place.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.data)
    }
}

impl Course<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut [Lap], &mut [Slot]) -> Result<()>,
    ) -> Result<()> {
        let Self { relay, laps, slots } = self;
        let buffers = |array, block: fn(&Lap) -> &HostBlock| -> Result<Vec<Buffer>> {
            laps.iter().map(|lap| block(lap).buffer(array, lap.first)).collect()
        };
        let buffers = [buffers(INPUT, |lap| &lap.input)?, buffers(OUTPUT, |lap| &lap.output)?];
        relay.lab.measure(&relay.task, buffers, || body(laps, slots))
    }
}

impl Exercise for Relay {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut course = self.single(HostMemory::Pinned)?;
        let (lap, slot) = (&mut course.laps[0], &mut course.slots[0]);
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&lap.input, &mut slot.data)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            slot.map(stream)?;
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&slot.data, &mut lap.output)?;
            Ok(())
        })
    }
}
