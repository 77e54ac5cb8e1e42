// A small convolutional network in fixed point: forward, backward, loss, and a step of gradient descent; and before
// that what its images go through: crop, resize, flip, blur, normalise.
//
// All of its convolutions have patches that do not overlap: 1 x 1, or 2 x 2 with stride 2, and the transposed one. With
// the pixels of an image in Z-order the four pixels of a patch are neighbours in memory, so that each convolution, its
// gradients too, is a matrix multiplication: one row for each patch.
//
// Integers, because their sums do not depend on the order of the additions: the bits are the same on every device and
// in the Rust twins. Every number is a 32-bit word:
//   activations   value * 2^8,  within 16 bits
//   weights       value * 2^24; a multiplication uses them as value * 2^12, within 16 bits
//   gradients     of activations: value * 2^15, within 16 bits; of weights: value * 2^24
//
// Matrices are row-major. Numbers of outputs are multiples of 32. So are those of inputs where gradients are taken, and
// else multiples of 4. Any number of rows will do.

#define TILE_ROWS 64
#define TILE_COLUMNS 32
#define TILE_DEPTH 32
#define THREADS 128

// Each thread has this many rows and columns of a tile: 8 x 16 threads.
#define OWN 4

#define WEIGHT_SHIFT 12         // from weights as they are kept to weights as they are multiplied
#define ACTIVATION_SHIFT 12     // from activation * weight to activation, and from gradient * weight to gradient

// The rows of a gradient of weights are cut into slices, each with a sum of its own: so many that there are about this
// many blocks, but not fewer and not more than these.
#define GRADIENT_BLOCKS 512
#define LEAST_SLICES 32
#define MOST_SLICES 128

// Classes that a pixel can belong to: one for each thread of a warp.
#define CLASSES 32

// The learning rate is 2^-LEARNING_SHIFT.
#define LEARNING_SHIFT 3

// Images are squares of so many pixels: as they are loaded, the windows that are taken of them, and what these are
// brought to.
#define LOADED 64
#define WINDOW 48
#define SIDE 128

// A channel of an image as the network takes it: (byte / 255 - mean) / deviation, with the means and deviations of
// ImageNet. The fourth is there to fill up a word, and always 0.
__constant__ const int CHANNEL_SCALE[4] = {287306, 293719, 292413, 0};           // 2^24 / (255 * deviation)
__constant__ const int CHANNEL_SHIFT[4] = {35532532, 34153618, 30273554, 0};     // 2^24 * mean / deviation

// Multiplications of 4 x 4 outputs: one load from shared memory for four of them.
typedef int Sums[OWN][OWN];

struct alignas(16) Four { int at[4]; };

__device__ __forceinline__ int within_16_bits(int x)
{
    return min(max(x, -32768), 32767);
}

// x / 2^SHIFT, rounded to the nearest: always rounding down would add up over the layers.
template <int SHIFT>
__device__ __forceinline__ int shifted(int x)
{
    return (int)((unsigned)x + (1u << SHIFT - 1)) >> SHIFT;
}

__device__ __forceinline__ int weight(int kept)
{
    return within_16_bits(shifted<WEIGHT_SHIFT>(kept));
}

// Activations and gradients are within 16 bits. If a race has put something else there, the twins still give the same.
__device__ __forceinline__ Four low_16_bits(const Four& x)
{
    return Four{{(short)x.at[0], (short)x.at[1], (short)x.at[2], (short)x.at[3]}};
}

__device__ __forceinline__ Four load(const int* from)
{
    return *reinterpret_cast<const Four*>(from);
}

// What one block multiplies at a time: `depth` x `rows` by `depth` x `columns`.
struct Tile {
    // One word more for each row: threads that store a column at a time meet in fewer banks.
    int a[TILE_DEPTH][TILE_ROWS + 4];
    int b[TILE_DEPTH][TILE_COLUMNS + 4];
};

__device__ __forceinline__ void multiply(const Tile& tile, Sums& sums, unsigned row, unsigned column)
{
#pragma unroll
    for (int d = 0; d < TILE_DEPTH; ++d) {
        const Four a = load(&tile.a[d][row]), b = load(&tile.b[d][column]);
#pragma unroll
        for (int i = 0; i < OWN; ++i)
#pragma unroll
            for (int j = 0; j < OWN; ++j) sums[i][j] += a.at[i] * b.at[j];
    }
}

