// What cudarc's event tracking does, by hand in CUDA C++:
//
//     nvcc -O2 -std=c++17 wrapper_tracking.cu -o wrapper_tracking && ./wrapper_tracking
//
// Pass `untracked` to leave the events out. The program says how many elements are wrong.

#include <cstdio>
#include <cstring>
#include <initializer_list>

#define CHECK(call)                                                             \
    if (cudaError_t error = call; error != cudaSuccess) {                       \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));     \
        return 1;                                                               \
    }

constexpr int BATCHES = 4;
constexpr size_t HALF = 8 << 20;
constexpr unsigned ROUNDS = 1000;

__global__ void map(const unsigned *source, unsigned *target, size_t words) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step) {
        unsigned word = source[i];
        for (unsigned round = 0; round < ROUNDS; ++round) word = word * 1664525u + 1013904223u;
        target[i] = word;
    }
}

bool tracking = true;

// ANCHOR: puzzle
// An allocation, with one event for its last read and one for its last write.
struct Tracked {
    unsigned *data;
    cudaEvent_t read, write;
};

template <typename Work> void reads(Tracked &from, cudaStream_t stream, Work work) {
    if (tracking) cudaStreamWaitEvent(stream, from.write, 0);
    work();
    if (tracking) cudaEventRecord(from.read, stream);
}

template <typename Work> void writes(Tracked &to, cudaStream_t stream, Work work) {
    if (tracking) cudaStreamWaitEvent(stream, to.read, 0);
    if (tracking) cudaStreamWaitEvent(stream, to.write, 0);
    work();
    if (tracking) cudaEventRecord(to.write, stream);
}

void program(cudaStream_t upload, cudaStream_t (&halves)[2], Tracked (&inputs)[2],
             Tracked &results, unsigned **in, unsigned **out) {
    for (int batch = 0; batch < BATCHES; ++batch) {
        Tracked &input = inputs[batch % 2];
        writes(input, upload, [&] {
            cudaMemcpyAsync(input.data, in[batch], 8 * HALF, cudaMemcpyHostToDevice, upload);
        });
        for (size_t half : {0, 1}) {
            reads(input, halves[half], [&] {
                writes(results, halves[half], [&] {
                    map<<<1056, 256, 0, halves[half]>>>(input.data + half * HALF, results.data + half * HALF, HALF);
                });
            });
        }
        for (size_t half : {0, 1}) {
            reads(results, halves[half], [&] {
                cudaMemcpyAsync(out[batch] + half * HALF, results.data + half * HALF, 4 * HALF,
                                cudaMemcpyDeviceToHost, halves[half]);
            });
        }
    }
    cudaDeviceSynchronize();
}
// ANCHOR_END: puzzle

int allocate(Tracked &memory) {
    CHECK(cudaMalloc(&memory.data, 8 * HALF));
    CHECK(cudaEventCreateWithFlags(&memory.read, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&memory.write, cudaEventDisableTiming));
    return 0;
}

int main(int count, char **arguments) {
    tracking = count < 2 || std::strcmp(arguments[1], "untracked") != 0;
    cudaStream_t upload, halves[2];
    for (cudaStream_t *stream : {&upload, &halves[0], &halves[1]}) {
        CHECK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    }
    Tracked inputs[2], results;
    if (allocate(inputs[0]) || allocate(inputs[1]) || allocate(results)) return 1;
    unsigned *in[BATCHES], *out[BATCHES];
    for (int batch = 0; batch < BATCHES; ++batch) {
        CHECK(cudaMallocHost(&in[batch], 8 * HALF));
        CHECK(cudaMallocHost(&out[batch], 8 * HALF));
        for (size_t i = 0; i < 2 * HALF; ++i) in[batch][i] = unsigned(i) + batch;
    }
    CHECK(cudaDeviceSynchronize());
    program(upload, halves, inputs, results, in, out);
    CHECK(cudaGetLastError());

    size_t wrong = 0, sampled = 0;
    for (int batch = 0; batch < BATCHES; ++batch) {
        for (size_t i = 0; i < 2 * HALF; i += 4099, ++sampled) { // a prime: a sample of all parts
            unsigned word = unsigned(i) + batch;
            for (unsigned round = 0; round < ROUNDS; ++round) word = word * 1664525u + 1013904223u;
            wrong += out[batch][i] != word;
        }
    }
    std::printf("%s: %zu of %zu sampled elements are wrong\n", tracking ? "tracked" : "untracked", wrong, sampled);
    return 0;
}
