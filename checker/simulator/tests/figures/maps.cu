// Maps of part of the device and of all of it: when each block ends, what a young kernel finds beside an old one, and
// what a small map takes in a stream and in a graph. Times in us, from the start of the first block of the kernel that
// was launched first. `maps.txt` is what it printed on an H200 (driver 580.159.04, 2026-12-01). `map.cuh` is made as
// pairs.cu says:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 maps.cu -o maps && ./maps

#include <algorithm>
#include <vector>
#include "map.cuh"
#include "probe.cuh"

typedef unsigned long long u64;
struct Mark {
    u64 from, to;
    u64 sm;
};

__device__ u64 nanoseconds()
{
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

// A map, with where each block ran and when.
template <unsigned A, unsigned C>
__global__ void __launch_bounds__(256, 8) marked(unsigned* x, unsigned n, unsigned rounds, Mark* mark)
{
    if (threadIdx.x == 0) {
        unsigned sm;
        asm volatile("mov.u32 %0, %smid;" : "=r"(sm));
        mark[blockIdx.x].sm = sm;
        mark[blockIdx.x].from = nanoseconds();
    }
    map<A, C>(x, x, n, rounds);
    __syncthreads();
    if (threadIdx.x == 0) mark[blockIdx.x].to = nanoseconds();
}

__global__ void __launch_bounds__(256, 8) plain(unsigned* x, unsigned n, unsigned rounds)
{
    map<22695477u, 1u>(x, x, n, rounds);
}

const int MARKS = 2048, KERNELS = 8;
unsigned *data, *others;
Mark *marks, *seen;
int* flag;
cudaStream_t streams[2], gate;
cudaEvent_t opened;

void close_gate()
{
    *(volatile int*)flag = 0;
    closed<<<1, 1, 0, gate>>>(flag);
    OK(cudaEventRecord(opened, gate));
    for (auto stream : streams) OK(cudaStreamWaitEvent(stream, opened, 0));
}

void open_gate()
{
    *(volatile int*)flag = 1;
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(seen, marks, KERNELS * MARKS * sizeof(Mark), cudaMemcpyDeviceToHost));
}

void old_map(int blocks, int each, int rounds, int kernel = 0, int stream = 0)
{
    marked<1664525u, 1013904223u>
        <<<blocks, 256, 0, streams[stream]>>>(data, blocks * 256 * each, rounds, marks + kernel * MARKS);
}

void say(const char* name, int kernel, int blocks)
{
    u64 zero = ~0ull;
    for (int i = 0; i < MARKS; ++i)
        if (seen[i].from) zero = std::min(zero, seen[i].from);
    std::vector<double> from, to;
    for (int i = 0; i < blocks; ++i) {
        const Mark& mark = seen[kernel * MARKS + i];
        from.push_back(((double)mark.from - (double)zero) / 1e3);
        to.push_back(((double)mark.to - (double)zero) / 1e3);
    }
    std::sort(from.begin(), from.end());
    std::sort(to.begin(), to.end());
    printf("  %-12s blocks start %7.1f to %7.1f, end %7.1f, a quarter %7.1f, half %7.1f, 3 quarters %7.1f, last %7.1f\n",
           name, from[0], from.back(), to[0], to[blocks / 4], to[blocks / 2], to[blocks * 3 / 4], to.back());
}

