// The kernels for AVX2 with fused multiply-add: any x86 processor since 2013.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c"
#include "simd/begin.h"

namespace likewise {
namespace avx2 {
namespace {
#include "simd/avx2.h"
#include "kernels/product.h"
#include "kernels/schemes_avx2.h"
#include "kernels/rounding.h"
#include "kernels/elementwise.h"
#include "kernels/attention.h"
#include "kernels/scan.h"
#include "kernels/bits_avx2.h"
#include "kernels/scan_bits.h"
}  // namespace

const Kernels table = {
    "avx2",
    {PANEL, 1, 4, 4, 0, multiply<Fp32>, nullptr},
    {PANEL, 2, 2, 2, 0, multiply<Bf16Wide>, to_bf16},
    {PANEL, 2, 1, 2, 0, multiply<Int8Wide>, quantise<int16_t>},
    layer_norm,
    activate,
    gate,
    largest_of,
    attend,
    attend,
    {scan_kernel<Fp32>(nullptr), scan_kernel<Int8Wide>(widen<int16_t>), bits_kernel, squares, from_fp16},
};
}  // namespace avx2
}  // namespace likewise

#include "simd/end.h"

#endif
