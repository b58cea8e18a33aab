// Products of bytes by AVX512-VNNI: four bytes by four bytes a lane, added in one instruction.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma"
#include "simd/begin.h"

namespace likewise {
namespace vnni {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/rounding.h"
#include "kernels/schemes_avx512.h"

// Activations are unsigned here: 128 above their value. What that adds to a sum is a constant of the column.
struct Int8 : Whole {
    using Row = uint8_t;
    static constexpr int GROUP = 4;
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) { return {_mm512_loadu_si512(p)}; }
    static Sum step(Sum sum, Bits x, Bits w) { return {_mm512_dpbusd_epi32(sum.v, x.v, w.v)}; }
};

// The same for scans. GCC 12 keeps copies of the sums in memory, one store a step, where what is behind the loop reads
// the intrinsic's result as another type; so it is told the instruction.
struct ScanInt8 : Int8 {
#if !defined(__clang__)
    static Sum step(Sum sum, Bits x, Bits w) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(w.v));
        return sum;
    }
#endif
};

// Two numbers of 16 bits by the two at p, which every lane is multiplied by.
inline Bits dot_pairs(Bits sum, Bits x, const void* p) {
    return {_mm512_dpwssd_epi32(sum.v, x.v, spread_four_bytes(p))};
}

#include "kernels/scan.h"
#include "kernels/scan_few.h"
#include "kernels/exponential.h"
#include "kernels/placing.h"
#include "kernels/attention_pairs.h"

void attend_whole(const Attention& a) {
    if (a.tokens <= SHORT || a.width % WIDTH != 0) return avx512::table.attend(a);
    attend_pairs(a);
}
}  // namespace

extern void (*const attend)(const Attention&) = attend_whole;
const Scheme int8 = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel scan_int8 = [] {
    ScanKernel kernel = scan_kernel<ScanInt8>(widen<uint8_t>);
    kernel.scan = scan_bytes;
    return kernel;
}();
}  // namespace vnni
}  // namespace likewise

#include "simd/end.h"

#endif
