// Products of bfloat16 by AVX512-BF16: pairs multiplied and added in one instruction.
//
// With LIKEWISE_EMULATE_BF16 that instruction is two of AVX-512, so that everything around it can be checked on a
// processor that lacks it (make -C native check-bf16).
#include "isa.h"

#if defined(__x86_64__)

#if defined(LIKEWISE_EMULATE_BF16)
#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,fma"
#else
#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma"
#endif
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes.h"
#include "kernels/rounding.h"

struct Bf16 : FloatSums {
    using Row = uint16_t;
    using Weight = uint16_t;
    static constexpr int GROUP = 2;
    static Bits spread(const Row* p) { return spread_bits(p); }
    static Bits weights(const Weight* p) { return load_bits(p); }
    static Sum step(Sum sum, Bits x, Bits w) {
#if defined(LIKEWISE_EMULATE_BF16)
        return fma(even(x), even(w), fma(odd(x), odd(w), sum));
#else
        return {_mm512_dpbf16_ps(sum.v, (__m512bh)x.v, (__m512bh)w.v)};
#endif
    }
};
}  // namespace

const Scheme avx512bf16_products = {PANEL, 2, 2, 2, 0, multiply<Bf16>, to_bf16};
}  // namespace likewise

#include "simd/end.h"

#endif
