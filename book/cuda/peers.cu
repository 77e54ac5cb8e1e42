// Copies between two GPUs: with and without access, of memory of `cudaMalloc` and of the pool, in CUDA C++:
//
//     nvcc -O2 peers.cu -o peers && ./peers
//
// The program prints what a copy of 32 MiB takes each time, on the host's clock, the shortest of 21.

#include <algorithm>
#include <chrono>
#include <cstdio>

#define CHECK(call)                                                             \
    if (cudaError_t error = call; error != cudaSuccess) {                       \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));     \
        return 1;                                                               \
    }

constexpr size_t BYTES = 32 << 20;

// ANCHOR: access
// Device 0 may use what `cudaMalloc` gives on device 1 ...
cudaError_t allow_allocations() {
    cudaSetDevice(0);
    return cudaDeviceEnablePeerAccess(1, 0);
}

// ... and this is for what `cudaMallocAsync` gives there.
cudaError_t allow_pool() {
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 1);
    cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, 0}, cudaMemAccessFlagsProtReadWrite};
    return cudaMemPoolSetAccess(pool, &access, 1);
}
// ANCHOR_END: access

double copy_us(void *to, const void *from, cudaStream_t stream) {
    using clock = std::chrono::steady_clock;
    double best = 1e9;
    for (int run = 0; run < 21; ++run) {
        auto start = clock::now();
        cudaMemcpyPeerAsync(to, 0, from, 1, BYTES, stream);
        cudaStreamSynchronize(stream);
        best = std::min(best, std::chrono::duration<double, std::micro>(clock::now() - start).count());
    }
    return best;
}

int main() {
    void *allocated[2], *pooled[2];
    cudaStream_t streams[2];
    for (int device = 0; device < 2; ++device) {
        CHECK(cudaSetDevice(device));
        CHECK(cudaStreamCreateWithFlags(&streams[device], cudaStreamNonBlocking));
        CHECK(cudaMalloc(&allocated[device], BYTES));
        CHECK(cudaMallocAsync(&pooled[device], BYTES, streams[device]));
        CHECK(cudaStreamSynchronize(streams[device]));
    }
    cudaSetDevice(0);
    auto both = [&](const char *when) {
        double plain = copy_us(allocated[0], allocated[1], streams[0]);
        double pool = copy_us(pooled[0], pooled[1], streams[0]);
        std::printf("%-40s cudaMalloc %7.1f us, cudaMallocAsync %7.1f us\n", when, plain, pool);
    };
    both("no access");
    CHECK(allow_allocations());
    both("cudaDeviceEnablePeerAccess");
    CHECK(allow_pool());
    both("cudaMemPoolSetAccess too");
    CHECK(cudaGetLastError());
    return 0;
}
