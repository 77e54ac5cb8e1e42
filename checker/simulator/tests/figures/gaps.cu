// What the next kernel of a stream takes more where other streams have something too. Times in us. `gaps.txt` is what
// it printed on an H200 (driver 580.159.04, 2026-12-01):
//
//   nvcc -O3 -std=c++17 -arch=sm_90 gaps.cu -o gaps && ./gaps

#include <algorithm>
#include <functional>
#include <vector>
#include "probe.cuh"

__global__ void spin(long long cycles)
{
    const long long began = clock64();
    while (clock64() - began < cycles) {
    }
}

const int STREAMS = 32, FEW = 5, MANY = 25;
const size_t BYTES = 64 << 10;
int* gate;
cudaStream_t streams[STREAMS];
cudaEvent_t opened, from, to, ended;
char *pinned, *data;

typedef std::function<void()> Issue;

void kernel(int stream, long long cycles) { spin<<<8, 128, 0, streams[stream]>>>(cycles); }

void copy(int stream, cudaMemcpyKind kind)
{
    char *host = pinned + stream * BYTES, *device = data + stream * BYTES;
    const bool is_up = kind == cudaMemcpyHostToDevice;
    OK(cudaMemcpyAsync(is_up ? device : host, is_up ? host : device, BYTES, kind, streams[stream]));
}

// One kernel more in the first stream, where the others are given something before these kernels or after them. All is
// issued before anything starts.
double each(long long cycles, Issue before, Issue after)
{
    double us[2];
    for (int longer = 0; longer < 2; ++longer) {
        std::vector<float> times;
        for (int i = 0; i < 9; ++i) {
            OK(cudaDeviceSynchronize());
            *(volatile int*)gate = 0;
            closed<<<1, 1, 0, streams[0]>>>(gate);
            OK(cudaEventRecord(opened, streams[0]));
            for (int k = 1; k < STREAMS; ++k) OK(cudaStreamWaitEvent(streams[k], opened, 0));
            before();
            OK(cudaEventRecord(from, streams[0]));
            for (int j = 0; j < (longer ? MANY : FEW); ++j) kernel(0, cycles);
            OK(cudaEventRecord(to, streams[0]));
            after();
            *(volatile int*)gate = 1;
            OK(cudaDeviceSynchronize());
            float ms;
            OK(cudaEventElapsedTime(&ms, from, to));
            times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        us[longer] = times[4] * 1e3;
    }
    return (us[1] - us[0]) / (MANY - FEW);
}

// With so many other streams, each of which is given something.
void row(const char* name, long long cycles, double alone, bool is_before, std::function<void(int)> give)
{
    printf("  %s:", name);
    for (int others : {1, 2, 3, 4, 5, 6, 7, 15, 31}) {
        const auto all = [&] {
            if (!is_before) OK(cudaEventRecord(ended, streams[0]));
            for (int k = 1; k <= others; ++k) {
                if (!is_before) OK(cudaStreamWaitEvent(streams[k], ended, 0));
                give(k);
            }
        };
        const auto nothing = [] {};
        printf(" %d %+.2f", others, (is_before ? each(cycles, all, nothing) : each(cycles, nothing, all)) - alone);
    }
    printf("\n");
    fflush(stdout);
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\n", device.name);
    OK(cudaMallocHost(&gate, sizeof(int)));
    OK(cudaMallocHost(&pinned, STREAMS * BYTES));
    OK(cudaMalloc(&data, STREAMS * BYTES));
    for (auto& stream : streams) OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto event : {&from, &to}) OK(cudaEventCreate(event));
    for (auto event : {&opened, &ended}) OK(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
    for (long long cycles : {200, 40000}) {
        const auto nothing = [] {};
        const double alone = each(cycles, nothing, nothing);
        printf("a kernel after another takes %.2f; more where others have\n", alone);
        const long long all_the_time = 4000000;
        row("a kernel that waits for these", cycles, alone, false, [](int k) { kernel(k, 100); });
        row("an upload that waits for these", cycles, alone, false, [](int k) { copy(k, cudaMemcpyHostToDevice); });
        row("a download that waits for these", cycles, alone, false, [](int k) { copy(k, cudaMemcpyDeviceToHost); });
        row("a kernel that runs", cycles, alone, true, [=](int k) { kernel(k, all_the_time); });
        row("one that runs and one that follows it", cycles, alone, true,
            [=](int k) { kernel(k, all_the_time), kernel(k, 100); });
        row("kernels like these", cycles, alone, true, [=](int k) {
            for (int j = 0; j < 2 * MANY; ++j) kernel(k, cycles);
        });
    }
    return 0;
}