// Row `r` of `matrix`, from column `c` on; zeros where there is no such row.
__device__ __forceinline__ Four row_of(const int* matrix, unsigned r, unsigned rows, unsigned columns, unsigned c)
{
    if (r < rows) return load(matrix + (size_t)r * columns + c);
    return Four{{0, 0, 0, 0}};
}

// output[rows][outputs] = input[rows][inputs] * weights, where the weights are [inputs][outputs], or [outputs][inputs]
// if they are transposed. `store` gets four columns of a row.
template <bool TRANSPOSED, typename Store>
__device__ __forceinline__ void dense(
    const int* input, const int* weights, unsigned rows, unsigned inputs, unsigned outputs, Store store)
{
    __shared__ Tile tile;
    const unsigned t = threadIdx.x;
    const unsigned row = t / 8 * OWN, column = t % 8 * OWN;
    const unsigned across = outputs / TILE_COLUMNS;
    const unsigned tiles = (rows + TILE_ROWS - 1) / TILE_ROWS * across;
    for (unsigned number = blockIdx.x; number < tiles; number += gridDim.x) {
        const unsigned first_row = number / across * TILE_ROWS, first_column = number % across * TILE_COLUMNS;
        Sums sums = {};
        Four a[4], b[2];
        const auto fetch = [&](unsigned d) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned i = t + k * THREADS, c = d + i % 8 * 4;
                a[k] = row_of(input, first_row + i / 8, c < inputs ? rows : 0, inputs, c);
            }
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const unsigned i = t + k * THREADS;
                if (TRANSPOSED)
                    b[k] = row_of(weights, first_column + i / 8, outputs, inputs, d + i % 8 * 4);
                else
                    b[k] = row_of(weights, d + i / 8, inputs, outputs, first_column + column);
            }
        };
        fetch(0);
        for (unsigned d = 0; d < inputs; d += TILE_DEPTH) {
            __syncthreads();
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned i = t + k * THREADS;
#pragma unroll
                for (int j = 0; j < 4; ++j) tile.a[i % 8 * 4 + j][i / 8] = (short)a[k].at[j];
            }
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                const unsigned i = t + k * THREADS;
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    if (TRANSPOSED)
                        tile.b[i % 8 * 4 + j][i / 8] = weight(b[k].at[j]);
                    else
                        tile.b[i / 8][column + j] = weight(b[k].at[j]);
                }
            }
            __syncthreads();
            if (d + TILE_DEPTH < inputs) fetch(d + TILE_DEPTH);
            multiply(tile, sums, row, column);
        }
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            const unsigned r = first_row + row + i;
            if (r < rows) store(r, first_column + column, sums[i]);
        }
    }
}

template <bool RELU>
__device__ __forceinline__ void forward(
    const int* x, const int* w, int* y, unsigned rows, unsigned inputs, unsigned outputs)
{
    dense<false>(x, w, rows, inputs, outputs, [=](unsigned r, unsigned c, const int* sums) {
        Four four;
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const int value = within_16_bits(shifted<ACTIVATION_SHIFT>(sums[j]));
            four.at[j] = RELU ? max(value, 0) : value;
        }
        *reinterpret_cast<Four*>(y + (size_t)r * outputs + c) = four;
    });
}

// Sums of pixels, channel by channel: two of the four in each word, in 16 bits. Weights that add up to 256 fit.
struct Sum {
    unsigned even = 0, odd = 0;

    __device__ __forceinline__ void add(unsigned pixel, unsigned weight)
    {
        even += (pixel & 0x00ff00ff) * weight;
        odd += (pixel >> 8 & 0x00ff00ff) * weight;
    }

    // The mean with weights that add up to 256, rounded to the nearest.
    __device__ __forceinline__ unsigned mean() const
    {
        return (even + 0x00800080) >> 8 & 0x00ff00ff | (odd + 0x00800080) & 0xff00ff00;
    }
};

