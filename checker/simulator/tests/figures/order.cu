// Which of the kernels that wait for one event starts first, and which ends first, after an upload and after a kernel.
// Streams are numbered as they were created. `order.txt` is what it printed on an H200 (driver 580.159.04,
// 2026-12-01). `map.cuh` is made as pairs.cu says:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 order.cu -o order && ./order

#include <algorithm>
#include <map>
#include <string>
#include <vector>
#include "map.cuh"
#include "probe.cuh"

typedef unsigned long long Ns;

__device__ Ns now()
{
    Ns ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

// One block for so long.
__global__ void narrow(Ns* at, unsigned ns)
{
    Ns start = now();
    if (!threadIdx.x) at[0] = start;
    while (now() - start < ns) {
    }
    if (!threadIdx.x) at[1] = now();
}

__global__ void __launch_bounds__(256, 8) full(unsigned* x, unsigned n, unsigned rounds, Ns* at)
{
    Ns start = now();
    map<22695477u, 1u>(x, x, n, rounds);
    __syncthreads();
    if (!threadIdx.x) {
        atomicMin(&at[0], start);
        atomicMax(&at[1], now());
    }
}

const int STREAMS = 8, TIMES = 40, ELEMENTS = 1056 * 256 * 7;

typedef std::map<std::string, int> Orders;

// The streams' numbers, in the order of these times.
std::string order_of(std::vector<std::pair<Ns, int>> times)
{
    std::string order;
    std::sort(times.begin(), times.end());
    for (auto time : times) order += char('0' + time.second);
    return order;
}

void print(const char* what, const Orders& orders)
{
    std::vector<std::pair<int, std::string>> often;
    for (auto order : orders) often.push_back({-order.second, order.first});
    std::sort(often.begin(), often.end());
    printf(" %s", what);
    for (size_t i = 0; i < often.size() && i < 4; ++i) printf(" %s (%d)", often[i].second.c_str(), -often[i].first);
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\nof %d times\n", device.name, TIMES);
    unsigned *data, *pinned;
    int* gate;
    Ns* at;
    cudaStream_t streams[STREAMS], river, keeper;
    cudaEvent_t opened, event;
    OK(cudaMalloc(&data, 256 << 20));
    OK(cudaMemset(data, 1, 256 << 20));
    OK(cudaMallocHost(&pinned, 4 << 20));
    OK(cudaMallocHost(&gate, sizeof(int)));
    OK(cudaMallocHost(&at, (2 * STREAMS + 2) * sizeof(Ns)));
    for (auto stream : {&keeper, &river}) OK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (auto& stream : streams) OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto it : {&opened, &event}) OK(cudaEventCreateWithFlags(it, cudaEventDisableTiming));

    for (bool kernel : {false, true})
        for (bool is_full : {false, true})
            for (int n : {2, 3, 4, 8})
                for (bool last_first : {false, true}) {
                    Orders starts, ends;
                    for (int i = 0; i < TIMES; ++i) {
                        OK(cudaDeviceSynchronize());
                        *(volatile int*)gate = 0;
                        for (int k = 0; k < STREAMS; ++k) at[2 * k] = ~0ull, at[2 * k + 1] = 0;
                        closed<<<1, 1, 0, keeper>>>(gate);
                        OK(cudaEventRecord(opened, keeper));
                        OK(cudaStreamWaitEvent(river, opened, 0));
                        if (kernel) narrow<<<1, 32, 0, river>>>(at + 2 * STREAMS, 20000);
                        else OK(cudaMemcpyAsync(data, pinned, 4 << 20, cudaMemcpyHostToDevice, river));
                        OK(cudaEventRecord(event, river));
                        for (int j = 0; j < n; ++j) {
                            const int k = last_first ? n - 1 - j : j;
                            OK(cudaStreamWaitEvent(streams[k], event, 0));
                            if (is_full)
                                full<<<1056, 256, 0, streams[k]>>>(data + (k << 21), ELEMENTS, 1500, at + 2 * k);
                            else narrow<<<1, 32, 0, streams[k]>>>(at + 2 * k, 5000);
                        }
                        for (volatile int wait = 0; wait < 200000; ++wait) {
                        }
                        *(volatile int*)gate = 1;
                        OK(cudaDeviceSynchronize());
                        std::vector<std::pair<Ns, int>> start, end;
                        for (int k = 0; k < n; ++k) start.push_back({at[2 * k], k}), end.push_back({at[2 * k + 1], k});
                        ++starts[order_of(start)], ++ends[order_of(end)];
                    }
                    printf("after %s, %d %s, issued %s:", kernel ? "a kernel" : "an upload", n,
                           is_full ? "full grids" : "single blocks", last_first ? "last first" : "first first");
                    print("start", starts);
                    if (is_full) print("end", ends);
                    printf("\n");
                }
    return 0;
}
