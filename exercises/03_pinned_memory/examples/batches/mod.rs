//! What the programs with batches have in common: images to be copied, and kernels that follow.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// How many there are.
pub(crate) const BATCHES: usize = 8;
/// Multiplications of two matrices of 1024 by 1024 for each: about 2 ms on an H200, as long as it takes to copy
/// the images from pageable memory.
const PRODUCTS: usize = 32;
/// Elements of the images of a batch: 16 MiB.
const IMAGES: usize = 4 * 1024 * 1024;

/// Elements that push the images out of the host's caches: 1 GiB, three times what a large host has.
const OTHERS: usize = 256 * 1024 * 1024;

/// A stream, images in pageable memory for each batch, and room on the device for those of one.
pub(crate) struct Batches {
    pub(crate) stream: Arc<CudaStream>,
    matmul: Matmul,
    pub(crate) images: Vec<HostBlock>,
    pub(crate) device: CudaSlice<u32>,
}

impl Batches {
    pub(crate) fn new(lab: &Lab) -> Result<Self> {
        let stream = lab.context().new_stream()?;
        let elements = lab.elements(IMAGES);
        let filled = |elements| -> Result<HostBlock> {
            let mut block = HostBlock::new(lab.context(), HostMemory::Pageable, elements)?;
            // The first touch of a page costs more than copying it.
            block.words_mut()?.fill(1);
            Ok(block)
        };
        let images = (0..BATCHES).map(|_| filled(elements)).collect::<Result<_>>()?;
        // Images that come from somewhere are in no cache.
        filled(lab.elements(OTHERS))?;
        let device = stream.alloc_zeros(elements)?;
        Ok(Self { stream, matmul: Matmul::new(lab)?, images, device })
    }

    /// Queues the kernels of a batch.
    pub(crate) fn kernels(&mut self) -> Result<()> {
        for _ in 0..PRODUCTS {
            self.matmul.launch(&self.stream)?;
        }
        Ok(())
    }
}
