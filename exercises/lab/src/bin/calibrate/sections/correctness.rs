//! The kernels against what the host computes: figures of kernels that compute something else would
//! be figures of nothing.

use kernels::{Argument, Blocks};

use crate::arm::Arm;
use crate::arm::Outcome;
use crate::gpu::{Direction, Gpu, MIB, call};
use crate::samples::Samples;

/// Rows and columns of the matrices.
const N: usize = 1024;

pub(crate) fn measure(gpu: &Gpu, samples: &mut Samples) -> Outcome<()> {
    if gpu.arm == Arm::Simulated {
        return Err("the simulated device runs the twins themselves".to_owned());
    }
    for kernel in kernels::all() {
        let key = format!("wrong_elements/{}", kernel.name);
        samples.take(key, 1, || match kernel.rate {
            "map" => wrong_in_map(gpu, kernel, &SHAPES),
            "matmul" => wrong_in_matmul(gpu, kernel),
            "fma" | "chain" | "stream" | "tensor" => {
                wrong_in_map(gpu, kernel, &super::pipes::shapes(kernel))
            }
            _ => super::network::wrong_elements(gpu, kernel),
        });
    }
    Ok(())
}

/// Elements, rounds and blocks: the lengths end in every stage of the kernel's loops, the rounds as
/// well.
const SHAPES: [(usize, u32, usize); 8] = [
    (MIB, 0, 1056),
    (MIB, 1, 132),
    (MIB, 15, 7),
    (MIB, 16, 1056),
    (MIB - 3, 17, 1000),
    (MIB - 257, 1001, 1056),
    (MIB, 100_003, 5000),
    (1, 33, 3),
];

/// Elements that a kernel from one array to another computes otherwise than its twin.
fn wrong_in_map(
    gpu: &Gpu,
    kernel: &kernels::Kernel,
    shapes: &[(usize, u32, usize)],
) -> Outcome<i64> {
    let [stream, _] = gpu.streams;
    let function = gpu.kernel(kernel)?;
    let twin = kernel.twin().ok_or("it has no twin")?;
    let (pair, target) = (gpu.pair(4 * MIB)?, gpu.allocate(4 * MIB)?);
    let mut wrong = 0;
    for &(elements, rounds, blocks) in shapes {
        let bytes = 4 * elements;
        let input: Vec<u8> =
            (0..bytes).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        // SAFETY: both are that long and do not overlap; nothing else uses the pinned one.
        unsafe { std::ptr::copy_nonoverlapping(input.as_ptr(), pair.host, bytes) };
        gpu.copy(Direction::HostToDevice, pair.host, pair.device, bytes, stream)?;
        let mut arguments = [pair.device, target, elements as u64, rounds.into()];
        gpu.launch(function, [blocks, 256], stream, &mut arguments)?;
        gpu.copy(Direction::DeviceToHost, pair.host, target, bytes, stream)?;
        gpu.synchronize(stream)?;
        let arguments = [
            Argument::Pointer(pair.device),
            Argument::Pointer(target),
            Argument::U32(elements as u32),
            Argument::U32(rounds),
        ];
        let mut expected = vec![vec![0; bytes]];
        twin(&arguments, &[&input], &mut expected);
        // SAFETY: the copy into it is complete, and it is that long.
        let got = unsafe { std::slice::from_raw_parts(pair.host, bytes) };
        wrong += expected[0].chunks(4).zip(got.chunks(4)).filter(|(a, b)| a != b).count();
    }
    Ok(wrong as i64)
}

fn wrong_in_matmul(gpu: &Gpu, kernel: &kernels::Kernel) -> Outcome<i64> {
    let Blocks::Exactly(blocks) = kernel.blocks else {
        return Err("its grid is not fixed".to_owned());
    };
    // Small integers: every partial sum is exact in a float, so the order of additions plays no
    // part.
    let entry =
        |i: usize, salt: usize| ((i.wrapping_mul(2_654_435_761) ^ salt) >> 11 & 15) as i32 - 8;
    let a: Vec<i32> = (0..N * N).map(|i| entry(i, 0)).collect();
    let b: Vec<i32> = (0..N * N).map(|i| entry(i, 0x5555_5555)).collect();
    let mut expected = vec![0_i32; N * N];
    for (row, sums) in expected.chunks_mut(N).enumerate() {
        for (k, factors) in b.chunks(N).enumerate() {
            let factor = a[row * N + k];
            for (sum, other) in sums.iter_mut().zip(factors) {
                *sum += factor * other;
            }
        }
    }
    let [stream, _] = gpu.streams;
    let function = gpu.kernel(kernel)?;
    let pair = gpu.pair(12 * MIB)?;
    let host = pair.host.cast::<f32>();
    for (i, value) in a.iter().chain(&b).enumerate() {
        // SAFETY: two matrices fit into the buffer, which is aligned to a page.
        unsafe { host.add(i).write(*value as f32) };
    }
    gpu.copy(Direction::HostToDevice, host.cast(), pair.device, 8 * N * N, stream)?;
    let matrix = (4 * N * N) as u64;
    let product = pair.device + 2 * matrix;
    call!(cuMemsetD8Async(product, 0xff, 4 * N * N, stream))?; // not a number anywhere
    let mut arguments = [pair.device, pair.device + matrix, product];
    let shape = [blocks as usize, kernel.threads as usize];
    gpu.launch(function, shape, stream, &mut arguments)?;
    gpu.copy(Direction::DeviceToHost, host.cast(), product, 4 * N * N, stream)?;
    gpu.synchronize(stream)?;
    // SAFETY: the copy into it is complete, and it is that long.
    let got = unsafe { std::slice::from_raw_parts(host, N * N) };
    Ok(got.iter().zip(&expected).filter(|(got, expected)| **got != **expected as f32).count()
        as i64)
}
