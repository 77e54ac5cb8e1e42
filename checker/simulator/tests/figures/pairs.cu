// Two kernels beside each other on one device: what each takes alone, both in one stream, both in two, and where their
// blocks ran. Prints a line for each pair; `pairs.tsv` has the medians of the lines
// "row"; those with "in" and "after" have one short kernel inside a long one that began before or after it.
//
// The kernels are those of exercises/lab/kernels/cuda, as functions that a kernel with marks calls:
//
//   K=../../../../exercises/lab/kernels/cuda
//   for f in pipes tensor; do
//     perl -0pe 's/extern "C" __global__ void __launch_bounds__\(THREADS_PER_BLOCK, BLOCKS_PER_SM\)\s+(\w+)\(/__device__ __forceinline__ void $1(/g' $K/$f.cu > $f.cuh
//   done
//   perl -0pe 's/\/\/ The constants are.*//s' $K/map.cu > map.cuh
//   nvcc -O3 -std=c++17 -arch=sm_90 pairs.cu -o pairs && ./pairs
//
#include <cstdint>
#include <algorithm>
#include <vector>
#include <map>
#include <string>
#include <functional>
#include "map.cuh"
#include "probe.cuh"
#undef THREADS_PER_BLOCK
#undef BLOCKS_PER_SM
#undef CHAINS
#undef UNROLL
#undef ENTRY
namespace m1 {
#include "pipes.cuh"
}
#undef THREADS_PER_BLOCK
#undef BLOCKS_PER_SM
#undef CHAINS
#undef UNROLL
namespace m2 {
#include "tensor.cuh"
}
struct Mark {
    unsigned sm;
    unsigned long long from, to;
};
__device__ unsigned long long now() {
    unsigned long long t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}
__device__ unsigned where() {
    unsigned s;
    asm volatile("mov.u32 %0, %smid;" : "=r"(s));
    return s;
}
#define BEGIN unsigned long long t0 = now();
#define END          \
    __syncthreads(); \
    if (threadIdx.x == 0) marks[blockIdx.x] = {where(), t0, now()};
