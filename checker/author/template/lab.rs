//! The work of `chapter_name`: WRITE: what it consists of.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use kernels::task::chapter_name::SPEC;

use crate::exercise::Exercise;
use crate::pipeline::{Chunks, Job};
use crate::{Lab, Result};

/// Blocks that the work comes in.
// WRITE: why this many
const BLOCKS: usize = 16;

/// The work: an array in pinned host memory that goes up, through a map, and down.
pub struct Work(Job);

impl Work {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.0.context()
    }

    /// Allocates the blocks: pinned host memory for what goes in and what comes out, device memory for
    /// the rest of the way.
    pub fn allocate(&self) -> Result<Chunks<'_>> {
        self.0.whole().cut(BLOCKS).allocate()
    }
}

impl Exercise for Work {
    fn open(lab: &Lab) -> Result<Self> {
        Job::of(lab, &SPEC).map(Self)
    }

    fn calibrate(&self) -> Result<()> {
        self.0.calibrate()
    }
}
