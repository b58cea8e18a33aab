// How close products are to the processor's limit: each is compared with a loop of multiplications in registers, in
// alternating runs within the same second, since clocks and other load change from second to second.
//   make -C native profile && build/native/profile [rows] [instruction set]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "../failure.h"
#include "../kernels.h"
#include "../pack.h"

using namespace likewise;

namespace {

// CPU time of this thread alone.
double now() {
    timespec at{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return static_cast<double>(at.tv_sec) + 1e-9 * static_cast<double>(at.tv_nsec);
}

constexpr long STEPS = 20000;
constexpr int SUMS = 12;

// Twelve sums, to hide latency; in one statement, so that none is kept in memory.
#define LOOP_OF(INSTRUCTION)                                                                                           \
    for (long i = 0; i < STEPS; i++) {                                                                                 \
        asm volatile(INSTRUCTION " %%zmm0,%%zmm0,%%zmm1\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm2\n" INSTRUCTION           \
                                 " %%zmm0,%%zmm0,%%zmm3\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm4\n" INSTRUCTION           \
                                 " %%zmm0,%%zmm0,%%zmm5\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm6\n" INSTRUCTION           \
                                 " %%zmm0,%%zmm0,%%zmm7\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm8\n" INSTRUCTION           \
                                 " %%zmm0,%%zmm0,%%zmm9\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm10\n" INSTRUCTION          \
                                 " %%zmm0,%%zmm0,%%zmm11\n" INSTRUCTION " %%zmm0,%%zmm0,%%zmm12\n" ::                  \
                                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                                       "xmm10", "xmm11", "xmm12");                                                     \
    }

double peak(bool int8) {
    asm volatile("vpxorq %%zmm0,%%zmm0,%%zmm0" ::: "xmm0");
    const double begin = now();
    if (int8) {
        LOOP_OF("vpdpbusd")
    } else {
        LOOP_OF("vfmadd231ps")
    }
    return 2.0 * (int8 ? 64 : 16) * SUMS * STEPS / (now() - begin);
}

// One layer's products for a number of rows, cycling through the weights of six layers as a model does.
class Layer {
public:
    Layer(const Scheme& scheme, bool int8, int rows) : scheme_(scheme), rows_(rows) {
        for (int layer = 0; layer < 6; layer++) {
            for (const auto& [inputs, outputs] : {std::pair{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}}) {
                const std::vector<float> w(static_cast<size_t>(inputs) * outputs, 0.01F);
                lw_linear linear{};
                linear.weight = {w.data(), nullptr, outputs, inputs, LW_FP32};
                weights_.emplace_back(std::vector<Part>{{&linear, 0, outputs}}, inputs, scheme, int8, "w", arena_);
                work_ += 2.0 * inputs * outputs * rows;
            }
        }
        const std::vector<float> x(static_cast<size_t>(rows) * 1536, 1.0F);
        x_.resize(x.size() * 4);
        scales_.assign(rows, 1.0F);
        if (scheme.prepare)
            scheme.prepare(x.data(), static_cast<int>(x.size()), 1.0F, x_.data(), scales_.data());
        else
            std::memcpy(x_.data(), x.data(), x_.size());
        y_.assign(static_cast<size_t>(rows) * 1536, 0.0F);
    }
    double rate() {
        const double begin = now();
        for (const Weights& w : weights_) {
            const Packed* next = &w == &weights_.back() ? nullptr : &(&w + 1)->packed();
            scheme_.multiply({x_.data(), w.packed().inputs, scales_.data(), rows_, &w.packed(), nullptr, y_.data(),
                              w.packed().outputs, next});
        }
        return work_ / (now() - begin);
    }

private:
    const Scheme& scheme_;
    int rows_;
    double work_ = 0;
    Arena arena_;
    std::vector<Weights> weights_;
    std::vector<uint8_t> x_;
    std::vector<float> scales_, y_;
};

void compare(const char* name, const Scheme& scheme, bool int8, int rows) {
    Layer layer(scheme, int8, rows);
    double most = 0, best = 0;
    std::vector<double> shares;
    for (int i = 0; i < 30; i++) {
        const double before = peak(int8), rate = layer.rate(), after = peak(int8);
        most = std::max({most, before, after});
        best = std::max(best, rate);
        shares.push_back(rate / std::max(before, after));
    }
    std::sort(shares.begin(), shares.end());
    std::printf("%-5s %4d rows: limit %6.1f G/s, products %6.1f G/s: %5.1f %%; at the same moment, median %5.1f %%\n",
                name, rows, most / 1e9, best / 1e9, 100 * best / most, 100 * shares[shares.size() / 2]);
}

}  // namespace

int main(int count, char** arguments) {
    const Kernels& kernels = kernels_named(count > 2 ? arguments[2] : nullptr);
    std::printf("kernels: %s of %s\n", kernels.name, kernels_here());
    for (const int rows : {1, 10, 48, 96, 240}) {
        if (count > 1 && std::atoi(arguments[1]) != rows) continue;
        compare("fp32", kernels.fp32, false, rows);
        compare("int8", kernels.int8, true, rows);
    }
}
