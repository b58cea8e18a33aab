// Products of bfloat16 by AVX512-BF16: pairs multiplied and added in one instruction.
#include "isa.h"

#if defined(__x86_64__)

#include <immintrin.h>

#include <algorithm>
#include <cstring>
#include <utility>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,fma")
#endif

namespace likewise {
namespace avx512bf16 {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes_avx512.h"
#include "kernels/rounding.h"

struct Bf16 {
    using Row = uint16_t;
    using Weight = uint16_t;
    using Sum = Floats;
    static constexpr int GROUP = 2;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) { return {_mm512_loadu_si512(p)}; }
    static Sum step(Sum sum, Bits x, Bits w) { return {_mm512_dpbf16_ps(sum.v, (__m512bh)x.v, (__m512bh)w.v)}; }
    using Column = FloatColumn;
};
}  // namespace

const Scheme bf16 = {PANEL, 2, 2, 2, 0, multiply<Bf16>, to_bf16};
}  // namespace avx512bf16
}  // namespace likewise

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif
