//! What the programs of the book's first page have in common: images to be copied, and kernels that do not need them.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Elements of the images: 16 MiB, which take about as long as 32 multiplications of two matrices of 1024 by 1024.
const IMAGES: usize = 4 * 1024 * 1024;

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
        let mut images = HostBlock::new(lab.context(), HostMemory::Pageable, lab.elements(IMAGES))?;
        // The first touch of a page costs more than copying it.
        images.words_mut()?.fill(1);
        let next = first.alloc_zeros(images.len())?;
        Ok(Self { first, second, images, next, matmul: Matmul::new(lab)? })
    }
}
