// When the blocks of a streaming map end, by how many of them are on each multiprocessor, what a product takes amid
// such a map, and what it takes alone in larger grids, of which 132 blocks have work. It stands on the first part of
// pairs.cu, whose header says how to get what that includes:
//
//   sed '/^struct K {/,$d' pairs.cu | cat - beside.cu > all.cu && nvcc -O3 -std=c++17 -arch=sm_90 all.cu -o beside &&
//   ./beside
//
// `beside.txt` is what it printed on an H200 (driver 580.159.04, 2026-12-01). Times in us.

#include <map>

u *small[2], *large[2];
Mark* marks[2];

const u WORDS = 132 * 8 * 512;

void product(u rounds, int blocks = S)
{
    k_tensor<<<blocks, 256, 0, s[1]>>>(small[0], small[1], WORDS, rounds, marks[1]);
}

void map_of(int each, u words, u rounds)
{
    k_stream<<<each * S, 256, 0, s[0]>>>(large[0], large[1], words, rounds, marks[0]);
}

std::vector<Mark> of(int kernel, int blocks)
{
    std::vector<Mark> all(blocks);
    OK(cudaMemcpy(all.data(), marks[kernel], blocks * sizeof(Mark), cudaMemcpyDeviceToHost));
    return all;
}

double at(std::vector<double>& sorted, double part) { return sorted[(size_t)(part * (sorted.size() - 1) + .5)]; }

// When multiprocessors are done, of the whole kernel's time, and when their blocks end, of their own.
void ends(int each, u words, u rounds)
{
    for (int i = 0; i < 3; ++i) map_of(each, words, rounds);
    OK(cudaDeviceSynchronize());
    unsigned long long from = ~0ull, to = 0;
    std::map<unsigned, std::vector<double>> on;
    for (auto& mark : of(0, each * S)) from = std::min(from, mark.from), to = std::max(to, mark.to);
    for (auto& mark : of(0, each * S)) on[mark.sm].push_back(double(mark.to - from) / (to - from));
    std::vector<double> last;
    for (auto& sm : on) {
        std::sort(sm.second.begin(), sm.second.end());
        last.push_back(sm.second.back());
    }
    std::sort(last.begin(), last.end());
    printf("2^%d words, %u rounds, %d a SM: %.1f; the first SMs are done at", 31 - __builtin_clz(words), rounds, each,
           (to - from) / 1e3);
    for (int i : {0, 5, 11, 12, 17, 23, 24, 30}) printf(" %d: %.2f", i + 1, last[i]);
    printf("; on the last 100, the blocks end at");
    for (int i = 0; i < each; ++i) {
        double sum = 0;
        int count = 0;
        for (auto& sm : on)
            if (sm.second.back() >= last[S - 100]) sum += sm.second[i] / sm.second.back(), ++count;
        printf(" %.3f", sum / count);
    }
    puts("");
}

// Blocks of a product that begins after a map, or just before it, and ends before it.
void amid(int each, u rounds, bool after)
{
    for (int i = 0; i < 3; ++i) {
        OK(cudaDeviceSynchronize());
        if (!after) product(rounds);
        if (each) map_of(each, 1 << 24, 48);
        if (after) product(rounds);
    }
    OK(cudaDeviceSynchronize());
    std::vector<double> times;
    for (auto& mark : of(1, S)) times.push_back((mark.to - mark.from) / 1e3);
    std::sort(times.begin(), times.end());
    printf("%s the map, %d a SM, %u rounds: %.1f to %.1f, median %.1f\n", after ? "after" : "before", each, rounds,
           at(times, 0), at(times, 1), at(times, .5));
}

void alone(int blocks)
{
    for (int i = 0; i < 3; ++i) product(5600, blocks);
    OK(cudaDeviceSynchronize());
    unsigned long long from = ~0ull, to = 0;
    std::map<unsigned, int> on;
    for (auto& mark : of(1, blocks)) from = std::min(from, mark.from), to = std::max(to, mark.to);
    for (auto& mark : of(1, std::min(blocks, 132))) ++on[mark.sm];
    printf("%d blocks, of which 132 have work: %.1f, those on %zu SMs\n", blocks, (to - from) / 1e3, on.size());
}

int main()
{
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    S = p.multiProcessorCount;
    printf("%s %d\n", p.name, S);
    for (int i = 0; i < 2; ++i) {
        OK(cudaMalloc(&small[i], 4ul * WORDS));
        OK(cudaMalloc(&large[i], 4ul << 29));
        OK(cudaMemset(small[i], 1, 4ul * WORDS));
        OK(cudaMemset(large[i], 1, 4ul << 29));
        OK(cudaMalloc(&marks[i], 32 * S * sizeof(Mark)));
        OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
    }
    for (int each : {1, 2, 3, 4, 6, 7, 8}) {
        ends(each, 1 << 24, 4);
        ends(each, 1 << 29, 1);
    }
    for (int each = 1; each <= 8; ++each) alone(each * S);
    alone(S + S / 2);
    alone(32 * S);
    for (bool after : {false, true})
        for (int each : {0, 1, 2, 3, 4, 6, 7})
            for (u rounds : {5600, 40000}) amid(each, rounds, after);
    return 0;
}