#define LB __launch_bounds__(256, 8)
typedef unsigned u;
__global__ void LB k_map(const u* in, u* out, u n, u r, Mark* marks) {
    BEGIN map<1664525u, 1013904223u>(in, out, n, r);
    END
}
__global__ void LB k_fma(const u* in, u* out, u n, u r, Mark* marks) {
    BEGIN m1::multiply_add<8, 5u>(in, out, n, r);
    END
}
__global__ void LB k_chain(const u* in, u* out, u n, u r, Mark* marks) {
    BEGIN m1::multiply_add<1, 9u>(in, out, n, r);
    END
}
__global__ void LB k_stream(const u* in, u* out, u n, u r, Mark* marks) {
    BEGIN m1::stream_map(in, out, n, r);
    END
}
__global__ void LB k_tensor(const u* in, u* out, u n, u r, Mark* marks) {
    BEGIN m2::tensor_product(in, out, n, r);
    END
}
int S;
u *in[2], *out[2];
Mark* m[2];
cudaStream_t s[2];
enum Kind { FMA, TENSOR, STREAM, CHAIN, MAP };
const char* NAMES[] = {"fma", "tensor", "stream", "chain", "map"};
struct K {
    Kind kind;
    int blocks, threads;
    u n, rounds;
};
void (*const KERNELS[])(const u*, u*, u, u, Mark*) = {k_fma, k_tensor, k_stream, k_chain, k_map};
void launch(const K& k, cudaStream_t st, int i) {
    KERNELS[k.kind]<<<k.blocks, k.threads, 0, st>>>(in[i], out[i], k.n, k.rounds, m[i]);
}
int each(Kind k) { return k == FMA ? 8 : k == TENSOR ? 16 : k == CHAIN ? 1 : 4; }
K make(Kind kind, int blocks, int threads, double rounds, u n = 0) {
    return {kind, blocks, threads, n ? n : (u)blocks * threads * each(kind), (u)rounds};
}
template <class F>
double timed(F f, int reps = 5) {
    cudaEvent_t a, b, c;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    OK(cudaEventCreateWithFlags(&c, cudaEventDisableTiming));
    std::vector<float> v;
    for (int i = 0; i < reps; i++) {
        OK(cudaDeviceSynchronize());
        OK(cudaEventRecord(a, s[0]));
        OK(cudaStreamWaitEvent(s[1], a));
        f();
        OK(cudaEventRecord(c, s[1]));
        OK(cudaStreamWaitEvent(s[0], c));
        OK(cudaEventRecord(b, s[0]));
        OK(cudaDeviceSynchronize());
        float t;
        OK(cudaEventElapsedTime(&t, a, b));
        v.push_back(t);
    }
    std::sort(v.begin(), v.end());
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
    OK(cudaEventDestroy(c));
    return v[reps / 2];
}
std::vector<Mark> get(int i, int blocks) {
    std::vector<Mark> x(blocks);
    OK(cudaMemcpy(x.data(), m[i], blocks * sizeof(Mark), cudaMemcpyDeviceToHost));
    return x;
}
struct Seen {
    double from, first_end, to;
    int sms, most;
};
Seen seen(const std::vector<Mark>& x, unsigned long long zero) {
    unsigned long long f = ~0ull, e = ~0ull, t = 0;
    std::map<u, int> c;
    for (auto& k : x) {
        f = std::min(f, k.from);
        e = std::min(e, k.to);
        t = std::max(t, k.to);
        c[k.sm]++;
    }
    int most = 0;
    for (auto& p : c) most = std::max(most, p.second);
    return {(double)(long long)(f - zero) / 1e6, (double)(long long)(e - zero) / 1e6,
            (double)(long long)(t - zero) / 1e6, (int)c.size(), most};
}
void two(const char* label, const K& a, const K& b, bool serial) {
    double ta = timed([&] { launch(a, s[0], 0); }), tb = timed([&] { launch(b, s[0], 1); });
    double one = serial ? timed([&] {
        launch(a, s[0], 0);
        launch(b, s[0], 1);
    })
                        : 0,
           both = timed([&] {
               launch(a, s[0], 0);
               launch(b, s[1], 1);
           });
    OK(cudaDeviceSynchronize());
    launch(a, s[0], 0);
    launch(b, s[1], 1);
    OK(cudaDeviceSynchronize());
    auto x = get(0, a.blocks), y = get(1, b.blocks);
    unsigned long long zero = ~0ull;
    for (auto& k : x) zero = std::min(zero, k.from);
    for (auto& k : y) zero = std::min(zero, k.from);
    Seen p = seen(x, zero), q = seen(y, zero);
    printf(
        "%s %-6s %4d x %-3d %-6s %4d x %-3d alone %.4f %.4f one %.4f two %.4f | a %.4f %.4f %.4f on %d most %d | b "
        "%.4f %.4f %.4f on %d most %d\n",
        label, NAMES[a.kind], a.blocks, a.threads, NAMES[b.kind], b.blocks, b.threads, ta, tb, one, both, p.from,
        p.first_end, p.to, p.sms, p.most, q.from, q.first_end, q.to, q.sms, q.most);
    fflush(stdout);
}
int main() {
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    S = p.multiProcessorCount;
    printf("%s, %d SMs\n", p.name, S);
    for (int i = 0; i < 2; i++) {
        OK(cudaMalloc(&in[i], (size_t)8 << 30));
        OK(cudaMalloc(&out[i], (size_t)8 << 30));
        OK(cudaMemset(in[i], 1, (size_t)8 << 30));
        OK(cudaMalloc(&m[i], 1 << 22));
        OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    }
    cudaFuncAttributes f;
    OK(cudaFuncGetAttributes(&f, k_tensor));
    printf("tensor regs %d", f.numRegs);
    OK(cudaFuncGetAttributes(&f, k_fma));
    printf(" fma regs %d", f.numRegs);
    OK(cudaFuncGetAttributes(&f, k_stream));
    printf(" stream regs %d", f.numRegs);
    OK(cudaFuncGetAttributes(&f, k_chain));
    printf(" chain regs %d\n", f.numRegs);
    for (int i = 0; i < 40; i++) launch(make(FMA, S * 8, 256, 100000), s[0], 0);
    OK(cudaDeviceSynchronize());
    // Alone: blocks on each SM and threads of each.
    for (Kind k : {FMA, TENSOR, CHAIN, MAP})
        for (int t : {32, 64, 128, 256})
            for (int b : {1, 2, 3, 4, 5, 6, 8}) {
                double r = k == CHAIN ? 200000 : 20000;
                K x = make(k, S * b, t, r);
                double d = timed([&] { launch(x, s[0], 0); });
                K y = x;
                y.rounds *= 2;
                double e = timed([&] { launch(y, s[0], 0); });
                printf(
                    "alone %s %d blocks/SM x %d threads, rounds %g more: %.4f ms, once %.4f; per thread and round %.4f "
                    "ns\n",
                    NAMES[k], b, t, r, e - d, d, (e - d) * 1e6 / r);
            }
    for (int t : {64, 128, 256})
        for (int b : {1, 2, 3, 4, 6, 8, 32}) {
            K x = make(STREAM, S * b, t, 1, 1u << 29);
            printf("alone stream %d blocks/SM x %d threads: %.4f ms of 4 GiB\n", b, t,
                   timed([&] { launch(x, s[0], 0); }));
        }
    for (int b : {1, 2, 4, 8, 16, 33, 66, 100, 131}) {
        K x = make(STREAM, b, 256, 1, 1u << 26);
        printf("alone stream %d blocks x 256: %.4f ms of 512 MiB\n", b, timed([&] { launch(x, s[0], 0); }));
    }
    fflush(stdout);
    // The table.
    const u big = 1u << 29;
    auto F = [&](int b, int t, double r = 200000) { return make(FMA, b, t, r); };
    auto T = [&](int b, int t, double r = 60000) { return make(TENSOR, b, t, r); };
    auto M = [&](int b, int t) { return make(STREAM, b, t, 1, big); };
    auto C = [&](int b, int t) { return make(CHAIN, b, t, 500000); };
    two("row", T(S, 256), M(S, 256), true);
    two("row", M(2 * S, 256), T(S, 256), true);
    two("row", M(S, 256), M(S, 256), true);
    two("row", F(S, 256), T(S, 256), true);
    two("row", T(S, 256), F(S, 256), true);
    two("row", F(S, 256), M(S, 256), true);
    two("row", M(S, 256), F(S, 256), true);
    two("row", F(S, 128), M(S, 256), true);
    two("row", F(S, 128), T(S, 256), true);
    two("row", F(S / 2, 256), T(S / 2, 256), true);
    two("row", C(S, 128), T(S, 256), true);
    two("row", C(S, 32), C(S, 32), true);
    for (int i = 0; i < 3; i++) {
        two("row", T(32 * S, 256, 6000), M(2 * S, 256), true);
        two("row", M(2 * S, 256), T(32 * S, 256, 6000), true);
        two("row", M(32 * S, 256), T(S, 256), true);
        two("row", M(8 * S, 256), T(S, 256), true);
        two("row", M(6 * S, 256), T(S, 256), true);
        two("row", M(7 * S, 256), T(S, 256), true);
        two("row", T(S, 256), M(32 * S, 256), true);
        two("row", F(32 * S, 256, 20000), T(S, 256), true);
        two("row", F(8 * S, 256, 40000), T(S, 256), true);
        two("row", F(8 * S, 256, 40000), T(16, 256), true);
        two("row", F(32 * S, 256, 20000), T(16, 256), true);
        two("row", F(8 * S, 256, 40000), T(16, 256), true);
        two("row", make(MAP, 8 * S, 256, 20000), make(MAP, S, 256, 20000), true);
        two("row", make(MAP, 8 * S, 256, 20000), make(MAP, 32, 256, 20000), true);
        two("row", make(MAP, 7 * S, 256, 20000), make(MAP, 32, 256, 20000), true);
        two("row", make(MAP, S, 256, 100000), make(MAP, S, 256, 100000), true);
        two("row", make(MAP, 100, 256, 100000), make(MAP, 100, 256, 100000), true);
    }
    // Steady: b within a.
    std::vector<std::pair<K, K>> ks;
    auto add = [&](Kind k, int b, int t, double r, u n = 0, u n1 = 0) {
        K x = make(k, S * b, t, r, n);
        K y = make(k, S * b, t, r * 8, n1);
        ks.push_back({y, x});
    };
    add(FMA, 1, 32, 100000);
    add(FMA, 1, 64, 100000);
    add(FMA, 1, 128, 100000);
    add(FMA, 1, 256, 60000);
    add(FMA, 2, 256, 30000);
    add(TENSOR, 1, 32, 30000);
    add(TENSOR, 1, 64, 30000);
    add(TENSOR, 1, 128, 30000);
    add(TENSOR, 1, 256, 25000);
    add(TENSOR, 2, 256, 15000);
    add(STREAM, 1, 256, 1, 1u << 28, 1u << 31);
    add(STREAM, 2, 256, 1, 1u << 28, 1u << 31);
    add(STREAM, 4, 256, 1, 1u << 28, 1u << 31);
    add(CHAIN, 1, 32, 300000);
    add(CHAIN, 1, 128, 300000);
    add(CHAIN, 1, 256, 200000);
    add(CHAIN, 4, 256, 100000);
    add(MAP, 1, 32, 100000);
    add(MAP, 1, 128, 60000);
    add(MAP, 1, 256, 30000);
    add(MAP, 4, 256, 10000);
    for (auto& a : ks)
        for (auto& b : ks) {
            two("in", a.first, b.second, false);
        }
    for (auto& a : ks)
        for (auto& b : ks)
            if (a.first.kind != b.first.kind) two("after", b.second, a.first, false);
    return 0;
}
