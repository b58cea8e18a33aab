// How many multiplications and additions a second this processor can do in registers: fp32, bf16, int8.
//   limit THREADS    prints a line for each precision: its name, thousand millions a second or `unknown`, a note
// Loops of one instruction on twelve independent sums. Threads run at the same time; the best of several moments counts.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

#if defined(__x86_64__)

constexpr long STEPS = 100000;
constexpr int SUMS = 12;

#define ONE(INSTRUCTION, R, N) INSTRUCTION " %%" R "0,%%" R "0,%%" R #N "\n"
#define LOOP(INSTRUCTION, R)                                                                                           \
    for (long i = 0; i < STEPS; i++) {                                                                                 \
        asm volatile(ONE(INSTRUCTION, R, 1) ONE(INSTRUCTION, R, 2) ONE(INSTRUCTION, R, 3) ONE(INSTRUCTION, R, 4)       \
                         ONE(INSTRUCTION, R, 5) ONE(INSTRUCTION, R, 6) ONE(INSTRUCTION, R, 7) ONE(INSTRUCTION, R, 8)   \
                             ONE(INSTRUCTION, R, 9) ONE(INSTRUCTION, R, 10) ONE(INSTRUCTION, R, 11)                    \
                                 ONE(INSTRUCTION, R, 12) ::                                                            \
                                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", \
                                       "xmm10", "xmm11", "xmm12");                                                     \
    }

void zero() { asm volatile("vxorps %%xmm0,%%xmm0,%%xmm0" ::: "xmm0"); }
void fp32_512() { zero(); LOOP("vfmadd231ps", "zmm") }
void fp32_256() { zero(); LOOP("vfmadd231ps", "ymm") }
void bf16_512() { zero(); LOOP("vdpbf16ps", "zmm") }
void int8_512() { zero(); LOOP("vpdpbusd", "zmm") }
void int8_256() { zero(); LOOP("%{vex%} vpdpbusd", "ymm") }

bool has(int leaf, int part, int reg, int bit) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    asm volatile("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(leaf), "c"(part));
    const unsigned values[] = {a, b, c, d};
    return values[reg] >> bit & 1;
}

// Twelve instructions, STEPS times, each of `products` multiplications; without a loop the limit is not known.
using Loop = void (*)();
struct Kind {
    const char* name;
    Loop loop;
    double products;
    const char* note;
};

std::vector<Kind> kinds() {
    const bool avx512 = __builtin_cpu_supports("avx512f"), fma = __builtin_cpu_supports("fma");
    const bool bf16 = avx512 && has(7, 1, 0, 5), vnni = avx512 && has(7, 0, 2, 11), vnni256 = has(7, 1, 0, 4);
    const bool amx_bf16 = has(7, 0, 3, 22), amx_int8 = has(7, 0, 3, 25);
    const char* amx = "no limit known: the processor has AMX, which this probe does not use";
    const Kind fp32 = avx512 ? Kind{"fp32", fp32_512, 16, ""}
                      : fma  ? Kind{"fp32", fp32_256, 8, ""}
                             : Kind{"fp32", nullptr, 0, "no limit known: the processor has no FMA instructions"};
    const Kind half = {"bf16", fp32.loop, fp32.products,
                       "the processor has no instructions for it, so its limit is that of fp32"};
    const Kind none = {"int8", nullptr, 0, "no limit known: the processor has no instructions for sums of four products"};
    return {fp32,
            amx_bf16 ? Kind{"bf16", nullptr, 0, amx} : bf16 ? Kind{"bf16", bf16_512, 32, ""} : half,
            amx_int8  ? Kind{"int8", nullptr, 0, amx}
            : vnni    ? Kind{"int8", int8_512, 64, ""}
            : vnni256 ? Kind{"int8", int8_256, 32, ""}
                      : none};
}

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Multiplications and additions a second of all threads together, in the best of some moments.
double rate(const Kind& kind, int threads) {
    double best = 0;
    for (int moment = 0; moment < 40; moment++) {
        std::atomic<int> waiting{threads};
        std::vector<double> begin(threads), end(threads);
        std::vector<std::thread> pool;
        for (int i = 0; i < threads; i++)
            pool.emplace_back([&, i] {
                for (waiting--; waiting > 0;) std::this_thread::yield();
                begin[i] = seconds();
                for (int k = 0; k < 4; k++) kind.loop();
                end[i] = seconds();
            });
        for (std::thread& thread : pool) thread.join();
        const double took = *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
        best = std::max(best, 4. * threads * 2 * kind.products * SUMS * STEPS / took);
    }
    return best;
}

#endif

}  // namespace

int main(int count, char** arguments) {
    const int threads = count > 1 ? std::atoi(arguments[1]) : 1;
#if defined(__x86_64__)
    for (const Kind& kind : kinds()) {
        if (kind.loop)
            std::printf("%s %.3f %s\n", kind.name, rate(kind, threads) / 1e9, kind.note);
        else
            std::printf("%s unknown %s\n", kind.name, kind.note);
    }
#else
    (void)threads;
    for (const char* name : {"fp32", "bf16", "int8"}) std::printf("%s unknown no limit known: the probe knows x86 only\n", name);
#endif
}
