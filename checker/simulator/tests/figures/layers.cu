// What kernels of a network take where what they read is in no cache, more than on the same data over and over. Sizes
// are those of layers in the exercises. `layers.txt` is what it printed on an H200 (driver 580.159.04, 2026-12-01):
//
//   nvcc -O3 -std=c++17 -arch=sm_90 -I ../../../../exercises/lab/kernels/cuda layers.cu -o layers && ./layers

#include "network.cu"

#include <algorithm>
#include <functional>
#include <vector>
#include "probe.cuh"

const size_t POOL = size_t(6) << 30;
const int FEW = 40, MANY = 160;
int* gate;
char* pool;
cudaStream_t stream;
cudaEvent_t from, to;

// Time of one launch more. All of them are issued before the first one starts.
template <class F>
double each(F issue)
{
    double us[2];
    for (int longer = 0; longer < 2; ++longer) {
        std::vector<float> times;
        for (int i = 0; i < 7; ++i) {
            OK(cudaDeviceSynchronize());
            *(volatile int*)gate = 0;
            closed<<<1, 1, 0, stream>>>(gate);
            OK(cudaEventRecord(from, stream));
            for (int j = 0; j < (longer ? MANY : FEW); ++j) issue(j);
            OK(cudaEventRecord(to, stream));
            *(volatile int*)gate = 1;
            OK(cudaDeviceSynchronize());
            float ms;
            OK(cudaEventElapsedTime(&ms, from, to));
            times.push_back(ms);
        }
        std::sort(times.begin(), times.end());
        us[longer] = times[3] * 1e3;
    }
    return (us[1] - us[0]) / (MANY - FEW);
}

// An operand: how many words, and whether the kernel reads it and it is large.
struct Operand {
    size_t words;
    bool is_read;
};

struct Case {
    const char* name;
    std::vector<Operand> operands;
    std::function<void(int**)> launch;
};

void measure(unsigned rows, const Case& it)
{
    size_t all = 0, read = 0;
    for (auto operand : it.operands) {
        all += (4 * operand.words + 255) / 256 * 256;
        if (operand.is_read) read += 4 * operand.words;
    }
    const size_t places = std::min<size_t>(POOL / all, 400);
    // Which operands are elsewhere each time.
    auto run = [&](bool reads, bool writes) {
        return each([&](int j) {
            int* operands[4];
            size_t at = 0, i = 0;
            for (auto operand : it.operands) {
                const size_t place = (operand.is_read ? reads : writes) ? j % places * all : 0;
                operands[i++] = (int*)(pool + at + place);
                at += (4 * operand.words + 255) / 256 * 256;
            }
            it.launch(operands);
        });
    };
    const double same = run(false, false);
    printf("%u rows, %s: %.2f; ", rows, it.name, same);
    printf("%.1f MiB that it reads in no cache: %+.2f; ", read / 1048576.0, run(true, false) - same);
    printf("what it writes elsewhere: %+.2f; both: %+.2f\n", run(false, true) - same, run(true, true) - same);
    fflush(stdout);
}

unsigned tiles(unsigned rows, unsigned columns) { return (rows + 63) / 64 * (columns / 32); }

int main()
{
    cudaDeviceProp device;
    OK(cudaGetDeviceProperties(&device, 0));
    printf("%s\nus each\n", device.name);
    OK(cudaMalloc(&pool, POOL));
    OK(cudaMemset(pool, 1, POOL));
    OK(cudaMallocHost(&gate, sizeof(int)));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (auto event : {&from, &to}) OK(cudaEventCreate(event));
    auto words = [](int* p) { return (unsigned*)p; };
    for (unsigned rows : {24576u, 32768u, 65536u}) {
        const size_t r = rows, pixels = 16 * r;
        const unsigned n = 16 * rows;
        const Case cases[] = {
            {"dense_input_gradient, 128 inputs, 32 outputs",
             {{32 * r, true}, {4096, false}, {128 * r, true}, {128 * r, false}},
             [=](int** p) {
                 dense_input_gradient<<<tiles(rows, 128), 128, 0, stream>>>(p[0], p[1], p[2], p[3], rows, 128, 32);
             }},
            {"dense_weight_gradient, 128 inputs, 32 outputs",
             {{128 * r, true}, {32 * r, true}, {4096 * 128, false}},
             [=](int** p) { dense_weight_gradient<<<256, 128, 0, stream>>>(p[0], p[1], p[2], rows, 128, 32); }},
            {"dense_relu, 32 inputs, 128 outputs",
             {{32 * r, true}, {4096, false}, {128 * r, false}},
             [=](int** p) { dense_relu<<<tiles(rows, 128), 128, 0, stream>>>(p[0], p[1], p[2], rows, 32, 128); }},
            {"dense, 128 inputs, 32 outputs",
             {{128 * r, true}, {4096, false}, {32 * r, false}},
             [=](int** p) { dense<<<tiles(rows, 32), 128, 0, stream>>>(p[0], p[1], p[2], rows, 128, 32); }},
            {"softmax_cross_entropy",
             {{32 * r, true}, {r, false}, {32 * r, false}, {r, false}},
             [=](int** p) {
                 softmax_cross_entropy<<<rows / 4, 128, 0, stream>>>(p[0], words(p[1]), p[2], words(p[3]), rows);
             }},
            {"sgd_step, 4096 weights, 128 slices",
             {{4096, false}, {4096 * 128, true}},
             [=](int** p) { sgd_step<<<32, 128, 0, stream>>>(p[0], p[1], 4096, 128); }},
            {"sgd_step, 8192 weights, 128 slices",
             {{8192, false}, {8192 * 128, true}},
             [=](int** p) { sgd_step<<<64, 128, 0, stream>>>(p[0], p[1], 8192, 128); }},
            {"sgd_step, 65536 weights, 32 slices",
             {{65536, false}, {65536 * 32, true}},
             [=](int** p) { sgd_step<<<512, 128, 0, stream>>>(p[0], p[1], 65536, 32); }},
            {"flip",
             {{pixels, true}, {pixels, false}, {pixels, false}},
             [=](int** p) { flip<<<n / 128, 128, 0, stream>>>(words(p[0]), words(p[1]), words(p[2]), n); }},
            {"blur",
             {{pixels, true}, {pixels, false}},
             [=](int** p) { blur<<<n / 128, 128, 0, stream>>>(words(p[0]), words(p[1]), n); }},
            {"normalise",
             {{pixels, true}, {4 * pixels, false}},
             [=](int** p) { normalise<<<n / 128, 128, 0, stream>>>(words(p[0]), p[1], n); }},
        };
        for (auto& it : cases) measure(rows, it);
    }
    return 0;
}
