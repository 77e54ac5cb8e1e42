// A library's call between two streams of cudaStreamCreate, in CUDA C++:
//
//     nvcc -O2 default_stream.cu -o default_stream && ./default_stream
//
// Pass `non-blocking` to make the streams with cudaStreamNonBlocking. The program says how many elements are wrong.

#include <cstdio>
#include <cstring>

#define CHECK(call)                                                             \
    if (cudaError_t error = call; error != cudaSuccess) {                       \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));     \
        return 1;                                                               \
    }

constexpr int BLOCKS = 4;
constexpr size_t WORDS = 16 << 20;
constexpr unsigned ROUNDS = 1000;

__global__ void map(unsigned *data, size_t words) {
    size_t step = size_t(gridDim.x) * blockDim.x;
    for (size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < words; i += step) {
        unsigned word = data[i];
        for (unsigned round = 0; round < ROUNDS; ++round) word = word * 1664525u + 1013904223u;
        data[i] = word;
    }
}

// A library's function that takes no stream.
void library_transform(unsigned *data, size_t words) { map<<<1056, 256>>>(data, words); }

int main(int count, char **arguments) {
    bool blocking = count < 2 || std::strcmp(arguments[1], "non-blocking") != 0;
    cudaStream_t upload, download;
    CHECK(cudaStreamCreateWithFlags(&upload, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&download, blocking ? cudaStreamDefault : cudaStreamNonBlocking));
    size_t bytes = WORDS * sizeof(unsigned);
    unsigned *input[BLOCKS], *device[BLOCKS], *output[BLOCKS];
    for (int i = 0; i < BLOCKS; ++i) {
        CHECK(cudaMallocHost(&input[i], bytes));
        CHECK(cudaMallocHost(&output[i], bytes));
        CHECK(cudaMalloc(&device[i], bytes));
        for (size_t j = 0; j < WORDS; ++j) input[i][j] = unsigned(j);
    }
    CHECK(cudaDeviceSynchronize());

    // ANCHOR: puzzle
    for (int i = 0; i < BLOCKS; ++i) {
        cudaMemcpyAsync(device[i], input[i], bytes, cudaMemcpyHostToDevice, upload);
        library_transform(device[i], WORDS);
        cudaMemcpyAsync(output[i], device[i], bytes, cudaMemcpyDeviceToHost, download);
    }
    cudaDeviceSynchronize();
    // ANCHOR_END: puzzle
    CHECK(cudaGetLastError());

    size_t wrong = 0;
    for (int i = 0; i < BLOCKS; ++i) {
        for (size_t j = 0; j < WORDS; j += 4099) { // a prime: a sample of all parts
            unsigned word = unsigned(j);
            for (unsigned round = 0; round < ROUNDS; ++round) word = word * 1664525u + 1013904223u;
            wrong += output[i][j] != word;
        }
    }
    std::printf("%s streams: %zu of %zu sampled elements are wrong\n", blocking ? "blocking" : "non-blocking", wrong,
                BLOCKS * (WORDS / 4099 + 1));
    return 0;
}
