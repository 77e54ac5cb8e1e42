//! What the programs of the puzzle have in common: kernels, and three copies of different sizes.

use std::sync::Arc;
use std::time::Duration;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Multiplications of two matrices of 1024 by 1024 in each iteration: about 6 ms on an H200, longer than `PREPARE`.
const PRODUCTS: usize = 100;
/// What the host does in each iteration besides issuing work: it prepares the next one.
pub(crate) const PREPARE: Duration = Duration::from_millis(5);

/// Elements of the labels, which are uploaded: 64 KiB.
const LABELS: usize = 16 * 1024;
/// Elements of the images, which are uploaded: 64 MiB.
const IMAGES: usize = 16 * 1024 * 1024;
/// Elements of the losses, which are downloaded: 4 KiB.
const LOSSES: usize = 1024;

/// The puzzle's memory and its stream.
pub(crate) struct Puzzle {
    pub(crate) stream: Arc<CudaStream>,
    matmul: Matmul,
    /// On the host, and on the device.
    pub(crate) labels: (HostBlock, CudaSlice<u32>),
    pub(crate) images: (HostBlock, CudaSlice<u32>),
    pub(crate) losses: (HostBlock, CudaSlice<u32>),
}

impl Puzzle {
    /// Allocates everything, with `memory` on the host's side.
    pub(crate) fn new(lab: &Lab, memory: HostMemory) -> Result<Self> {
        let stream = lab.context().new_stream()?;
        let pair = |elements| {
            let mut host = HostBlock::new(lab.context(), memory, lab.elements(elements))?;
            // The first touch of a page costs more than copying it.
            host.words_mut()?.fill(1);
            Ok::<_, lab::Error>((host, stream.alloc_zeros(lab.elements(elements))?))
        };
        let (labels, images, losses) = (pair(LABELS)?, pair(IMAGES)?, pair(LOSSES)?);
        Ok(Self { stream, matmul: Matmul::new(lab)?, labels, images, losses })
    }

    /// Queues the kernels of an iteration.
    pub(crate) fn kernels(&mut self) -> Result<()> {
        for _ in 0..PRODUCTS {
            self.matmul.launch(&self.stream)?;
        }
        Ok(())
    }
}