// The kernels for images make n pixels, each a word of four bytes, image after image, and of the last one perhaps only
// a part. Of each image its word in `choices` says where its window is, and whether it is flipped. Pixels are in rows,
// until the blur has them in Z-order.

extern "C" __global__ void __launch_bounds__(THREADS)
    crop(const unsigned* images, const unsigned* choices, unsigned* windows, unsigned n)
{
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const unsigned image = i / (WINDOW * WINDOW), place = i % (WINDOW * WINDOW);
        const unsigned choice = choices[image];
        const unsigned column = place % WINDOW + choice % (LOADED - WINDOW);
        const unsigned row = place / WINDOW + (choice >> 8) % (LOADED - WINDOW);
        windows[i] = images[((size_t)image * LOADED + row) * LOADED + column];
    }
}

// Where the middle of a pixel is in a window, in 1/16 of a pixel from the middle of its first.
__device__ __forceinline__ unsigned in_window(unsigned pixel)
{
    return max((int)((2 * pixel + 1) * (8 * WINDOW / SIDE)) - 8, 0);
}

// Bilinear: of the four pixels around the place.
extern "C" __global__ void __launch_bounds__(THREADS) resize(const unsigned* windows, unsigned* pixels, unsigned n)
{
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const unsigned* window = windows + (size_t)(i / (SIDE * SIDE)) * (WINDOW * WINDOW);
        const unsigned x = in_window(i % SIDE), y = in_window(i / SIDE % SIDE);
        const unsigned left = x / 16, right = min(left + 1, WINDOW - 1), top = y / 16, bottom = min(top + 1, WINDOW - 1);
        Sum sum;
        sum.add(window[top * WINDOW + left], (16 - x % 16) * (16 - y % 16));
        sum.add(window[top * WINDOW + right], x % 16 * (16 - y % 16));
        sum.add(window[bottom * WINDOW + left], (16 - x % 16) * (y % 16));
        sum.add(window[bottom * WINDOW + right], x % 16 * (y % 16));
        pixels[i] = sum.mean();
    }
}

// From left to right, or not.
extern "C" __global__ void __launch_bounds__(THREADS)
    flip(const unsigned* pixels, const unsigned* choices, unsigned* flipped, unsigned n)
{
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const bool is_flipped = choices[i / (SIDE * SIDE)] >> 16 & 1;
        const unsigned column = i % SIDE;
        flipped[i] = pixels[(size_t)i - column + (is_flipped ? SIDE - 1 - column : column)];
    }
}

// Every second bit of a number below 2^16, one beside the other.
__device__ __forceinline__ unsigned every_second(unsigned x)
{
    x &= 0x5555;
    x = (x | x >> 1) & 0x3333;
    x = (x | x >> 2) & 0x0f0f;
    return (x | x >> 4) & 0x00ff;
}

// 5 x 5 pixels with the weights 1 4 6 4 1, down and across; beyond an edge the pixels at the edge count.
extern "C" __global__ void __launch_bounds__(THREADS) blur(const unsigned* pixels, unsigned* blurred, unsigned n)
{
    const unsigned weights[5] = {1, 4, 6, 4, 1};
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const unsigned* image = pixels + (size_t)(i / (SIDE * SIDE)) * (SIDE * SIDE);
        const int place = i % (SIDE * SIDE), column = every_second(place), row = every_second(place >> 1);
        Sum sum;
#pragma unroll
        for (int y = 0; y < 5; ++y) {
            const unsigned* pixels_of_row = image + min(max(row + y - 2, 0), SIDE - 1) * SIDE;
#pragma unroll
            for (int x = 0; x < 5; ++x)
                sum.add(pixels_of_row[min(max(column + x - 2, 0), SIDE - 1)], weights[y] * weights[x]);
        }
        blurred[i] = sum.mean();
    }
}

// x[n][4]: the activations of n pixels, each a word of four bytes.
extern "C" __global__ void __launch_bounds__(THREADS) normalise(const unsigned* pixels, int* x, unsigned n)
{
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        const unsigned pixel = pixels[i];
        Four four;
#pragma unroll
        for (int c = 0; c < 4; ++c)
            four.at[c] = ((int)(pixel >> 8 * c & 0xff) * CHANNEL_SCALE[c] - CHANNEL_SHIFT[c]) >> 16;
        *reinterpret_cast<Four*>(x + 4 * (size_t)i) = four;
    }
}

