// Find the blocker: a dozen calls between two kernels that are in two streams.
//
//     nvcc -O2 -o implicit_sync implicit_sync.cu && ./implicit_sync
//
// It prints how long all of it takes. `spin` leaves most of the device unused, so both kernels could run at once.

#include <cstdio>
#include <cuda_runtime.h>

constexpr size_t BYTES = 64 << 10;
constexpr long long CYCLES = 6'000'000;  // about three milliseconds

__global__ void spin(long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {
    }
}

// ANCHOR: program
void program(cudaStream_t first, cudaStream_t second, cudaStream_t third, void* notes) {
    spin<<<32, 256, 0, first>>>(CYCLES);

    cudaEvent_t event;
    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventRecord(event, third);
    cudaMemsetAsync(notes, 0, BYTES, third);
    size_t free, total;
    cudaMemGetInfo(&free, &total);
    cudaStream_t fourth;
    cudaStreamCreateWithFlags(&fourth, cudaStreamNonBlocking);
    cudaStreamWaitEvent(fourth, event);
    void *device, *pinned, *ordered;
    cudaMalloc(&device, BYTES);
    cudaMallocHost(&pinned, BYTES);
    cudaMallocAsync(&ordered, BYTES, third);
    cudaFreeAsync(ordered, third);
    cudaFreeHost(pinned);
    cudaFree(device);

    spin<<<32, 256, 0, second>>>(CYCLES);
    cudaDeviceSynchronize();
    cudaEventDestroy(event);
    cudaStreamDestroy(fourth);
}
// ANCHOR_END: program

int main() {
    cudaStream_t streams[3];
    for (auto& stream : streams) {
        cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    }
    void* notes;
    cudaMalloc(&notes, BYTES);
    cudaEvent_t start, end;
    cudaEventCreate(&start);
    cudaEventCreate(&end);
    // The first time a kernel is launched, it is loaded, and that waits as well.
    program(streams[0], streams[1], streams[2], notes);
    cudaEventRecord(start, streams[0]);
    program(streams[0], streams[1], streams[2], notes);
    cudaEventRecord(end, streams[0]);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, start, end);
    std::printf("%.2f ms: %s\n", ms, cudaGetErrorString(cudaGetLastError()));
    return 0;
}
