// Which instruction sets this processor has, and their kernels by name.
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

Kernels with(Kernels base, const char* name, const Scheme* int8, const Scheme* bf16 = nullptr) {
    base.name = name;
    if (int8) base.int8 = *int8;
    if (bf16) base.bf16 = *bf16;
    return base;
}

#if defined(__x86_64__)
// CPUID leaf 7, subleaf 1, register EAX: GCC 12 and older compilers have no name for these bits.
bool has_leaf_7_1(unsigned bit) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && ((a >> bit) & 1U) != 0;
}

// The best first. The operating system's part (saved registers) is in what __builtin_cpu_supports answers.
std::vector<Kernels> usable() {
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    const bool vnni = avx512 && __builtin_cpu_supports("avx512vnni");
    Kernels full = with(avx512::table, "vnni", &vnni::int8);
    full.attend_rounded = vnni::attend;
    std::vector<Kernels> found;
#if defined(LIKEWISE_EMULATE_BF16)
    const bool bf16 = true;
#else
    const bool bf16 = has_leaf_7_1(5);
#endif
    if (vnni && bf16) found.push_back(with(full, "avx512bf16", nullptr, &avx512bf16::bf16));
    if (vnni) found.push_back(full);
    if (avx512) found.push_back(avx512::table);
    if (avx2 && has_leaf_7_1(4)) found.push_back(with(avx2::table, "avxvnni", &avxvnni::int8));
    if (avx2) found.push_back(avx2::table);
    if (vnni) found.push_back(with(avx2::table, "vnni256", &vnni::int8_half));
    found.push_back(portable::table);
    return found;
}
#elif defined(__aarch64__)
bool has_dot_product() {
#if defined(__linux__)
    constexpr unsigned long DOT_PRODUCT = 1UL << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & DOT_PRODUCT) != 0;
#elif defined(__APPLE__)
    return true;  // every processor of theirs has it
#else
    return false;
#endif
}

std::vector<Kernels> usable() {
    std::vector<Kernels> found;
    if (has_dot_product()) found.push_back(with(neon::table, "dotprod", &dotprod::int8));
    found.push_back(neon::table);
    found.push_back(portable::table);
    return found;
}
#else
std::vector<Kernels> usable() { return {portable::table}; }
#endif

const std::vector<Kernels>& all() {
    // never destroyed: threads may outlive what is destroyed when a process ends
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
    throw Failure(BAD_DESCRIPTION, "there are no kernels named '" + std::string(name) +
                                       "' for this processor; there are " + kernels_here());
}

}  // namespace likewise