// y[rows][outputs] = x[rows][inputs] * w[inputs][outputs]
extern "C" __global__ void __launch_bounds__(THREADS)
    dense(const int* x, const int* w, int* y, unsigned rows, unsigned inputs, unsigned outputs)
{
    forward<false>(x, w, y, rows, inputs, outputs);
}

// The same, and zero where it would be negative.
extern "C" __global__ void __launch_bounds__(THREADS)
    dense_relu(const int* x, const int* w, int* y, unsigned rows, unsigned inputs, unsigned outputs)
{
    forward<true>(x, w, y, rows, inputs, outputs);
}

// dx[rows][inputs] = dy[rows][outputs] * w[inputs][outputs], transposed, where x is positive; else zero. x is what
// `dense_relu` gave, and what the layer of these weights was given.
extern "C" __global__ void __launch_bounds__(THREADS) dense_input_gradient(
    const int* dy, const int* w, const int* x, int* dx, unsigned rows, unsigned inputs, unsigned outputs)
{
    dense<true>(dy, w, rows, outputs, inputs, [=](unsigned r, unsigned c, const int* sums) {
        const Four was = load(x + (size_t)r * inputs + c);
        Four four;
#pragma unroll
        for (int j = 0; j < 4; ++j)
            four.at[j] = was.at[j] > 0 ? within_16_bits(shifted<ACTIVATION_SHIFT>(sums[j])) : 0;
        *reinterpret_cast<Four*>(dx + (size_t)r * inputs + c) = four;
    });
}

// Slices of the rows for a gradient of so many weights.
__device__ __forceinline__ unsigned slices_of(unsigned inputs, unsigned outputs)
{
    const unsigned tiles = (inputs + TILE_ROWS - 1) / TILE_ROWS * (outputs / TILE_COLUMNS);
    return min(max(GRADIENT_BLOCKS / max(tiles, 1u), LEAST_SLICES), MOST_SLICES);
}

// dw[slices][inputs][outputs]: for each slice of the rows, its part of the mean of x[rows][inputs], transposed, times
// dy[rows][outputs]. The mean is over 2^floor(log2(rows)) rows.
extern "C" __global__ void __launch_bounds__(THREADS) dense_weight_gradient(
    const int* x, const int* dy, int* dw, unsigned rows, unsigned inputs, unsigned outputs)
{
    __shared__ Tile tile;
    const unsigned t = threadIdx.x;
    const unsigned row = t / 8 * OWN, column = t % 8 * OWN;
    const unsigned across = outputs / TILE_COLUMNS, down = (inputs + TILE_ROWS - 1) / TILE_ROWS;
    const unsigned slices = slices_of(inputs, outputs), per_slice = (rows + slices - 1) / slices;
    const int shift = rows == 0 ? 0 : 31 - __clz(rows);
    for (unsigned number = blockIdx.x; number < across * down * slices; number += gridDim.x) {
        const unsigned slice = number / (across * down), place = number % (across * down);
        const unsigned first_row = place / across * TILE_ROWS, first_column = place % across * TILE_COLUMNS;
        const unsigned from = min(slice * per_slice, rows), to = min(from + per_slice, rows);
        long long all[OWN][OWN] = {};
        Four a[4], b[2];
        const auto fetch = [&](unsigned d) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned i = t + k * THREADS, c = first_row + i % 16 * 4;
                a[k] = row_of(x, d + i / 16, c < inputs ? to : 0, inputs, c);
            }
#pragma unroll
            for (int k = 0; k < 2; ++k) b[k] = row_of(dy, d + t / 8 + k * 16, to, outputs, first_column + column);
        };
        fetch(from);
        for (unsigned d = from; d < to; d += TILE_DEPTH) {
            __syncthreads();
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const unsigned i = t + k * THREADS;
                *reinterpret_cast<Four*>(&tile.a[i / 16][i % 16 * 4]) = low_16_bits(a[k]);
            }
