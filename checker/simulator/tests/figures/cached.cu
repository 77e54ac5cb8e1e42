// What a map takes by where its elements are: what came before it, how much else was used in between, and in a row of
// kernels, in a stream and in a graph. Times in ns. `cached.txt` is what it printed on an H200 (driver 580.159.04,
// 2026-12-01). `map.cuh` is made as pairs.cu says:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 cached.cu -o cached && ./cached

#include <algorithm>
#include <vector>
#include "map.cuh"
#include "probe.cuh"

typedef unsigned long long u64;
struct Mark {
    u64 from, to;
};

__device__ u64 nanoseconds()
{
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

__global__ void __launch_bounds__(256, 8) plain(unsigned* x, unsigned n, unsigned rounds)
{
    map<22695477u, 1u>(x, x, n, rounds);
}


const u64 BYTES = 1ull << 28;
unsigned *data, *target, *others, *pinned;
Mark *marks, *seen;
int* flag;
cudaStream_t stream, gate;
cudaEvent_t opened, from, to;

// A map, with when each block ran.
template <unsigned A, unsigned C>
__global__ void __launch_bounds__(256, 8) marked(unsigned* x, unsigned* y, unsigned n, unsigned rounds, Mark* mark)
{
    if (threadIdx.x == 0) mark[blockIdx.x].from = nanoseconds();
    map<A, C>(x, y, n, rounds);
    __syncthreads();
    if (threadIdx.x == 0) mark[blockIdx.x].to = nanoseconds();
}

// What comes before the kernel.
enum Before { HOT, UPLOADED, EVICTED, DOWNLOADED, CLEARED, COPIED, HOT_TO_COLD, COLD_TO_HOT, KINDS };
const char* names[] = {"hot", "uploaded", "evicted", "downloaded", "cleared", "copied", "hot to cold", "cold to hot"};

void evict() { OK(cudaMemsetAsync(others, 1, BYTES, stream)); }
void run(unsigned* x, unsigned* y, int blocks, int each, int rounds)
{
    marked<1664525u, 1013904223u><<<blocks, 256, 0, stream>>>(x, y, blocks * 256 * each, rounds, marks);
}

// From the start of the first block of the last kernel to the end of its last one.
double span(int blocks)
{
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(seen, marks, blocks * sizeof(Mark), cudaMemcpyDeviceToHost));
    u64 first = ~0ull, last = 0;
    for (int i = 0; i < blocks; ++i) {
        first = std::min(first, seen[i].from);
        last = std::max(last, seen[i].to);
    }
    return (double)(last - first);
}

double once_ns(int kind, int blocks, int each, int rounds)
{
    const u64 bytes = 4ull * blocks * 256 * each;
    std::vector<double> spans;
    for (int i = 0; i < 9; ++i) {
        unsigned *x = data, *y = data;
        evict();
        if (kind == HOT_TO_COLD || kind == COLD_TO_HOT) y = target;
        if (kind == HOT || kind == DOWNLOADED) run(data, data, blocks, each, 1);
        if (kind == HOT_TO_COLD) run(data, data, blocks, each, 1);
        if (kind == COLD_TO_HOT) run(target, target, blocks, each, 1);
        if (kind == UPLOADED) OK(cudaMemcpyAsync(data, pinned, bytes, cudaMemcpyHostToDevice, stream));
        if (kind == DOWNLOADED) OK(cudaMemcpyAsync(pinned, data, bytes, cudaMemcpyDeviceToHost, stream));
        if (kind == CLEARED) OK(cudaMemsetAsync(data, 1, bytes, stream));
        if (kind == COPIED) OK(cudaMemcpyAsync(data, target, bytes, cudaMemcpyDeviceToDevice, stream));
        // The code and the marks are there.
        run(others, others, blocks, 0, rounds);
        run(x, y, blocks, each, rounds);
        spans.push_back(span(blocks));
    }
    std::sort(spans.begin(), spans.end());
    return spans[4];
}

// Hot again after so many MiB of something else.
double after(int kind, int mib)
{
    std::vector<double> spans;
    for (int i = 0; i < 9; ++i) {
        evict();
        run(data, data, 132, 16, 1);
        const u64 bytes = (u64)mib << 20;
        if (mib && kind == 0) run(others, others, 132, (int)(bytes / (132 * 256 * 4)), 1);
        if (mib && kind == 1) OK(cudaMemcpyAsync(others, pinned, bytes, cudaMemcpyHostToDevice, stream));
        if (mib && kind == 2) OK(cudaMemcpyAsync(pinned, others, bytes, cudaMemcpyDeviceToHost, stream));
        if (mib && kind == 3) OK(cudaMemsetAsync(others, 1, bytes, stream));
        run(others, others, 132, 0, 16);
        run(data, data, 132, 16, 16);
        spans.push_back(span(132));
    }
    std::sort(spans.begin(), spans.end());
    return spans[4];
}

