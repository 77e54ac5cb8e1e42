//! The job of `chunked_pipeline`, and of other exercises whose task is the same: an array is copied
//! to the device, mapped there, and copied back.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice, CudaStream};
use kernels::task::Spec;
use kernels::task::chunked_pipeline::{INPUT, OUTPUT, SPEC};
use kernels::{Stage, Task};
use trace::lab_protocol::Buffer;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result};

/// The job: an array in pinned host memory.
pub struct Job {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Job {
    /// The job of a task with the arrays of `chunked_pipeline`, in their order.
    pub(crate) fn of(lab: &Lab, spec: &'static Spec) -> Result<Self> {
        let task = lab.task(spec);
        let map = Map::load(lab.context(), Stage::A, task.rounds(), lab.scale)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// The job in one piece.
    pub fn whole(&self) -> Plan<'_> {
        Plan { job: self, chunks: 1 }
    }
}

/// How the job is to be cut.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    job: &'a Job,
    chunks: usize,
}

impl<'a> Plan<'a> {
    /// The same, cut into this many chunks.
    pub fn cut(self, chunks: usize) -> Self {
        Self { chunks: chunks.clamp(1, self.job.task.elements() as usize), ..self }
    }

    /// Allocates the chunks: pinned host memory for what goes in and what comes out, device memory
    /// for the rest of the way.
    pub fn allocate(self) -> Result<Chunks<'a>> {
        let Self { job, chunks } = self;
        let context = job.lab.context();
        let stream = context.default_stream();
        let elements = job.task.elements() as usize;
        let mut list = Vec::with_capacity(chunks);
        for index in 0..chunks {
            let (first, end) = (index * elements / chunks, (index + 1) * elements / chunks);
            list.push(Chunk {
                first,
                input: job.lab.host_block(HostMemory::Pinned, end - first)?,
                // SAFETY: the copy from the host writes it before anything reads it.
                device: unsafe { stream.alloc(end - first)? },
                output: job.lab.host_block(HostMemory::Pinned, end - first)?,
                map: job.map.clone(),
            });
        }
        Ok(Chunks { job, list })
    }
}

/// The chunks of the job.
pub struct Chunks<'a> {
    job: &'a Job,
    list: Vec<Chunk>,
}

/// One chunk of the job.
pub struct Chunk {
    first: usize,
    /// The input, in pinned host memory.
    pub input: HostBlock,
    /// Where it is worked on, in device memory.
    pub device: CudaSlice<u32>,
    /// The output, in pinned host memory.
    pub output: HostBlock,
    map: Map,
}

impl Chunk {
    /// Queues the map over this chunk's device memory, in place.
    pub fn map(&mut self, stream: &Arc<CudaStream>) -> Result<()> {
        self.map.launch(stream, &mut self.device)
    }
}

impl Chunks<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut [Chunk]) -> Result<()>) -> Result<()> {
        let buffers = |array, side: fn(&Chunk) -> &HostBlock| -> Result<Vec<Buffer>> {
            self.list.iter().map(|chunk| side(chunk).buffer(array, chunk.first)).collect()
        };
        let buffers = [buffers(INPUT, |it| &it.input)?, buffers(OUTPUT, |it| &it.output)?];
        let Self { job, list } = self;
        job.lab.measure(&job.task, buffers, || body(list))
    }
}

impl Exercise for Job {
    fn open(lab: &Lab) -> Result<Self> {
        Self::of(lab, &SPEC)
    }

    fn calibrate(&self) -> Result<()> {
        let mut chunks = self.whole().allocate()?;
        let chunk = &mut chunks.list[0];
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&chunk.input, &mut chunk.device)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            chunk.map(stream)?;
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&chunk.device, &mut chunk.output)?;
            Ok(())
        })
    }
}
