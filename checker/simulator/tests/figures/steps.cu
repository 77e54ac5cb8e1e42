// Six launches of a product and six of a streaming map, each of them on what the one before has made, in two streams:
// where their blocks were, and when. With one to eight blocks of the map on each multiprocessor. It stands on the first
// part of pairs.cu, whose header says how to get what that includes:
//
//   sed '/^struct K {/,$d' pairs.cu | cat - steps.cu > all.cu && nvcc -O3 -std=c++17 -arch=sm_90 all.cu -o steps &&
//   ./steps
//
// `steps.txt` is what it printed on an H200 (driver 580.159.04, 2026-11-26).

int main() {
    cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    S = p.multiProcessorCount;
    printf("%s %d\n", p.name, S);
    const int N = 6;
    u mw = 132 * 8 * 512, sw = 1 << 24;
    u *a[2], *b[2];
    for (int i = 0; i < 2; ++i) {
        OK(cudaMalloc(&a[i], mw * 4));
        OK(cudaMemset(a[i], 1, mw * 4));
        OK(cudaMalloc(&b[i], sw * 4));
        OK(cudaMemset(b[i], 1, sw * 4));
    }
    Mark* mk[2][N];
    for (auto& r : mk)
        for (auto& q : r)
            OK(cudaMalloc(&q, 8192 * sizeof(Mark)));
    for (auto& st : s)
        OK(cudaStreamCreateWithFlags(&st, cudaStreamNonBlocking));
    int mblocks = 132;
    for (int variant = 0; variant < 10; ++variant) {
        int per[] = {0, 1, 2, 3, 4, 6, 7, 8, 7, 4};
        int mapb = per[variant] * S;
        bool first = variant < 8;
        bool loops = variant == 9;
        float best = 1e9;
        std::vector<std::string> lines;
        for (int rep = 0; rep < 8; ++rep) {
            OK(cudaDeviceSynchronize());
            cudaEvent_t e0, e1, e2;
            cudaEventCreate(&e0);
            cudaEventCreate(&e1);
            cudaEventCreate(&e2);
            auto T = [&](int k) { k_tensor<<<mblocks, 256, 0, s[0]>>>(a[k % 2], a[(k + 1) % 2], mw, 5600, mk[0][k]); };
            auto M = [&](int k) {
                if (mapb)
                    k_stream<<<mapb, 256, 0, s[1]>>>(b[k % 2], b[(k + 1) % 2], sw, 4, mk[1][k]);
            };
            cudaEventRecord(e0, s[0]);
            cudaStreamWaitEvent(s[1], e0, 0);
            if (loops) {
                for (int k = 0; k < N; ++k)
                    T(k);
                for (int k = 0; k < N; ++k)
                    M(k);
            } else
                for (int k = 0; k < N; ++k) {
                    if (first) {
                        T(k);
                        M(k);
                    } else {
                        M(k);
                        T(k);
                    }
                }
            cudaEventRecord(e1, s[1]);
            cudaStreamWaitEvent(s[0], e1, 0);
            cudaEventRecord(e2, s[0]);
            OK(cudaDeviceSynchronize());
            float ms;
            cudaEventElapsedTime(&ms, e0, e2);
            if (rep < 2 || ms >= best)
                continue;
            best = ms;
            lines.clear();
            unsigned long long t0 = ~0ull;
            std::vector<Mark> h(8192);
            for (int pass = 0; pass < 2; ++pass)
                for (int w = 0; w < 2; ++w)
                    for (int k = 0; k < N; ++k) {
                        int nb = w ? mapb : mblocks;
                        if (!nb)
                            continue;
                        cudaMemcpy(h.data(), mk[w][k], nb * sizeof(Mark), cudaMemcpyDeviceToHost);
                        std::map<unsigned, int> on;
                        unsigned long long f = ~0ull, l = 0, lf = 0;
                        for (int i = 0; i < nb; ++i) {
                            on[h[i].sm]++;
                            f = std::min(f, h[i].from);
                            lf = std::max(lf, h[i].from);
                            l = std::max(l, h[i].to);
                        }
                        if (!pass) {
                            t0 = std::min(t0, f);
                            continue;
                        }
                        int mx = 0;
                        for (auto& o : on)
                            mx = std::max(mx, o.second);
                        char c[200];
                        snprintf(c, 200, "  %s %d: %6.1f (last block %6.1f) to %6.1f us, on %zu SMs, most %d",
                                 w ? "map   " : "matmul", k, (f - t0) / 1e3, (lf - t0) / 1e3, (l - t0) / 1e3, on.size(),
                                 mx);
                        lines.push_back(c);
                    }
        }
        printf("map %d a SM, %s: %.3f ms\n", per[variant],
               loops   ? "loops"
               : first ? "matmul first"
                       : "map first",
               best);
        for (auto& l : lines)
            puts(l.c_str());
    }
}
