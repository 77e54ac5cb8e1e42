// A product on the tensor cores: of each tile of 16 x 8 words X, the lower three bits are multiplied by a fixed
// 16 x 16 matrix W, `rounds` times over, and the sum is added to 3 * X.
//
// `in` may equal `out`, and any other overlap of the two is an error of the caller. Words of the last tile that are not
// there count as 0. Sums are whole numbers below 2^24, and so exact in 32-bit floats, as long as `rounds` is less than
// 49 932: no element of W is more than 3, none of the bits more than 7.
//
// Needs compute capability 8.0: `mma.sync` of this shape.

#define THREADS_PER_BLOCK 256
#define BLOCKS_PER_SM 8

#define ROWS 16
#define COLUMNS 8
#define TILE (ROWS * COLUMNS)

// Tiles that a warp multiplies side by side: as many products are under way at once.
#define TILES 4

// Rounds per turn of the loop.
#define UNROLL 4

// Two whole numbers as two 16-bit floats in one register.
__device__ __forceinline__ unsigned pair(unsigned low, unsigned high)
{
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"((float)high), "f"((float)low));
    return both;
}

// Also of `weight` in src/pipes.rs; a test compares them.
__device__ __forceinline__ unsigned weight(unsigned row, unsigned k) { return (3 * row + 5 * k + row * k + 1) & 3; }

__device__ __forceinline__ unsigned bits(const unsigned* in, unsigned n, unsigned long long i)
{
    return i < n ? in[i] & 7u : 0u;
}

extern "C" __global__ void __launch_bounds__(THREADS_PER_BLOCK, BLOCKS_PER_SM)
    tensor_product(const unsigned* in, unsigned* out, unsigned n, unsigned rounds)
{
    const unsigned lane = threadIdx.x % 32;
    // Where this thread's elements lie in a tile (PTX ISA, "Matrix Fragments for mma.m16n8k16").
    const unsigned group = lane / 4, two = lane % 4 * 2;

    // W by rows: of group and group + 8, columns two, two + 1, two + 8 and two + 9.
    const unsigned a0 = pair(weight(group, two), weight(group, two + 1));
    const unsigned a1 = pair(weight(group + 8, two), weight(group + 8, two + 1));
    const unsigned a2 = pair(weight(group, two + 8), weight(group, two + 9));
    const unsigned a3 = pair(weight(group + 8, two + 8), weight(group + 8, two + 9));

    // 64 bits: the sum may pass 2^32 for an `n` close to it.
    const unsigned long long stride = (unsigned long long)gridDim.x * (blockDim.x / 32) * TILES * TILE;
    unsigned long long first = ((unsigned long long)blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * TILES * TILE;

    for (; first < n; first += stride) {
        unsigned b[TILES][2];
        float d[TILES][4];
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
            // X by columns: of column `group`, rows two, two + 1, two + 8 and two + 9.
            const unsigned long long at = first + t * TILE + two * COLUMNS + group;
            b[t][0] = pair(bits(in, n, at), bits(in, n, at + COLUMNS));
            b[t][1] = pair(bits(in, n, at + 8 * COLUMNS), bits(in, n, at + 9 * COLUMNS));
#pragma unroll
            for (int k = 0; k < 4; ++k) d[t][k] = 0.0f;
        }
        auto round = [&] {
#pragma unroll
            for (int t = 0; t < TILES; ++t) {
                asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                             "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                             : "+f"(d[t][0]), "+f"(d[t][1]), "+f"(d[t][2]), "+f"(d[t][3])
                             : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b[t][0]), "r"(b[t][1]));
            }
        };
        unsigned left = rounds;
#pragma unroll 1
        for (; left >= UNROLL; left -= UNROLL) {
#pragma unroll
            for (int r = 0; r < UNROLL; ++r) round();
        }
#pragma unroll 1
        for (; left > 0; --left) round();
        // All lanes have read what they multiply.
        __syncwarp();
#pragma unroll
        for (int t = 0; t < TILES; ++t) {
            // The sums by rows: of group and group + 8, columns two and two + 1.
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned long long at = first + t * TILE + (group + k / 2 * 8) * COLUMNS + two + k % 2;
                if (at < n) out[at] = 3u * in[at] + (unsigned)d[t][k];
            }
        }
    }
}
