// The AVX-VNNI kernel on AVX512-VNNI's 256-bit vectors, so that it can be tested on processors without AVX-VNNI.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c,avx512f,avx512vl,avx512vnni"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx2.h"
#include "kernels/product.h"
#include "kernels/schemes.h"
#include "kernels/rounding.h"
#include "kernels/scan.h"

inline Bits dot(Bits sum, Bits x, Bits w) { return {_mm256_dpbusd_epi32(sum.v, x.v, w.v)}; }
using Int8 = Int8Dot<uint8_t, dot>;
}  // namespace

const Scheme vnni256_int8 = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel vnni256_scan = scan_kernel<Int8>(widen<uint8_t>);
}  // namespace likewise

#include "simd/end.h"

#endif
