//! The training session of `first_launch`: an array on the device is mapped in lengths, and the
//! host keeps a log of them.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::Task;
use kernels::task::first_launch::{MAPPED, RESIDENT, SPEC};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::memory::device_buffer;
use crate::{Lab, Result, host_work};

/// Lengths: each long against its launch, and few enough for any queue.
const LENGTHS: usize = 64;
/// Lines on a page of the log. The host writes them out a page at a time, so that its work comes in
/// pieces which are longer than a length: to have the device at work meanwhile, several have to be
/// queued.
const LINES: usize = 8;

/// The session, not yet in memory.
pub struct Session {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Session {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the lengths, and a log with nothing in it.
    pub fn allocate(&self) -> Result<Course<'_>> {
        let stream = self.context().default_stream();
        let elements = self.task.elements() as usize / LENGTHS;
        let length = |_| {
            // SAFETY: the lab writes all of it before any of it is read.
            let device = unsafe { stream.alloc(elements)? };
            Ok(Length { device, map: self.map.clone() })
        };
        let page_ns = self.task.host_ns().div_ceil((LENGTHS / LINES) as u64);
        Ok(Course {
            session: self,
            lengths: (0..LENGTHS).map(length).collect::<Result<_>>()?,
            log: Log { page: Duration::from_nanos(page_ns), lines: 0 },
        })
    }
}

/// The session in memory.
pub struct Course<'a> {
    session: &'a Session,
    lengths: Vec<Length>,
    log: Log,
}

/// A part of the array.
pub struct Length {
    device: CudaSlice<u32>,
    map: Map,
}

impl Length {
    /// Launches the map over this part, in place.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.device)
    }
}

/// The log, which the host keeps: nothing in it comes from the device.
pub struct Log {
    page: Duration,
    lines: usize,
}

impl Log {
    /// Notes that a length was requested. With every eighth line a page is full, and the host
    /// writes it out, which takes it almost as long as eight lengths take the device.
    pub fn note(&mut self) -> Result<()> {
        self.lines += 1;
        if self.lines.is_multiple_of(LINES) {
            host_work(self.page)?;
        }
        Ok(())
    }
}

impl Course<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(
        &mut self,
        body: impl FnOnce(&mut [Length], &mut Log) -> Result<()>,
    ) -> Result<()> {
        let Self { session, lengths, log } = self;
        let buffers = [RESIDENT, MAPPED].map(|array| {
            let lengths = lengths.iter().map(|length| &length.device).enumerate();
            lengths.map(|(index, data)| device_buffer(array, index * data.len(), data)).collect()
        });
        session.lab.measure(&session.task, buffers, || body(lengths, log))
    }
}

impl Exercise for Session {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let Course { mut log, .. } = self.allocate()?;
        let stream = self.context().new_stream()?;
        // SAFETY: the map makes as little of these words as of any others.
        let mut whole = unsafe { stream.alloc(self.task.elements() as usize)? };
        // All lengths in one kernel: the work, without what launching it in parts costs.
        self.lab.alone("kernels", |stream| {
            self.map.launch(stream, &mut whole)?;
            Ok(())
        })?;
        self.lab.alone("host", |_| {
            for _ in 0..LENGTHS {
                log.note()?;
            }
            Ok(())
        })
    }
}
