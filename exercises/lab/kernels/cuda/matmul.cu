// C = A * B for 1024 x 1024 matrices of f32, row-major, on the FP32 units (no tensor cores).
//
// Each block computes a ROWS x 64 tile of C, each thread 8 x 8 elements of it. The slabs of A (stored
// transposed) and B for 16 values of k lie in shared memory twice: one pair is read while the next is
// written, and the next slab is on its way from device memory into registers meanwhile. SLICES groups
// of warps each take their share of every slab's k and add up at the end: more warps to hide latency
// behind, without smaller tiles per thread.
//
// Launch with one dimension: (1024 / ROWS) * 16 blocks of ROWS * SLICES threads.

#define SIZE 1024

#define COLUMNS 64 // of C per block: 128 x 64 tiles make 128 blocks, 64 x 64 make 256; an H200 has 132 SMs
#define DEPTH 16   // values of k per slab: one float4 per thread and load, 1024 cycles of work per barrier
#define PAD 4      // floats behind each row of the transposed slab of A: two-way instead of four-way
                   // bank conflicts when it is written, rows still aligned to a float4

__device__ __forceinline__ float4 at4(const float* p) { return *reinterpret_cast<const float4*>(p); }

template <int ROWS, int SLICES>
struct Slabs {
    float a[2][DEPTH][ROWS + PAD];
    float b[2][DEPTH][COLUMNS];
};

template <int ROWS, int SLICES>
__device__ __forceinline__ void matmul(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c)
{
    constexpr int THREADS = ROWS * SLICES;           // per block
    constexpr int STEPS = DEPTH / SLICES;            // values of k per slab and slice
    constexpr int A_QUADS = ROWS * DEPTH / 4;        // float4 in a slab of A
    constexpr int B_QUADS = DEPTH * COLUMNS / 4;     // float4 in a slab of B
    constexpr int A_LOADS = (A_QUADS + THREADS - 1) / THREADS;
    constexpr int B_LOADS = (B_QUADS + THREADS - 1) / THREADS;
    constexpr int SLAB_BYTES = sizeof(Slabs<ROWS, SLICES>);
    constexpr int SUM_BYTES = SLICES > 1 ? ROWS * COLUMNS * 4 : 0;
    constexpr int BYTES = SLAB_BYTES > SUM_BYTES ? SLAB_BYTES : SUM_BYTES;

    // The slabs and, after the last of them, the slices' partial sums.
    __shared__ __align__(16) unsigned char memory[BYTES];
    Slabs<ROWS, SLICES>& slabs = *reinterpret_cast<Slabs<ROWS, SLICES>*>(memory);

    const int thread = threadIdx.x;
    const int slice = thread / ROWS;
    const int warp = (thread % ROWS) / 32;
    const int lane = thread % 32;
    // A warp is 4 threads high and 8 wide, interleaved so that neighbouring lanes share an address of
    // B: a 128-bit load of shared memory then takes two passes instead of four.
    const int row = warp * 32 + ((lane & 1) | ((lane >> 4) << 1)) * 4; // and the 4 rows 16 below
    const int column = ((lane >> 1) & 7) * 4;                         // and the 4 columns 32 further

    const int first_row = blockIdx.x / (SIZE / COLUMNS) * ROWS;
    const int first_column = blockIdx.x % (SIZE / COLUMNS) * COLUMNS;
    a += first_row * SIZE;
    b += first_column;
    c += first_row * SIZE + first_column;

    float4 next_a[A_LOADS], next_b[B_LOADS];

    auto fetch = [&](int k0) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int q = thread + i * THREADS;
            if (A_QUADS % THREADS == 0 || q < A_QUADS) next_a[i] = at4(a + q / (DEPTH / 4) * SIZE + k0 + q % (DEPTH / 4) * 4);
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int q = thread + i * THREADS;
            if (B_QUADS % THREADS == 0 || q < B_QUADS) next_b[i] = at4(b + (k0 + q / (COLUMNS / 4)) * SIZE + q % (COLUMNS / 4) * 4);
        }
    };
    auto store = [&](int buffer) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int q = thread + i * THREADS;
            if (A_QUADS % THREADS == 0 || q < A_QUADS) {
                const int m = q / (DEPTH / 4), k = q % (DEPTH / 4) * 4;
                slabs.a[buffer][k + 0][m] = next_a[i].x;
                slabs.a[buffer][k + 1][m] = next_a[i].y;
                slabs.a[buffer][k + 2][m] = next_a[i].z;
                slabs.a[buffer][k + 3][m] = next_a[i].w;
            }
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int q = thread + i * THREADS;
            if (B_QUADS % THREADS == 0 || q < B_QUADS)
                *reinterpret_cast<float4*>(&slabs.b[buffer][q / (COLUMNS / 4)][q % (COLUMNS / 4) * 4]) = next_b[i];
        }
    };

    float sum[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) sum[i][j] = 0.0f;

    // What the next multiplication reads, loaded one step ahead of it.
    float fragment_a[2][8], fragment_b[2][8];
    auto load = [&](int buffer, int step, int into) {
        const int k = slice * STEPS + step;
        const float4 a0 = at4(&slabs.a[buffer][k][row]), a1 = at4(&slabs.a[buffer][k][row + 16]);
        const float4 b0 = at4(&slabs.b[buffer][k][column]), b1 = at4(&slabs.b[buffer][k][column + 32]);
        fragment_a[into][0] = a0.x, fragment_a[into][1] = a0.y, fragment_a[into][2] = a0.z, fragment_a[into][3] = a0.w;
        fragment_a[into][4] = a1.x, fragment_a[into][5] = a1.y, fragment_a[into][6] = a1.z, fragment_a[into][7] = a1.w;
        fragment_b[into][0] = b0.x, fragment_b[into][1] = b0.y, fragment_b[into][2] = b0.z, fragment_b[into][3] = b0.w;
        fragment_b[into][4] = b1.x, fragment_b[into][5] = b1.y, fragment_b[into][6] = b1.z, fragment_b[into][7] = b1.w;
    };

    fetch(0);
    store(0);
    __syncthreads();
    load(0, 0, 0);

    int buffer = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < SIZE; k0 += DEPTH) {
        const bool last = k0 + DEPTH == SIZE;
        if (!last) fetch(k0 + DEPTH);
#pragma unroll
        for (int step = 0; step < STEPS; ++step) {
            if (step + 1 < STEPS) {
                load(buffer, step + 1, (step + 1) % 2);
            } else if (!last) {
                // The other buffer was last read before the previous barrier.
                store(buffer ^ 1);
                __syncthreads();
                load(buffer ^ 1, 0, 0);
            }
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += fragment_a[step % 2][i] * fragment_b[step % 2][j];
        }
        buffer ^= 1;
    }

    // Slice 0 ends with the sum of all slices; the others hand theirs on, one after the other.
    float* partial = reinterpret_cast<float*>(memory);
