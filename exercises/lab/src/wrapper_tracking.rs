//! The work of `wrapper_tracking`: batches are uploaded, each half of a batch is mapped by a kernel
//! of its own, and both halves are downloaded. cudarc's event tracking is on.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, CudaView, CudaViewMut};
use kernels::Task;
use kernels::task::wrapper_tracking::{INPUT, OUTPUT, SPEC};

use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Batches of the exercise: the first upload and the last download, which nothing can hide, are a
/// small part of the whole.
const BATCHES: usize = 16;
/// Batches of the puzzle: few enough to be told apart in a figure.
const FEW_BATCHES: usize = 4;

/// The work, not yet in memory.
pub struct Work {
    lab: Lab,
    task: Task,
    map: Map,
}

impl Work {
    /// The context of the device. Its event tracking is on, as in every new context of cudarc.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.lab.context()
    }

    /// Allocates the host memory of all batches.
    pub fn allocate(&self) -> Result<Batches<'_>> {
        self.cut(BATCHES)
    }

    /// The same work in a few large batches, for the puzzle.
    pub fn short(&self) -> Result<Batches<'_>> {
        self.cut(FEW_BATCHES)
    }

    /// Launches the kernel that maps one half of a batch.
    pub fn map(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaView<'_, u32>,
        result: &mut CudaViewMut<'_, u32>,
    ) -> Result<()> {
        self.map.launch_between(stream, input, result)
    }

    /// Launches a kernel that takes no longer than its launch, for the puzzle.
    pub fn tiny(
        &self,
        stream: &Arc<CudaStream>,
        input: &CudaView<'_, u32>,
        result: &mut CudaViewMut<'_, u32>,
    ) -> Result<()> {
        self.map.with_rounds(1).launch_between(stream, input, result)
    }

    fn cut(&self, batches: usize) -> Result<Batches<'_>> {
        let elements = self.task.elements() as usize / batches;
        let block = |elements| self.lab.host_block(HostMemory::Pinned, elements);
        let batch = |_| {
            Ok(Batch {
                input: block(elements)?,
                left: block(elements / 2)?,
                right: block(elements / 2)?,
            })
        };
        Ok(Batches { work: self, list: (0..batches).map(batch).collect::<Result<_>>()?, elements })
    }
}

/// The batches, in host memory.
pub struct Batches<'a> {
    work: &'a Work,
    list: Vec<Batch>,
    elements: usize,
}

/// A batch, in pinned host memory.
pub struct Batch {
    /// The data that are uploaded.
    pub input: HostBlock,
    /// Where the result of the left half is downloaded to.
    pub left: HostBlock,
    /// Where the result of the right half is downloaded to.
    pub right: HostBlock,
}

impl Batches<'_> {
    /// Elements of half a batch.
    pub fn half(&self) -> usize {
        self.elements / 2
    }

    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut [Batch]) -> Result<()>) -> Result<()> {
        let Self { work, list, elements } = self;
        let half = *elements / 2;
        let (mut inputs, mut outputs) = (Vec::new(), Vec::new());
        for (index, batch) in list.iter().enumerate() {
            let first = index * *elements;
            inputs.push(batch.input.buffer(INPUT, first)?);
            outputs.push(batch.left.buffer(OUTPUT, first)?);
            outputs.push(batch.right.buffer(OUTPUT, first + half)?);
        }
        work.lab.measure(&work.task, [inputs, outputs], || body(list))
    }
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        // SAFETY: the work has no device memory yet, so all of it is tracked from its allocation
        // on.
        unsafe { lab.context().enable_event_tracking() };
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut batches = self.cut(1)?;
        let half = batches.half();
        let batch = &mut batches.list[0];
        let stream = self.context().new_stream()?;
        let mut input = stream.alloc_zeros::<u32>(2 * half)?;
        let mut result = stream.alloc_zeros::<u32>(2 * half)?;
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&batch.input, &mut input)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            self.map(stream, &input.as_view(), &mut result.as_view_mut())?;
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&result.slice(..half), &mut batch.left)?;
            stream.memcpy_dtoh(&result.slice(half..), &mut batch.right)?;
            Ok(())
        })
    }
}