#pragma unroll
            for (int k = 0; k < 2; ++k)
                *reinterpret_cast<Four*>(&tile.b[t / 8 + k * 16][column]) = low_16_bits(b[k]);
            __syncthreads();
            if (d + TILE_DEPTH < to) fetch(d + TILE_DEPTH);
            Sums sums = {};
            multiply(tile, sums, row, column);
#pragma unroll
            for (int i = 0; i < OWN; ++i)
#pragma unroll
                for (int j = 0; j < OWN; ++j) all[i][j] += sums[i][j];
        }
#pragma unroll
        for (int i = 0; i < OWN; ++i) {
            const unsigned r = first_row + row + i;
            Four four;
            // From value * 2^23 to value * 2^24.
#pragma unroll
            for (int j = 0; j < 4; ++j) four.at[j] = (int)(all[i][j] * 2 >> shift);
            if (r < inputs)
                *reinterpret_cast<Four*>(dw + ((size_t)slice * inputs + r) * outputs + first_column + column) = four;
        }
    }
}

// 2^(-x / 2^16) * 2^16, for x from 0 on.
__device__ __forceinline__ unsigned half_lives(unsigned x)
{
    if (x >> 16 >= 31) return 0;
    // A polynomial for 2^-f whose coefficients were fitted: off by less than 2 * 2^-16.
    const unsigned f = x & 0xffff;
    unsigned y = 516;
    y = 3609 - (f * y >> 16);
    y = 15753 - (f * y >> 16);
    y = 45427 - (f * y >> 16);
    return (65536 - (f * y >> 16)) >> (x >> 16);
}

// log2(x / 2^16) * 2^16, for x from 2^16 on: bit by bit, by squaring.
__device__ __forceinline__ unsigned log2_of(unsigned x)
{
    const unsigned whole = 15 - __clz(x);
    unsigned long long y = (unsigned long long)x << 15 - whole; // from 2^31 to 2^32
    unsigned part = 0;
#pragma unroll
    for (int bit = 0; bit < 16; ++bit) {
        y = y * y >> 31;
        part = part << 1 | (unsigned)(y >> 32);
        y >>= y >> 32;
    }
    return whole << 16 | part;
}

// For each row the gradient of its loss to its logits, and the loss, in nats * 2^16: one warp for a row, one thread for
// a class.
extern "C" __global__ void __launch_bounds__(THREADS) softmax_cross_entropy(
    const int* logits, const unsigned* labels, int* gradients, unsigned* losses, unsigned rows)
{
    const unsigned warps = THREADS / 32, class_ = threadIdx.x % 32;
    for (unsigned r = blockIdx.x * warps + threadIdx.x / 32; r < rows; r += gridDim.x * warps) {
        const int logit = logits[(size_t)r * CLASSES + class_];
        const unsigned label = labels[r] % CLASSES;
        int most = logit;
#pragma unroll
        for (int other = 16; other > 0; other /= 2) most = max(most, __shfl_xor_sync(~0u, most, other));
        // log2(e) * 2^16 = 94548; no difference is larger than 2^16, so that 32 bits do.
        const unsigned below = (unsigned)min(most - logit, 32767);
        const unsigned power = half_lives(below * 94548u >> 8);
        unsigned sum = power;
#pragma unroll
        for (int other = 16; other > 0; other /= 2) sum += __shfl_xor_sync(~0u, sum, other);
        const int share = (int)((power << 15) / sum);
        const int gradient = within_16_bits(class_ == label ? share - 32768 : share);
        gradients[(size_t)r * CLASSES + class_] = gradient;
        if (class_ == label)
            losses[r] = (unsigned)((unsigned long long)log2_of(sum) * 45426 >> 16) + (below << 8);
    }
}

// weights[n] -= learning rate * the sum of gradients[slices][n]
extern "C" __global__ void __launch_bounds__(THREADS)
    sgd_step(int* weights, const int* gradients, unsigned n, unsigned slices)
{
    for (unsigned i = blockIdx.x * THREADS + threadIdx.x; i < n; i += gridDim.x * THREADS) {
        int sum = 0;
#pragma unroll 32
        for (unsigned slice = 0; slice < slices; ++slice) sum += gradients[(size_t)slice * n + i];
        weights[i] -= sum >> LEARNING_SHIFT;
    }
}
