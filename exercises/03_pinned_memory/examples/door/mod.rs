//! What the programs of the book's first page have in common: images to be copied, and kernels that do not need them.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Elements of the images: 16 MiB, which take about as long as 32 multiplications of two matrices of 1024 by 1024.
const IMAGES: usize = 4 * 1024 * 1024;
/// Elements that push the images out of the host's caches: 1 GiB, three times what a large host has.
const OTHERS: usize = 256 * 1024 * 1024;

/// Two streams, and work for each.
pub(crate) struct Work {
    pub(crate) first: Arc<CudaStream>,
    pub(crate) second: Arc<CudaStream>,
    /// Memory of the host, as `Vec` and `malloc` give it.
    pub(crate) images: HostBlock,
    /// Memory of the device, to which the images go.
    pub(crate) next: CudaSlice<u32>,
    pub(crate) matmul: Matmul,
}

impl Work {
    pub(crate) fn new(lab: &Lab) -> Result<Self> {
        let (first, second) = (lab.context().new_stream()?, lab.context().new_stream()?);
        let filled = |elements| -> Result<HostBlock> {
            let mut block = HostBlock::new(lab.context(), HostMemory::Pageable, elements)?;
            // The first touch of a page costs more than copying it.
            block.words_mut()?.fill(1);
            Ok(block)
        };
        let images = filled(lab.elements(IMAGES))?;
        // Images that come from somewhere are in no cache.
        filled(lab.elements(OTHERS))?;
        let next = first.alloc_zeros(images.len())?;
        Ok(Self { first, second, images, next, matmul: Matmul::new(lab)? })
    }
}