#pragma unroll
    for (int from = SLICES - 1; from > 0; --from) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const int place = (row + i % 4 + i / 4 * 16) * COLUMNS + column + j * 32;
                float4* p = reinterpret_cast<float4*>(partial + place);
                float* s = &sum[i][j * 4];
                if (slice == from) *p = make_float4(s[0], s[1], s[2], s[3]);
            }
        }
        __syncthreads();
        if (slice == from - 1) {
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 2; ++j) {
                    const int place = (row + i % 4 + i / 4 * 16) * COLUMNS + column + j * 32;
                    const float4 p = at4(partial + place);
                    float* s = &sum[i][j * 4];
                    s[0] += p.x, s[1] += p.y, s[2] += p.z, s[3] += p.w;
                }
            }
        }
    }
    if (slice == 0) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
            for (int j = 0; j < 2; ++j) {
                const float* s = &sum[i][j * 4];
                *reinterpret_cast<float4*>(c + (row + i % 4 + i / 4 * 16) * SIZE + column + j * 32) = make_float4(s[0], s[1], s[2], s[3]);
            }
        }
    }
}

#define ENTRY(name, ROWS, SLICES, BLOCKS_PER_SM)                                                   \
    extern "C" __global__ void __launch_bounds__(ROWS * SLICES, BLOCKS_PER_SM)                     \
        name(const float* a, const float* b, float* c)                                             \
    {                                                                                              \
        matmul<ROWS, SLICES>(a, b, c);                                                             \
    }

ENTRY(matmul_1024, 64, 2, 2)
