// The kernels for AVX-512, with and without its instructions for whole numbers (VNNI) and bfloat16.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,fma"
#include "simd/begin.h"

namespace likewise {
namespace avx512 {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes_avx512.h"
#include "kernels/rounding.h"
#include "kernels/elementwise.h"
#include "kernels/attention.h"
#include "kernels/scan.h"
}  // namespace

const Kernels table = {
    "avx512",
    {PANEL, 1, 4, 4, 0, multiply<Fp32>, nullptr},
    {PANEL, 2, 2, 2, 0, multiply<Bf16Wide>, to_bf16},
    {PANEL, 2, 1, 2, 0, multiply<Int8Wide>, quantise<int16_t>},
    layer_norm,
    activate,
    gate,
    largest_of,
    attend,
    attend,
    {scan_kernel<Fp32>(nullptr), scan_kernel<Int8Wide>(widen<int16_t>), {}, squares, from_fp16},
};
}  // namespace avx512
}  // namespace likewise

#include "simd/end.h"

#endif
