// Does the first launch of a kernel wait for what runs in another stream?
//
//     nvcc -O2 -o lazy_loading lazy_loading.cu && ./lazy_loading && CUDA_MODULE_LOADING=EAGER ./lazy_loading
//
// A long kernel runs in one stream, and `other` is launched three times in a second one. Each line says how long the
// host was in the call, and when the kernel started.

#include <chrono>
#include <cstdio>
#include <cuda_runtime.h>

constexpr long long CYCLES = 40'000'000;  // some 20 ms

__device__ unsigned long long now() {
    unsigned long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

__global__ void spin(long long cycles, unsigned long long* end) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
    *end = now();
}

__global__ void other(unsigned long long* start) { *start = now(); }

int main() {
    unsigned long long* ns;  // when `spin` ended, and when `other` started
    cudaMallocManaged(&ns, 2 * sizeof(*ns));
    cudaStream_t first, second;
    cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking);
    spin<<<1, 1, 0, first>>>(1, ns);
    cudaDeviceSynchronize();
    for (int i = 1; i <= 3; ++i) {
        spin<<<1, 1, 0, first>>>(CYCLES, ns);
        const auto before = std::chrono::steady_clock::now();
        other<<<1, 1, 0, second>>>(ns + 1);
        const std::chrono::duration<double, std::milli> call = std::chrono::steady_clock::now() - before;
        cudaDeviceSynchronize();
        std::printf("launch %d: host in the call for %.3f ms; started %s the long kernel ended\n", i, call.count(),
                    ns[1] < ns[0] ? "before" : "after");
    }
}