// A row of kernels, each on memory of its own that begins so many bytes after that of the one before. Closed until all
// are issued.
double row(int kind, int kernels, u64 apart, int blocks, int each, int rounds, bool is_graph)
{
    const unsigned n = blocks * 256 * each;
    auto launch = [&] {
        for (int i = 0; i < kernels; ++i) plain<<<blocks, 256, 0, stream>>>(data + i * apart / 4, n, rounds);
    };
    cudaGraphExec_t graph = nullptr;
    if (is_graph) {
        cudaGraph_t captured;
        OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
        launch();
        OK(cudaStreamEndCapture(stream, &captured));
        OK(cudaGraphInstantiate(&graph, captured, 0));
        OK(cudaGraphUpload(graph, stream));
    }
    std::vector<float> times;
    for (int i = 0; i < 9; ++i) {
        evict();
        if (kind == HOT) launch();
        for (int k = 0; kind == UPLOADED && k < kernels; ++k)
            OK(cudaMemcpyAsync(data + k * apart / 4, pinned, 4ull * n, cudaMemcpyHostToDevice, stream));
        plain<<<blocks, 256, 0, stream>>>(others, 0, rounds);
        OK(cudaDeviceSynchronize());
        *(volatile int*)flag = 0;
        closed<<<1, 1, 0, gate>>>(flag);
        OK(cudaEventRecord(opened, gate));
        OK(cudaStreamWaitEvent(stream, opened, 0));
        OK(cudaEventRecord(from, stream));
        if (is_graph)
            OK(cudaGraphLaunch(graph, stream));
        else
            launch();
        OK(cudaEventRecord(to, stream));
        *(volatile int*)flag = 1;
        OK(cudaDeviceSynchronize());
        float ms;
        OK(cudaEventElapsedTime(&ms, from, to));
        times.push_back(ms);
    }
    std::sort(times.begin(), times.end());
    return times[4] * 1e6;
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s, %d multiprocessors, %d bytes of L2\n", device.name, device.multiProcessorCount, device.l2CacheSize);
    OK(cudaMalloc(&data, BYTES));
    OK(cudaMalloc(&target, BYTES));
    OK(cudaMalloc(&others, BYTES));
    OK(cudaMallocHost(&pinned, BYTES));
    OK(cudaMalloc(&marks, 2048 * sizeof(Mark)));
    OK(cudaMallocHost(&seen, 2048 * sizeof(Mark)));
    OK(cudaMallocHost(&flag, sizeof(int)));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&gate, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&opened, cudaEventDisableTiming));
    OK(cudaEventCreate(&from));
    OK(cudaEventCreate(&to));
    OK(cudaMemset(data, 1, BYTES));
    OK(cudaMemset(target, 1, BYTES));
    run(data, data, 132, 16, 16);
    plain<<<1, 256, 0, stream>>>(data, 1024, 16);
    OK(cudaDeviceSynchronize());
    printf("ns by blocks, elements of a thread, rounds\n%22s", "");
    for (int kind = 0; kind < KINDS; ++kind) printf("%12s", names[kind]);
    printf("\n");
    for (int blocks : {16, 132, 528, 1056})
        for (int rounds : {1, 16, 64, 201, 401})
            for (int each : {1, 4, 8, 16, 32, 64}) {
                if (blocks > 132 && each * blocks > 132 * 64) continue;
                printf("%5d %5d %5d     ", blocks, each, rounds);
                for (int kind = 0; kind < KINDS; ++kind) printf("%12.0f", once_ns(kind, blocks, each, rounds));
                printf("\n");
                fflush(stdout);
            }
    const char* between[] = {"map", "upload", "download", "memset"};
    printf("132 blocks, 16 elements, 16 rounds, after so many MiB of\n");
    for (int kind = 0; kind < 4; ++kind) {
        printf("%10s", between[kind]);
        for (int mib : {0, 4, 8, 16, 24, 32, 40, 48, 56, 64, 96, 128}) printf(" %d: %.0f", mib, after(kind, mib));
        printf("\n");
        fflush(stdout);
    }
    printf("one kernel more in a row, by blocks, elements, rounds: hot, uploaded, evicted; in a graph\n");
    for (int blocks : {16, 64, 132})
        for (int each : {4, 16})
            for (int rounds : {16, 201, 401}) {
                if (blocks > 16 && each > 4) continue; // not all of it stays
                printf("%5d %5d %5d     ", blocks, each, rounds);
                const u64 apart = 4ull * blocks * 256 * each;
                for (int is_graph = 0; is_graph < 2; ++is_graph)
                    for (int kind : {HOT, UPLOADED, EVICTED}) {
                        double longer = row(kind, 40, apart, blocks, each, rounds, is_graph);
                        printf("%8.0f", (longer - row(kind, 20, apart, blocks, each, rounds, is_graph)) / 20);
                    }
                printf("\n");
                fflush(stdout);
            }
    return 0;
}
