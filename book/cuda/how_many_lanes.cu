// n kernels of one block on n streams, in CUDA C++:
//
//     nvcc -O2 how_many_lanes.cu -o how_many_lanes && ./how_many_lanes
//
// The program prints the time for several n, on the host's clock.

#include <chrono>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                             \
    if (cudaError_t error = call; error != cudaSuccess) {                       \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));     \
        return 1;                                                               \
    }

// Keeps one multiprocessor occupied for so many of its clock's ticks.
__global__ void spin(long long ticks) {
    long long start = clock64();
    while (clock64() - start < ticks) {
    }
}

// Launches a kernel into each of the streams, and waits.
// ANCHOR: puzzle
void kernels(const std::vector<cudaStream_t> &streams, long long ticks) {
    for (cudaStream_t stream : streams) spin<<<1, 256, 0, stream>>>(ticks);
    cudaDeviceSynchronize();
}
// ANCHOR_END: puzzle

int main() {
    int khz;
    CHECK(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, 0));
    long long ticks = 10ll * khz; // 10 ms
    for (int n : {1, 1, 8, 32, 128, 129, 160}) { // the first run loads the kernel
        std::vector<cudaStream_t> streams(n);
        for (cudaStream_t &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        auto start = std::chrono::steady_clock::now();
        kernels(streams, ticks);
        std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        CHECK(cudaGetLastError());
        std::printf("%3d streams: %.1f ms\n", n, took.count());
        for (cudaStream_t stream : streams) CHECK(cudaStreamDestroy(stream));
    }
    return 0;
}
