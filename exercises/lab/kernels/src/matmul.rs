//! `matmul_1024` of `cuda/matmul.cu`: the product of two 1024 x 1024 matrices of 32-bit floats,
//! row-major, in device memory, on the FP32 units.
//!
//! It stands where programs call a BLAS: one launch that keeps every SM busy for some tens of
//! microseconds. There is no twin, since a result in floating point would have to follow the
//! kernel's order of additions; it is for programs whose product no one reads.

use crate::{Access, Argument, Blocks, Body, Kernel, Mode, Parameter, Work};

/// The PTX of `cuda/matmul.cu`.
pub const IMAGE: &str = include_str!("../ptx/matmul.ptx");

/// Rows and columns of each matrix.
pub const SIZE: u64 = 1024;

const MATRIX_BYTES: u64 = SIZE * SIZE * 4;

pub(crate) const fn kernel(
    name: &'static str,
    threads: u32,
    blocks: u32,
    registers: u32,
    shared_bytes: u32,
) -> Kernel {
    Kernel {
        name,
        image: IMAGE,
        parameters: &[Parameter::Pointer, Parameter::Pointer, Parameter::Pointer],
        rate: "matmul",
        registers,
        shared_bytes,
        threads,
        blocks: Blocks::Exactly(blocks),
        items: None,
        inner_loop: None,
        body: Body::Matmul,
    }
}

pub(crate) fn work(scale: u32) -> Work {
    Work {
        units: SIZE * SIZE * SIZE / u64::from(scale),
        bytes: 3 * MATRIX_BYTES / u64::from(scale), // the blocks' repeated reads of the factors are served by the L2 cache
    }
}

pub(crate) fn accesses(arguments: &[Argument], scale: u32) -> Vec<Access> {
    let &[Argument::Pointer(a), Argument::Pointer(b), Argument::Pointer(c)] = arguments else {
        panic!("a matrix product takes three pointers, not {arguments:?}");
    };
    let access = |pointer, mode| Access { pointer, bytes: MATRIX_BYTES / u64::from(scale), mode };
    vec![access(a, Mode::Read), access(b, Mode::Read), access(c, Mode::Write)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_simulated_for_its_time_alone() {
        let kernel = crate::find("matmul_1024").expect("it is listed");
        assert!(kernel.twin().is_none());
        let arguments =
            [Argument::Pointer(1 << 20), Argument::Pointer(2 << 20), Argument::Pointer(3 << 20)];
        assert_eq!(kernel.work(&arguments, 1).units, 1 << 30);
    }
}
