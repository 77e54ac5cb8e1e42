// Maps that are bound by one part of a multiprocessor each: by its issue slots (`fma_map`), by a latency (`chain_map`),
// by device memory (`stream_map`). The fourth, bound by the tensor cores, is in tensor.cu.
//
// Each reads `n` words and writes `n`; `in` may equal `out` but where it is said, and any other overlap of the two is an error
// of the caller. All results are exact, whatever the order of the blocks.

#define THREADS_PER_BLOCK 256
#define BLOCKS_PER_SM 8

// Chains that a thread of `fma_map` carries side by side. A multiply-add delivers its result after about four cycles, so
// each thread has another one ready in every cycle.
#define CHAINS 8

// Rounds per turn of the loop, so that the counter, the compare and the branch cost little.
#define UNROLL 16

// f -> 1 * f + 3. The factor is a value of the program, since the compiler would make an addition of a constant 1; and
// it is assembly, since it would make one multiply-add of two rounds.
__device__ __forceinline__ float once(float f, float one)
{
    asm volatile("fma.rn.f32 %0, %0, %1, 0f40400000;" : "+f"(f) : "f"(one));
    return f;
}

// `x -> FACTOR * x + r`, where r is the lower half of x, taken through `rounds` multiply-adds of 32-bit floats. All
// values on the way are whole numbers below 2^24 as long as `rounds` is less than 5 570 560.
template <int SIDE_BY_SIDE, unsigned FACTOR>
__device__ __forceinline__ void multiply_add(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    const float one = __uint_as_float(0x3f800000u | (rounds >> 31));
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;

    for (; i < n; i += SIDE_BY_SIDE * stride) {
        float f[SIDE_BY_SIDE];
#pragma unroll
        for (int k = 0; k < SIDE_BY_SIDE; ++k) {
            f[k] = i + k * stride < n ? (float)(in[i + k * stride] & 0xffffu) : 0.0f;
        }
        unsigned left = rounds;
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int r = 0; r < UNROLL; ++r) {
#pragma unroll
                for (int k = 0; k < SIDE_BY_SIDE; ++k) f[k] = once(f[k], one);
            }
        }
#pragma unroll 1
        for (; left > 0; --left) {
#pragma unroll
            for (int k = 0; k < SIDE_BY_SIDE; ++k) f[k] = once(f[k], one);
        }
#pragma unroll
        for (int k = 0; k < SIDE_BY_SIDE; ++k) {
            // Read once more: kept, x would cost the loop as many registers as f.
            if (i + k * stride < n) out[i + k * stride] = FACTOR * in[i + k * stride] + (unsigned)f[k];
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_SM)
    fma_map(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    multiply_add<CHAINS, 5u>(in, out, n, rounds);
}

extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_SM)
    chain_map(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    multiply_add<1, 9u>(in, out, n, rounds);
}

// 16-byte loads of a thread that are under way together.
#define LOADS 4

// x -> x + C: hardly any work for each byte, and none for the multipliers, which a product on the tensor cores leaves little
// of.
__device__ __forceinline__ unsigned shifted(unsigned x) { return x + 2654435769u; }

// Each round reads all of `in` and writes the same into `out`, which must be other memory where there are several rounds: so
// a launch can take long with arrays that are short, as long as no cache holds them.
extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_SM)
    stream_map(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    const unsigned quads = n / 4;
    const uint4* from = reinterpret_cast<const uint4*>(in);
    uint4* to = reinterpret_cast<uint4*>(out);
    // 32 bits: there are no more than 2^30 quads.
    const unsigned stride = gridDim.x * blockDim.x;
    const unsigned first = blockIdx.x * blockDim.x + threadIdx.x;

#pragma unroll 1
    for (unsigned left = rounds; left > 0; --left) {
        for (unsigned i = first; i < quads; i += LOADS * stride) {
            uint4 x[LOADS];
#pragma unroll
            for (int k = 0; k < LOADS; ++k) {
                if (i + k * stride < quads) x[k] = from[i + k * stride];
            }
#pragma unroll
            for (int k = 0; k < LOADS; ++k) {
                x[k] = make_uint4(shifted(x[k].x), shifted(x[k].y), shifted(x[k].z), shifted(x[k].w));
                if (i + k * stride < quads) to[i + k * stride] = x[k];
            }
        }
        if (first < n % 4) out[4ull * quads + first] = shifted(in[4ull * quads + first]);
    }
}
