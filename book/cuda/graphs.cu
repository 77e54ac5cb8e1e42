// 200 tiny kernels: one by one, in two streams, and as a graph, in CUDA C++:
//
//     nvcc -O2 graphs.cu -o graphs && ./graphs
//
// The program prints the median time of each on the host's clock, and how long the host was in the calls.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#define CHECK(call)                                                             \
    if (cudaError_t error = call; error != cudaSuccess) {                       \
        std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error));     \
        return 1;                                                               \
    }

constexpr int KERNELS = 200;

__global__ void tiny(float *x) { x[threadIdx.x] += 1; }

// ANCHOR: puzzle
void call_by_call(cudaStream_t stream, float *x) {
    for (int i = 0; i < KERNELS; ++i) tiny<<<1, 256, 0, stream>>>(x + 256 * i);
}

// Captured before the clock starts; then `cudaGraphLaunch(graph, stream)` launches all of it.
cudaGraphExec_t captured(cudaStream_t stream, float *x) {
    cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    call_by_call(stream, x);
    cudaGraph_t graph;
    cudaStreamEndCapture(stream, &graph);
    cudaGraphExec_t executable;
    cudaGraphInstantiate(&executable, graph, 0);
    return executable;
}
// ANCHOR_END: puzzle

template <typename Program> void measure(const char *name, Program program) {
    using clock = std::chrono::steady_clock;
    using us = std::chrono::duration<double, std::micro>;
    std::vector<double> calls, all;
    for (int run = 0; run < 21; ++run) {
        auto start = clock::now();
        program();
        auto issued = clock::now();
        cudaDeviceSynchronize();
        calls.push_back(us(issued - start).count());
        all.push_back(us(clock::now() - start).count());
    }
    std::sort(calls.begin(), calls.end());
    std::sort(all.begin(), all.end());
    std::printf("%-22s %7.1f us, the host in the calls for %7.1f\n", name, all[10], calls[10]);
}

int main() {
    float *x;
    CHECK(cudaMalloc(&x, KERNELS * 256 * sizeof(float)));
    cudaStream_t streams[2];
    for (cudaStream_t &stream : streams) CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraphExec_t chain = captured(streams[0], x);
    cudaEvent_t fork, join;
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
    CHECK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
    CHECK(cudaEventRecord(fork, streams[0]));
    CHECK(cudaStreamWaitEvent(streams[1], fork));
    for (int i = 0; i < KERNELS; ++i) tiny<<<1, 256, 0, streams[i % 2]>>>(x + 256 * i);
    CHECK(cudaEventRecord(join, streams[1]));
    CHECK(cudaStreamWaitEvent(streams[0], join));
    cudaGraph_t graph;
    cudaGraphExec_t branches;
    CHECK(cudaStreamEndCapture(streams[0], &graph));
    CHECK(cudaGraphInstantiate(&branches, graph, 0));
    measure("call by call", [&] { call_by_call(streams[0], x); });
    measure("two streams", [&] {
        for (int i = 0; i < KERNELS; ++i) tiny<<<1, 256, 0, streams[i % 2]>>>(x + 256 * i);
    });
    measure("a graph", [&] { cudaGraphLaunch(chain, streams[0]); });
    measure("a graph, two branches", [&] { cudaGraphLaunch(branches, streams[0]); });
    CHECK(cudaGetLastError());
    return 0;
}
