// Affine maps of 32-bit integers: x -> A*x + C (mod 2^32), applied `rounds` times to each element.
//
// The workhorse of the exercises. The GPU really iterates; the Rust twin composes the map with itself
// and multiplies once. Each stage of a pipeline has its own entry with its own constants, because the
// stages must not commute and must not be exchangeable by an argument.
//
// `in` may equal `out`; any other overlap of the two is an error of the caller.

// 256 threads with at most 32 registers each: 8 blocks fill the 2048 threads and the 65536 registers
// of an SM (compute capability 7.0, 8.x with 2048 threads, 9.0, 10.0).
#define THREADS_PER_BLOCK 256
#define BLOCKS_PER_SM 8

// Elements that a thread iterates side by side. A multiply-add takes about 4 cycles to deliver its
// result; four independent chains keep the multiplier busy even with few warps on the SM.
#define CHAINS 4

// Rounds per turn of the loop: 4 x 16 multiply-adds hide the counter, the compare and the branch.
#define UNROLL 16

// Inline assembly, because the compiler would fold two rounds into one multiply-add with A*A and
// A*C + C: the kernel's cost is its point.
template <unsigned A, unsigned C>
__device__ __forceinline__ unsigned once(unsigned x)
{
    asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "n"(A), "n"(C));
    return x;
}

template <unsigned A, unsigned C>
__device__ __forceinline__ void map(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    // 64 bits: index + 3 * stride may pass 2^32 for an `n` close to it.
    const unsigned long long stride = (unsigned long long)gridDim.x * blockDim.x;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;

    for (; i + (CHAINS - 1) * stride < n; i += CHAINS * stride) {
        unsigned x[CHAINS];
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) x[k] = in[i + k * stride];
        unsigned left = rounds;
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int r = 0; r < UNROLL; ++r) {
#pragma unroll
                for (int k = 0; k < CHAINS; ++k) x[k] = once<A, C>(x[k]);
            }
        }
#pragma unroll 1
        for (; left > 0; --left) {
#pragma unroll
            for (int k = 0; k < CHAINS; ++k) x[k] = once<A, C>(x[k]);
        }
#pragma unroll
        for (int k = 0; k < CHAINS; ++k) out[i + k * stride] = x[k];
    }

    // At most CHAINS - 1 elements per thread are left.
#pragma unroll 1
    for (; i < n; i += stride) {
        unsigned x = in[i];
        unsigned left = rounds;
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int r = 0; r < UNROLL; ++r) x = once<A, C>(x);
        }
#pragma unroll 1
        for (; left > 0; --left) x = once<A, C>(x);
        out[i] = x;
    }
}

// The constants are those of `map_constants` in src/map.rs; a test compares them.
#define ENTRY(name, A, C)                                                                          \
    extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_SM)                 \
        name(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)                       \
    {                                                                                              \
        map<A, C>(in, out, n, rounds);                                                             \
    }

ENTRY(map_a, 1664525u, 1013904223u)
ENTRY(map_b, 22695477u, 1u)
ENTRY(map_c, 1103515245u, 12345u)
