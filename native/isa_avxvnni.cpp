// Int8 matmuls with AVX-VNNI, for small processors without AVX-512.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c,avxvnni"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx2.h"
#include "kernels/product.h"
#include "kernels/schemes.h"
#include "kernels/rounding.h"
#include "kernels/scan.h"

inline Bits dot(Bits sum, Bits x, Bits w) { return {_mm256_dpbusd_avx_epi32(sum.v, x.v, w.v)}; }
using Int8 = Int8Dot<uint8_t, dot>;
}  // namespace

const Scheme avxvnni_int8 = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel avxvnni_scan = scan_kernel<Int8>(widen<uint8_t>);
}  // namespace likewise

#include "simd/end.h"

#endif
