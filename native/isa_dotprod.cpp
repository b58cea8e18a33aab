// Int8 matmuls with Arm's dot product instruction, which adds four products of bytes per lane.
#include "isa.h"

#if defined(__aarch64__)

#define TARGET "dotprod"
#define TARGET_GCC "arch=armv8.2-a+dotprod"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/neon.h"
#include "kernels/product.h"
#include "kernels/schemes.h"
#include "kernels/rounding.h"
#include "kernels/scan.h"

inline Bits dot(Bits sum, Bits x, Bits w) {
    return {vdotq_s32(sum.v, vreinterpretq_s8_s32(x.v), vreinterpretq_s8_s32(w.v))};
}
using Int8 = Int8Dot<int8_t, dot>;
}  // namespace

const Scheme dotprod_int8 = {PANEL, 4, 1, 1, 0, multiply<Int8>, quantise<int8_t>};
const ScanKernel dotprod_scan = scan_kernel<Int8>(widen<int8_t>);
}  // namespace likewise

#include "simd/end.h"

#endif
