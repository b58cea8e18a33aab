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
namespace avx512bf16 {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes_avx512.h"
#include "kernels/rounding.h"

#if defined(LIKEWISE_EMULATE_BF16)
// bfloat16s of odd places, and of even ones, as floats.
inline __m512 odd(Bits x) { return _mm512_castsi512_ps(_mm512_and_si512(x.v, _mm512_set1_epi32(-65536))); }
inline __m512 even(Bits x) { return _mm512_castsi512_ps(_mm512_slli_epi32(x.v, 16)); }
inline Floats multiply_pairs(Floats sum, Bits x, Bits w) {
    return {_mm512_fmadd_ps(even(x), even(w), _mm512_fmadd_ps(odd(x), odd(w), sum.v))};
}
#else
inline Floats multiply_pairs(Floats sum, Bits x, Bits w) {
    return {_mm512_dpbf16_ps(sum.v, (__m512bh)x.v, (__m512bh)w.v)};
}
#endif

struct Bf16 {
    using Row = uint16_t;
    using Weight = uint16_t;
    using Sum = Floats;
    static constexpr int GROUP = 2;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) { return {_mm512_loadu_si512(p)}; }
    static Sum step(Sum sum, Bits x, Bits w) { return multiply_pairs(sum, x, w); }
    using Column = FloatColumn;
};
}  // namespace

const Scheme bf16 = {PANEL, 2, 2, 2, 0, multiply<Bf16>, to_bf16};
}  // namespace avx512bf16
}  // namespace likewise

#include "simd/end.h"

#endif
