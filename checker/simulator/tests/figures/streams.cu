// How long a streaming map takes on few multiprocessors: 64 Mi words, by its blocks of 128 and of 256 threads.
// `streams.txt` is what it printed on an H200 (driver 580.159.04, 2026-12-01):
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -I ../../../../exercises/lab/kernels/cuda streams.cu -o streams && ./streams

#include "pipes.cu"

#include <algorithm>
#include <vector>
#include "probe.cuh"

const unsigned WORDS = 64 << 20;
const int LAUNCHES = 4;

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\nthreads\tblocks\tus\n", device.name);
    unsigned *in, *out;
    cudaStream_t stream;
    cudaEvent_t from, to;
    OK(cudaMalloc(&in, 4ul * WORDS));
    OK(cudaMalloc(&out, 4ul * WORDS));
    OK(cudaMemset(in, 1, 4ul * WORDS));
    OK(cudaStreamCreate(&stream));
    for (auto event : {&from, &to}) OK(cudaEventCreate(event));
    for (int threads : {128, 256})
        for (int blocks : {1, 4, 16, 33, 50, 66, 80, 99, 116, 132, 198, 264, 528, 1056}) {
            std::vector<float> times;
            for (int i = 0; i < 9; ++i) {
                OK(cudaEventRecord(from, stream));
                for (int j = 0; j < LAUNCHES; ++j) stream_map<<<blocks, threads, 0, stream>>>(in, out, WORDS, 1);
                OK(cudaEventRecord(to, stream));
                OK(cudaStreamSynchronize(stream));
                float ms;
                OK(cudaEventElapsedTime(&ms, from, to));
                times.push_back(ms / LAUNCHES);
            }
            std::sort(times.begin(), times.end());
            printf("%d\t%d\t%.1f\n", threads, blocks, times[4] * 1e3);
        }
    return 0;
}
