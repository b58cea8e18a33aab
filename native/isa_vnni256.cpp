// The kernel of AVX-VNNI by AVX512-VNNI's short vectors, so that it can be tested where only AVX-512 is.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c,avx512f,avx512vl,avx512vnni"
#include "simd/begin.h"

namespace likewise {
namespace vnni {
namespace {
#include "simd/avx2.h"
#include "kernels/product.h"
#include "kernels/schemes_avx2.h"
#include "kernels/rounding.h"
inline __m256i dot(__m256i sum, __m256i x, __m256i w) { return _mm256_dpbusd_epi32(sum, x, w); }
#include "kernels/bytes_avx2.h"
#include "kernels/scan.h"
}  // namespace

const Scheme int8_half = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel scan_int8_half = scan_kernel<Int8>(widen<uint8_t>);
}  // namespace vnni
}  // namespace likewise

#include "simd/end.h"

#endif
