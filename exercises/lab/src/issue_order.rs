//! The work of `issue_order`: an array in chunks, each of which goes its whole way on one stream.
//! What is left to choose is the order in which the host issues the steps.

use std::sync::Arc;

use cudarc::driver::CudaContext;
use kernels::task::issue_order::SPEC;

use crate::exercise::Exercise;
use crate::pipeline::{Chunks, Job};
use crate::{Lab, Result};

/// Chunks of the array: filling and draining cost one each, and with this many they hardly show.
pub const CHUNKS: usize = 32;

/// The steps of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It is copied to the device.
    Up,
    /// It is mapped there.
    Map,
    /// It is copied back.
    Down,
}

impl Step {
    /// All steps, in the order that each chunk goes through them.
    pub const ALL: [Self; 3] = [Self::Up, Self::Map, Self::Down];
}

/// The work: an array in pinned host memory that goes up, through a map, and down.
pub struct Work(Job);

impl Work {
    /// The context of the device.
    pub fn context(&self) -> &Arc<CudaContext> {
        self.0.context()
    }

    /// Allocates the chunks: pinned host memory for what goes in and what comes out, device memory
    /// for the rest of the way.
    pub fn allocate(&self) -> Result<Chunks<'_>> {
        self.0.whole().cut(CHUNKS).allocate()
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
