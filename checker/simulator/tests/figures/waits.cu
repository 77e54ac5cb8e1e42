// What a wait for an event of another stream takes a kernel or a copy, by how many streams wait for each other. Times
// in us, more than in one stream. `waits.txt` is what it printed in two visits to an H200 (driver 580.159.04,
// 2026-12-01), the first of them without downloads. `map.cuh` is made as pairs.cu says:
//
//   nvcc -O3 -std=c++17 -arch=sm_90 waits.cu -o waits && ./waits

#include <algorithm>
#include <vector>
#include "map.cuh"
#include "probe.cuh"

__global__ void __launch_bounds__(256, 8) plain(unsigned* x, unsigned n, unsigned rounds)
{
    map<22695477u, 1u>(x, x, n, rounds);
}

const int STREAMS = 12, FEW = 24, MANY = 144;
unsigned *data[STREAMS], *pinned[STREAMS];
int* gate;
cudaStream_t streams[STREAMS], keeper;
cudaEvent_t opened, from, to, events[8192];
int next_event;

// 32 blocks, about 27 us.
void kernel(int stream) { plain<<<32, 256, 0, streams[stream]>>>(data[stream], 32 * 1024, 3001); }

void upload(int stream)
{
    OK(cudaMemcpyAsync(data[stream], pinned[stream], 256 << 10, cudaMemcpyHostToDevice, streams[stream]));
}

// What comes next in `stream` waits for what `other` has now.
void after(int stream, int other)
{
    OK(cudaEventRecord(events[next_event], streams[other]));
    OK(cudaStreamWaitEvent(streams[stream], events[next_event++], 0));
}

// Time of one turn more. All of them are issued before the first one starts.
template <class F>
double turn(F issue)
{
    double us[2];
    for (int longer = 0; longer < 2; ++longer) {
        std::vector<float> times;
        for (int i = 0; i < 11; ++i) {
            next_event = 0;
            OK(cudaDeviceSynchronize());
            *(volatile int*)gate = 0;
            closed<<<1, 1, 0, keeper>>>(gate);
            OK(cudaEventRecord(opened, keeper));
            for (auto stream : streams) OK(cudaStreamWaitEvent(stream, opened, 0));
            OK(cudaEventRecord(from, streams[0]));
            for (int j = 0; j < (longer ? MANY : FEW); ++j) issue(j);
            OK(cudaEventRecord(to, streams[0]));
            *(volatile int*)gate = 1;
            OK(cudaDeviceSynchronize());
            float ms;
            OK(cudaEventElapsedTime(&ms, from, to));
            times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        us[longer] = times[5] * 1e3;
    }
    return (us[1] - us[0]) / (MANY - FEW);
}

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\n", device.name);
    for (int i = 0; i < STREAMS; ++i) {
        OK(cudaMalloc(&data[i], 1 << 20));
        OK(cudaMemset(data[i], 1, 1 << 20));
        OK(cudaMallocHost(&pinned[i], 1 << 20));
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
    }
    OK(cudaMallocHost(&gate, sizeof(int)));
    OK(cudaStreamCreateWithFlags(&keeper, cudaStreamNonBlocking));
    OK(cudaEventCreateWithFlags(&opened, cudaEventDisableTiming));
    for (auto event : {&from, &to}) OK(cudaEventCreate(event));
    for (auto& event : events) OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    kernel(0);
    OK(cudaDeviceSynchronize());

    const double kernel_us = turn([](int) { kernel(0); }), upload_us = turn([](int) { upload(0); });
    printf("a kernel in one stream takes %.2f, an upload of 256 KiB %.2f\n", kernel_us, upload_us);
    printf("kernels that wait for each other, each in the next of n streams; each takes more:");
    for (int n = 2; n <= 12; ++n)
        printf(" %d: %.2f", n, turn([n](int j) { kernel(j % n), after((j + 1) % n, j % n); }) - kernel_us);
    printf("\na kernel, one in each of n streams after it, and one after these; the three take more:");
    for (int n = 1; n <= 4; ++n)
        printf(" %d: %.2f", n, turn([n](int) {
                   kernel(0);
                   for (int i = 1; i < n; ++i) after(i, 0), kernel(i);
                   kernel(0);
                   for (int i = 1; i < n; ++i) after(0, i);
                   kernel(0);
               }) - 3 * kernel_us);
    printf("\nuploads that wait for each other, each in the next of n streams; each takes more:");
    for (int n = 2; n <= 8; ++n)
        printf(" %d: %.2f", n, turn([n](int j) { upload(j % n), after((j + 1) % n, j % n); }) - upload_us);
    auto download = [](int stream) {
        OK(cudaMemcpyAsync(pinned[stream], data[stream], 256 << 10, cudaMemcpyDeviceToHost, streams[stream]));
    };
    const double download_us = turn([&](int) { download(0); });
    printf("\ndownloads that wait for each other, each in the next of n streams; each takes more:");
    for (int n = 2; n <= 8; n *= 2)
        printf(" %d: %.2f", n, turn([&](int j) { download(j % n), after((j + 1) % n, j % n); }) - download_us);
    const double both = turn([](int) { upload(0), after(1, 0), kernel(1), after(0, 1); }) - kernel_us - upload_us;
    printf("\nan upload and a kernel that wait for each other, in two streams; both take more: %.2f", both);
    printf("\n");
    return 0;
}
