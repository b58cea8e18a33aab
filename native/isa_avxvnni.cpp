// Products of bytes by AVX-VNNI, which small processors without AVX-512 have.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c,avxvnni"
#include "simd/begin.h"

namespace likewise {
namespace avxvnni {
namespace {
#include "simd/avx2.h"
#include "kernels/product.h"
#include "kernels/schemes_avx2.h"
#include "kernels/rounding.h"
inline __m256i dot(__m256i sum, __m256i x, __m256i w) { return _mm256_dpbusd_avx_epi32(sum, x, w); }
#include "kernels/bytes_avx2.h"
#include "kernels/scan.h"
}  // namespace

const Scheme int8 = {PANEL, 4, 1, 1, 128, multiply<Int8>, quantise<uint8_t>};
const ScanKernel scan_int8 = scan_kernel<Int8>(widen<uint8_t>);
}  // namespace avxvnni
}  // namespace likewise

#include "simd/end.h"

#endif
