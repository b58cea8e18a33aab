// The kernels for 64-bit Arm.
#include "isa.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

namespace likewise {
namespace neon {
namespace {
#include "simd/neon.h"
#include "kernels/product.h"
#include "kernels/schemes_neon.h"
#include "kernels/rounding.h"
#include "kernels/elementwise.h"
#include "kernels/attention.h"
#include "kernels/scan.h"
#include "kernels/bits_neon.h"
#include "kernels/scan_bits.h"
}  // namespace

const Kernels table = {
    "neon",
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
}  // namespace neon
}  // namespace likewise

#endif
