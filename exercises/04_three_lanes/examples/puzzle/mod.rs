//! What the four programs of the puzzle have in common: the work, and the memory it is done in.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use lab::matmul::Matmul;
use lab::{HostBlock, HostMemory, Lab, Result};

/// Multiplications of two matrices of 1024 by 1024, on the first stream.
pub(crate) const MATMULS: usize = 1000;
/// Tensors that go each way.
const TENSORS: usize = 100;
/// Elements of a tensor: 4 MiB.
const ELEMENTS: usize = 1024 * 1024;

/// The puzzle's tensors and streams.
pub(crate) struct Puzzle {
    pub(crate) s1: Arc<CudaStream>,
    pub(crate) s2: Arc<CudaStream>,
    pub(crate) s3: Arc<CudaStream>,
    pub(crate) matmul: Matmul,
    /// Tensors on the device, and where on the host each goes.
    pub(crate) down: Vec<(CudaSlice<u32>, HostBlock)>,
    /// Tensors on the host, and where on the device each goes.
    pub(crate) up: Vec<(HostBlock, CudaSlice<u32>)>,
}

impl Puzzle {
    /// Allocates everything: `output` is the memory that tensors from the device arrive in, `source`
    /// the memory that tensors for the device start from.
    pub(crate) fn new(lab: &Lab, output: HostMemory, source: HostMemory) -> Result<Self> {
        let context = lab.context();
        let stream = context.default_stream();
        let elements = lab.elements(ELEMENTS);
        let (mut down, mut up) = (Vec::new(), Vec::new());
        for _ in 0..TENSORS {
            down.push((stream.alloc_zeros(elements)?, touched(lab, output, elements)?));
            up.push((touched(lab, source, elements)?, stream.alloc_zeros(elements)?));
        }
        Ok(Self {
            s1: context.new_stream()?,
            s2: context.new_stream()?,
            s3: context.new_stream()?,
            matmul: Matmul::new(lab)?,
            down,
            up,
        })
    }
}

/// A block whose pages are all there: the first touch of a page costs more than copying it.
fn touched(lab: &Lab, memory: HostMemory, elements: usize) -> Result<HostBlock> {
    let mut block = HostBlock::new(lab.context(), memory, elements)?;
    block.words_mut()?.fill(1);
    Ok(block)
}
