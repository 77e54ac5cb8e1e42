//! The work of `buffer_lifetime`: batches are uploaded, mapped and downloaded, and the memory for
//! that comes from a caching allocator.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use kernels::Task;
use kernels::task::buffer_lifetime::{INPUT, OUTPUT, SPEC};

use crate::caching::{Allocator, Tensor};
use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Batches of the exercise: filling and draining the pipeline is a small part of the whole.
const BATCHES: usize = 16;
/// Batches of the puzzle: few enough to be told apart in a figure.
const FEW_BATCHES: usize = 8;

/// The work, not yet in memory.
pub struct Work {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Work {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// A caching allocator without memory. The task allows four blocks of the size of a batch.
    pub fn allocator(&self) -> Allocator {
        Allocator::new(self.context())
    }

    /// Allocates the host memory of all batches.
    pub fn allocate(&self) -> Result<Batches<'_>> {
        self.cut(BATCHES)
    }

    /// The same work in a few large batches, for the puzzle.
    pub fn short(&self) -> Result<Batches<'_>> {
        self.cut(FEW_BATCHES)
    }

    /// Launches the kernel that maps `input` to `result`.
    pub fn map(&self, stream: &Arc<CudaStream>, input: &Tensor, result: &mut Tensor) -> Result<()> {
        self.map.launch_between(stream, &input.as_view(), &mut result.as_view_mut())
    }

    fn cut(&self, batches: usize) -> Result<Batches<'_>> {
        let words = self.task.elements() as usize / batches;
        let block = || self.lab.host_block(HostMemory::Pinned, words);
        let batch = |_| Ok(Batch { input: block()?, output: block()? });
        Ok(Batches { work: self, list: (0..batches).map(batch).collect::<Result<_>>()?, words })
    }
}

/// The batches, in host memory.
pub struct Batches<'a> {
    work: &'a Work,
    list: Vec<Batch>,
    words: usize,
}

/// A batch, in pinned host memory.
pub struct Batch {
    /// The data that are uploaded.
    pub input: HostBlock,
    /// Where the result is downloaded to.
    pub output: HostBlock,
}

impl Batches<'_> {
    /// Words of a batch.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut [Batch]) -> Result<()>) -> Result<()> {
        let Self { work, list, words } = self;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (index, batch) in list.iter().enumerate() {
            inputs.push(batch.input.buffer(INPUT, index * *words)?);
            outputs.push(batch.output.buffer(OUTPUT, index * *words)?);
        }
        work.lab.measure(&work.task, [inputs, outputs], || body(list))
    }
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut batches = self.cut(1)?;
        let (words, batch) = (batches.words(), &mut batches.list[0]);
        let stream = self.context().new_stream()?;
        let memory = self.allocator();
        let mut input = memory.allocate(&stream, words)?;
        let mut result = memory.allocate(&stream, words)?;
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&batch.input, &mut input)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| self.map(stream, &input, &mut result))?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&result, &mut batch.output)?;
            Ok(())
        })
    }
}
