// Int8 matmuls with AVX512-VNNI, whose instruction adds four products of bytes per lane.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes.h"
#include "kernels/rounding.h"

inline Bits dot(Bits sum, Bits x, Bits w) { return {_mm512_dpbusd_epi32(sum.v, x.v, w.v)}; }
using Int8 = Int8Dot<uint8_t, dot>;

// The same for scans, written in assembly: if code after the loop reads the intrinsic's result as another type, GCC 12
// keeps copies of the sums in memory, with one store per step.
struct ScanInt8 : Int8 {
#if !defined(__clang__)
    static Sum step(Sum sum, Bits x, Bits w) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum.v) : "v"(x.v), "v"(w.v));
        return sum;
    }
#endif
};

inline Bits dot_pairs(Bits sum, Bits x, Bits w) { return {_mm512_dpwssd_epi32(sum.v, x.v, w.v)}; }
inline void attend(const Attention& a) { avx512_kernels.attend(a); }

#include "kernels/scan.h"
#include "kernels/scan_few.h"
#include "kernels/softmax.h"
#include "kernels/attention_pairs.h"

void attend_in_pairs(const Attention& a) { in_pairs(a) ? attend_pairs<dot_pairs>(a) : attend(a); }
}  // namespace

extern void (*const vnni_attend)(const Attention&) = attend_in_pairs;
const Scheme vnni_int8 = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel vnni_scan = [] {
    ScanKernel kernel = scan_kernel<ScanInt8>(widen<uint8_t>);
    kernel.scan = scan_bytes;
    return kernel;
}();
}  // namespace likewise

#include "simd/end.h"

#endif
