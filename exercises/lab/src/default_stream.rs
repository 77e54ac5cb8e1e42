//! The work of `default_stream`: blocks of an array are uploaded, a library changes them, and they
//! are downloaded. The library issues its work to the default stream.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaSlice};
use kernels::Task;
use kernels::task::default_stream::{INPUT, OUTPUT, SPEC};
use trace::lab_protocol::Buffer;

use crate::exercise::Exercise;
use crate::map::Map;
use crate::{HostBlock, HostMemory, Lab, Result};

/// Blocks of the exercise: the first upload and the last download, which nothing can hide, are a
/// small part of the whole.
const BLOCKS: usize = 32;
/// Blocks of the puzzle: few enough to be told apart in a figure.
const FEW_BLOCKS: usize = 4;

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

    /// The library.
    pub fn library(&self) -> Library {
        Library { context: self.context().clone(), map: self.map.clone() }
    }

    /// Allocates the blocks of the exercise.
    pub fn allocate(&self) -> Result<Array<'_>> {
        self.cut(BLOCKS)
    }

    /// Allocates the same array in a few large blocks, for the puzzle.
    pub fn short(&self) -> Result<Array<'_>> {
        self.cut(FEW_BLOCKS)
    }

    fn cut(&self, blocks: usize) -> Result<Array<'_>> {
        let elements = self.task.elements() as usize / blocks;
        let stream = self.context().default_stream();
        let block = |_| {
            Ok(Block {
                input: self.lab.host_block(HostMemory::Pinned, elements)?,
                // SAFETY: any bits are a valid `u32`. A program without the waits does read what
                // lies there.
                device: unsafe { stream.alloc(elements)? },
                output: self.lab.host_block(HostMemory::Pinned, elements)?,
            })
        };
        Ok(Array { work: self, blocks: (0..blocks).map(block).collect::<Result<_>>()? })
    }
}

/// A library that names no stream: all its work goes to the default stream.
pub struct Library {
    context: Arc<CudaContext>,
    map: Map,
}

impl Library {
    /// Launches the library's kernel over all of `data`, in place, into the default stream.
    pub fn transform(&self, data: &mut CudaSlice<u32>) -> Result<()> {
        self.map.launch(&self.context.default_stream(), data)
    }
}

/// The array, in memory.
pub struct Array<'a> {
    work: &'a Work,
    blocks: Vec<Block>,
}

/// A block of the array.
pub struct Block {
    /// The data that are uploaded, in pinned host memory.
    pub input: HostBlock,
    /// The data that the library works on, in device memory.
    pub device: CudaSlice<u32>,
    /// Where it is downloaded to, in pinned host memory.
    pub output: HostBlock,
}

impl Array<'_> {
    /// The measured region. The device is idle when it begins, and must be idle again when `body`
    /// returns.
    pub fn region(&mut self, body: impl FnOnce(&mut [Block]) -> Result<()>) -> Result<()> {
        let Self { work, blocks } = self;
        let buffers = |array, side: fn(&Block) -> &HostBlock| -> Result<Vec<Buffer>> {
            let blocks = blocks.iter().map(side).enumerate();
            blocks.map(|(index, block)| block.buffer(array, index * block.len())).collect()
        };
        let buffers =
            [buffers(INPUT, |block| &block.input)?, buffers(OUTPUT, |block| &block.output)?];
        work.lab.measure(&work.task, buffers, || body(blocks))
    }
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        let (task, map) = lab.mapped(&SPEC)?;
        Ok(Self { lab: lab.clone(), task, map })
    }

    fn calibrate(&self) -> Result<()> {
        let mut array = self.cut(1)?;
        let block = &mut array.blocks[0];
        self.lab.alone("host_to_device", |stream| {
            stream.memcpy_htod(&block.input, &mut block.device)?;
            Ok(())
        })?;
        self.lab.alone("kernels", |stream| {
            self.map.launch(stream, &mut block.device)?;
            Ok(())
        })?;
        self.lab.alone("device_to_host", |stream| {
            stream.memcpy_dtoh(&block.device, &mut block.output)?;
            Ok(())
        })
    }
}
