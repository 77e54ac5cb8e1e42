// What a copy takes while the other direction is at work, and what passes between a copy and a kernel of one stream.
// Times in us. `duplex.txt` is what it printed on an H200 (driver 580.159.04, 2026-12-01):
//
//   nvcc -O3 -std=c++17 -arch=sm_90 duplex.cu -o duplex && ./duplex

#include <algorithm>
#include <cstring>
#include <functional>
#include <vector>
#include "probe.cuh"

__global__ void spin(long long cycles)
{
    const long long began = clock64();
    while (clock64() - began < cycles) {
    }
}

const size_t MOST = 128 << 20;
int* gate;
cudaStream_t own, other;
cudaEvent_t from, to;
char *pinned[2], *data[2];

typedef std::function<void(int)> Issue;

void copy(bool is_up, int i, size_t bytes, cudaStream_t stream)
{
    char *host = pinned[is_up] + i * bytes % MOST, *device = data[is_up] + i * bytes % MOST;
    const auto kind = is_up ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    OK(cudaMemcpyAsync(is_up ? device : host, is_up ? host : device, bytes, kind, stream));
}

// One turn more, where the other stream has twice as many turns of something. All is issued before anything starts.
double each(int few, int many, Issue issue, Issue beside)
{
    double us[2];
    for (int longer = 0; longer < 2; ++longer) {
        const int count = longer ? many : few;
        std::vector<float> times;
        for (int i = 0; i < 9; ++i) {
            OK(cudaDeviceSynchronize());
            *(volatile int*)gate = 0;
            closed<<<1, 1, 0, own>>>(gate);
            OK(cudaEventRecord(from, own));
            OK(cudaStreamWaitEvent(other, from, 0));
            for (int j = 0; j < 2 * many; ++j) {
                if (j < count) issue(j);
                beside(j);
            }
            OK(cudaEventRecord(to, own));
            *(volatile int*)gate = 1;
            OK(cudaDeviceSynchronize());
            float ms;
            OK(cudaEventElapsedTime(&ms, from, to));
            times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        us[longer] = times[4] * 1e3;
    }
    return (us[1] - us[0]) / (many - few);
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\n", device.name);
    OK(cudaMallocHost(&gate, sizeof(int)));
    for (int i = 0; i < 2; ++i) {
        OK(cudaMallocHost(&pinned[i], MOST));
        memset(pinned[i], 1, MOST);
        OK(cudaMalloc(&data[i], MOST));
    }
    for (auto stream : {&own, &other}) OK(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (auto event : {&from, &to}) OK(cudaEventCreate(event));
    const Issue nothing = [](int) {};

    for (size_t kib : {64, 256, 1024, 2048, 4096, 8192, 16384}) {
        const size_t bytes = kib << 10;
        const int few = 10, many = kib > 4096 ? 30 : 80;
        printf("%zu KiB:", kib);
        for (bool is_up : {true, false}) {
            const Issue copies = [=](int j) { copy(is_up, j, bytes, own); };
            const Issue against = [=](int j) { copy(!is_up, j, bytes, other); };
            printf(" %s alone %.2f, beside the other direction %.2f;", is_up ? "up" : "down",
                   each(few, many, copies, nothing), each(few, many, copies, against));
        }
        printf("\n");
        fflush(stdout);
    }

    // What passes between two kernels, and between two copies of one direction: CUPTI says so.
    const double kernel_gap = 0.81, copy_gap = 0.24;
    const int few = 5, many = 40;
    for (size_t kib : {4, 64, 2048})
        for (long long cycles : {0, 40000, 160000}) {
            const Issue kernel = [=](int) { spin<<<8, 128, 0, own>>>(cycles); };
            const Issue up = [=](int j) { copy(true, j, kib << 10, own); };
            const Issue down = [=](int j) { copy(false, j, kib << 10, own); };
            const double k = each(few, many, kernel, nothing) - kernel_gap;
            const double u = each(few, many, up, nothing) - copy_gap, d = each(few, many, down, nothing) - copy_gap;
            const double all = each(few, many, [=](int j) { up(j), kernel(j), down(j); }, nothing);
            printf("up, kernel, down, %zu KiB and %.1f us: %.2f passes between two of them\n", kib, k,
                   (all - k - u - d) / 3);
            fflush(stdout);
        }
    return 0;
}