// Time of one kernel more in a row, in ns: 120 less 20.
double more(int blocks, int rounds, bool is_graph)
{
    double ns[2];
    for (int longer = 0; longer < 2; ++longer) {
        const int kernels = longer ? 120 : 20;
        auto row = [&] {
            for (int i = 0; i < kernels; ++i) plain<<<blocks, 256, 0, streams[0]>>>(data, blocks * 1024, rounds);
        };
        cudaGraphExec_t graph = nullptr;
        if (is_graph) {
            cudaGraph_t captured;
            OK(cudaStreamBeginCapture(streams[0], cudaStreamCaptureModeThreadLocal));
            row();
            OK(cudaStreamEndCapture(streams[0], &captured));
            OK(cudaGraphInstantiate(&graph, captured, 0));
        }
        cudaEvent_t from, to;
        OK(cudaEventCreate(&from));
        OK(cudaEventCreate(&to));
        std::vector<float> times;
        for (int i = 0; i < 9; ++i) {
            close_gate();
            OK(cudaEventRecord(from, streams[0]));
            if (is_graph)
                OK(cudaGraphLaunch(graph, streams[0]));
            else
                row();
            OK(cudaEventRecord(to, streams[0]));
            open_gate();
            float ms;
            OK(cudaEventElapsedTime(&ms, from, to));
            times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        ns[longer] = times[4] * 1e6;
    }
    return (ns[1] - ns[0]) / 100;
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    const int all = device.multiProcessorCount;
    printf("%s, %d multiprocessors\n", device.name, all);
    OK(cudaMalloc(&data, 1 << 28));
    OK(cudaMalloc(&others, 1 << 28));
    OK(cudaMemset(data, 1, 1 << 28));
    OK(cudaMemset(others, 1, 1 << 28));
    OK(cudaMalloc(&marks, KERNELS * MARKS * sizeof(Mark)));
    OK(cudaMallocHost(&seen, KERNELS * MARKS * sizeof(Mark)));
    OK(cudaMallocHost(&flag, sizeof(int)));
    for (auto& stream : streams) OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&gate, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&opened, cudaEventDisableTiming));
    // What is done for the first time is not measured.
    old_map(all, 4, 16);
    marked<22695477u, 1u><<<1, 256>>>(others, 1024, 16, marks);
    plain<<<1, 256>>>(data, 1024, 16);
    OK(cudaDeviceSynchronize());

    for (int on_each : {1, 2, 4, 8}) {
        OK(cudaMemset(marks, 0, KERNELS * MARKS * sizeof(Mark)));
        close_gate();
        old_map(on_each * all, 16, 1481);
        open_gate();
        printf("%d blocks on each, 16 elements a thread, 1481 rounds\n", on_each);
        say("map", 0, on_each * all);
    }
    for (int on_each : {1, 4}) {
        for (int young : {64, 512}) {
            OK(cudaMemset(marks, 0, KERNELS * MARKS * sizeof(Mark)));
            close_gate();
            old_map(on_each * 64, 256, 260);
            // The blocks of the old one are there when those of the young one come.
            *(volatile int*)flag = 1;
            while (cudaStreamQuery(gate) == cudaErrorNotReady) {
            }
            marked<22695477u, 1u><<<young, 256, 0, streams[1]>>>(others, young * 4096, 1000, marks + MARKS);
            open_gate();
            printf("%d old blocks, then %d young ones of another stream\n", on_each * 64, young);
            say("old", 0, on_each * 64);
            say("young", 1, young);
            double last[2] = {0, 0};
            int count[2] = {0, 0};
            for (int i = 0; i < young; ++i) {
                bool beside = false;
                for (int j = 0; j < on_each * 64; ++j) beside |= seen[MARKS + i].sm == seen[j].sm;
                last[beside] = std::max(last[beside], ((double)seen[MARKS + i].to - (double)seen[0].from) / 1e3);
                ++count[beside];
            }
            printf("  %d beside old blocks, the last ends %.1f; %d apart, %.1f\n", count[1], last[1], count[0], last[0]);
        }
    }
    OK(cudaMemset(marks, 0, KERNELS * MARKS * sizeof(Mark)));
    close_gate();
    for (int i = 0; i < KERNELS; ++i) old_map(8 * all, 16, 1481, i, i % 2);
    open_gate();
    printf("8 kernels of 8 blocks on each, in two streams by turns\n");
    for (int i = 0; i < KERNELS; ++i) {
        char name[20];
        snprintf(name, sizeof name, "kernel %d", i);
        say(name, i, 8 * all);
    }
    printf("64 blocks, by elements of a thread: of 256 and fewer what the cache holds, of 1024 what it does not\n");
    for (int each : {32, 256, 1024}) {
        for (int rounds : {16, 201}) {
            for (int warm = 0; warm < 2; ++warm) {
                OK(cudaMemset(marks, 0, KERNELS * MARKS * sizeof(Mark)));
                close_gate();
                old_map(64, each, rounds);
                open_gate();
            }
            char name[40];
            snprintf(name, sizeof name, "%d, %d", each, rounds);
            say(name, 0, 64);
        }
    }
    printf("one kernel more in a row, 4 elements a thread: in a stream, in a graph, ns\n");
    for (int blocks : {1, 16, 132})
        for (int rounds : {16, 201})
            printf("  %3d blocks, %3d rounds: %.0f, %.0f\n", blocks, rounds, more(blocks, rounds, false),
                   more(blocks, rounds, true));
    return 0;
}
