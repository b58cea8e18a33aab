// Products of bytes by Arm's dot product: four bytes by four bytes a lane, added in one instruction.
#include "isa.h"

#if defined(__aarch64__)

#define TARGET "dotprod"
#define TARGET_GCC "arch=armv8.2-a+dotprod"
#include "simd/begin.h"

namespace likewise {
namespace dotprod {
namespace {
#include "simd/neon.h"
#include "kernels/product.h"
#include "kernels/schemes_neon.h"
#include "kernels/rounding.h"

struct Int8 : Whole {
    using Row = int8_t;
    static constexpr int GROUP = 4;
    static Bits spread(const Row* p) { return {vdupq_n_s32(four_bytes(p))}; }
    static Bits weights(const Weight* p) { return {vreinterpretq_s32_s8(vld1q_s8(p))}; }
    static Sum step(Sum sum, Bits x, Bits w) {
        return {vdotq_s32(sum.v, vreinterpretq_s8_s32(x.v), vreinterpretq_s8_s32(w.v))};
    }
};
#include "kernels/scan.h"
}  // namespace

const Scheme int8 = {PANEL, 4, 1, 1, 0, multiply<Int8>, quantise<int8_t>};
const ScanKernel scan_int8 = scan_kernel<Int8>(widen<int8_t>);
}  // namespace dotprod
}  // namespace likewise

#include "simd/end.h"

#endif
