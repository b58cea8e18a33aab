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

Kernels with_int8(Kernels base, const char* name, const Scheme& int8, const ScanKernel& scan_int8) {
    base.name = name;
    base.int8 = int8;
    base.scan.int8 = scan_int8;
    return base;
}

[[maybe_unused]] Kernels with_bf16(Kernels base, const char* name, const Scheme& bf16) {
    base.name = name;
    base.bf16 = bf16;
    return base;
}

#if defined(__x86_64__)
// A register of CPUID. Asked for here rather than by __builtin_cpu_supports, which knows fewer names in old compilers
// and answers "no" to everything where a compiler's own library lacks its table (zig's).
enum class Register { eax, ebx, ecx, edx };
bool has(unsigned leaf, unsigned part, Register which, int bit) {
    unsigned values[4] = {0, 0, 0, 0};
    if (__get_cpuid_count(leaf, part, &values[0], &values[1], &values[2], &values[3]) == 0) return false;
    return ((values[static_cast<int>(which)] >> bit) & 1U) != 0;
}

// Which registers the operating system saves when it changes processes (XCR0); without it wide ones must not be used.
bool saves(unsigned mask) {
    if (!has(1, 0, Register::ecx, 27)) return false;  // OSXSAVE
    unsigned low = 0, high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & mask) == mask;
}

// The best first.
std::vector<Kernels> usable() {
    constexpr unsigned YMM = 0x06, ZMM = 0xE6;
    const auto seven = [](Register which, int bit) { return has(7, 0, which, bit); };
    const auto seven_one = [](int bit) { return has(7, 1, Register::eax, bit); };
    const bool avx2 = saves(YMM) && seven(Register::ebx, 5) && has(1, 0, Register::ecx, 12) &&
                      has(1, 0, Register::ecx, 29);  // and FMA, F16C
    const bool avx512 = avx2 && saves(ZMM) && seven(Register::ebx, 16) && seven(Register::ebx, 30) &&
                        seven(Register::ebx, 17) && seven(Register::ebx, 31);  // F, BW, DQ, VL
    const bool vnni = avx512 && seven(Register::ecx, 11);
    Kernels wide = avx512::table;
    wide.scan.bits = seven(Register::ecx, 14) ? avx512popcnt::bits : avx2::table.scan.bits;
    Kernels full = with_int8(wide, "vnni", vnni::int8, vnni::scan_int8);
    full.attend_rounded = vnni::attend;
    std::vector<Kernels> found;
#if defined(LIKEWISE_EMULATE_BF16)
    const bool bf16 = true;
#else
    const bool bf16 = seven_one(5);
#endif
    if (vnni && bf16) found.push_back(with_bf16(full, "avx512bf16", avx512bf16::bf16));
    if (vnni) found.push_back(full);
    if (avx512) found.push_back(wide);
    if (avx2 && seven_one(4)) found.push_back(with_int8(avx2::table, "avxvnni", avxvnni::int8, avxvnni::scan_int8));
    if (avx2) found.push_back(avx2::table);
    if (vnni) found.push_back(with_int8(avx2::table, "vnni256", vnni::int8_half, vnni::scan_int8_half));
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
    if (has_dot_product()) found.push_back(with_int8(neon::table, "dotprod", dotprod::int8, dotprod::scan_int8));
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
