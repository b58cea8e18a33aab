// The instruction sets of this processor, and their kernels by name.
#include <cstring>
#include <string>
#include <vector>

#include "failure.h"
#include "isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

namespace likewise {
namespace {

[[maybe_unused]] Kernels with_int8(Kernels base, const char* name, const Scheme& int8, const ScanKernel& scan_int8) {
    base.name = name;
    base.int8 = int8;
    base.scan.int8 = scan_int8;
    return base;
}

#if defined(__x86_64__)
// A bit of CPUID. We avoid __builtin_cpu_supports, because old compilers know fewer names, and it answers "no" to every
// question if the compiler's runtime library lacks its table (as zig's does).
constexpr int EAX = 0, EBX = 1, ECX = 2;
bool has(unsigned leaf, unsigned part, int which, int bit) {
    unsigned values[4] = {0, 0, 0, 0};
    if (__get_cpuid_count(leaf, part, &values[0], &values[1], &values[2], &values[3]) == 0) return false;
    return ((values[which] >> bit) & 1U) != 0;
}

// The registers that the operating system saves on a context switch (XCR0); other wide registers must not be used.
bool saves(unsigned mask) {
    if (!has(1, 0, ECX, 27)) return false;  // OSXSAVE
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & mask) == mask;
}

std::vector<Kernels> usable() {
    constexpr unsigned YMM = 0x06, ZMM = 0xE6;
    const bool avx2 = saves(YMM) && has(7, 0, EBX, 5) && has(1, 0, ECX, 12) && has(1, 0, ECX, 29);  // and FMA, F16C
    const bool avx512 = avx2 && saves(ZMM) && has(7, 0, EBX, 16) && has(7, 0, EBX, 30) && has(7, 0, EBX, 17) &&
                        has(7, 0, EBX, 31);  // F, BW, DQ, VL
    const bool vnni = avx512 && has(7, 0, ECX, 11);
    Kernels wide = avx512_kernels;
    wide.scan.bits = has(7, 0, ECX, 14) ? popcnt_scan : avx2_kernels.scan.bits;
    Kernels full = with_int8(wide, "vnni", vnni_int8, vnni_scan);
    full.attend_rounded = vnni_attend;
    Kernels best = full;
    best.name = "avx512bf16";
    best.bf16 = avx512bf16_products;
#if defined(LIKEWISE_EMULATE_BF16)
    const bool bf16 = true;
#else
    const bool bf16 = has(7, 1, EAX, 5);
#endif
    std::vector<Kernels> found;
    if (vnni && bf16) found.push_back(best);
    if (vnni) found.push_back(full);
    if (avx512) found.push_back(wide);
    if (avx2 && has(7, 1, EAX, 4)) found.push_back(with_int8(avx2_kernels, "avxvnni", avxvnni_int8, avxvnni_scan));
    if (avx2) found.push_back(avx2_kernels);
    if (vnni) found.push_back(with_int8(avx2_kernels, "vnni256", vnni256_int8, vnni256_scan));
    found.push_back(portable_kernels);
    return found;
}
#elif defined(__aarch64__)
bool has_dot_product() {
#if defined(__linux__)
    constexpr unsigned long DOT_PRODUCT = 1UL << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & DOT_PRODUCT) != 0;
#elif defined(__APPLE__)
    return true;  // all Apple processors support it
#else
    return false;
#endif
}

std::vector<Kernels> usable() {
    std::vector<Kernels> found;
    if (has_dot_product()) found.push_back(with_int8(neon_kernels, "dotprod", dotprod_int8, dotprod_scan));
    found.push_back(neon_kernels);
    found.push_back(portable_kernels);
    return found;
}
#elif defined(__wasm_simd128__)
std::vector<Kernels> usable() { return {wasm_kernels, portable_kernels}; }
#else
std::vector<Kernels> usable() { return {portable_kernels}; }
#endif

const std::vector<Kernels>& all() {
    // never destroyed: threads may still use it while the process exits
    static const std::vector<Kernels>& found = *new std::vector<Kernels>(usable());
    return found;
}

}  // namespace

const char* kernels_here() {
    static const std::string& names = *new std::string([] {
        std::string joined;
        for (const Kernels& kernels : all()) joined += (joined.empty() ? "" : " ") + std::string(kernels.name);
        return joined;
    }());
    return names.c_str();
}

const Kernels& kernels_named(const char* name) {
    if (name == nullptr || *name == '\0') return all().front();
    for (const Kernels& kernels : all()) {
        if (std::strcmp(kernels.name, name) == 0) return kernels;
    }
    fail(LW_BAD_DESCRIPTION, "there are no kernels named '", name, "' for this processor; there are ", kernels_here());
}

}  // namespace likewise
