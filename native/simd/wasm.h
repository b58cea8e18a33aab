// Four floats at once: WebAssembly's SIMD128, which every browser has.
#pragma once

struct Floats {
    v128_t v;
};

constexpr int WIDTH = 4;         // floats in a vector
constexpr int TILE_ROWS = 4;     // a matmul computes this many rows ...
constexpr int TILE_VECTORS = 2;  // ... of this many vectors at once: 8 of the 16 registers of most processors hold sums
constexpr int KEYS = 4;          // keys, and
constexpr int QUERIES = 4;       // queries that attention keeps in registers
constexpr int WORD_VECTORS = 9;    // vectors of columns that sum word embeddings at once
constexpr int SCAN_ROWS = 4;     // rows of a corpus, and
constexpr int SCAN_VECTORS = 2;  // vectors of queries that a scan compares at once

inline Floats load(const float* p) { return {wasm_v128_load(p)}; }
inline void store(float* p, Floats x) { wasm_v128_store(p, x.v); }
inline Floats splat(float x) { return {wasm_f32x4_splat(x)}; }
inline Floats add(Floats a, Floats b) { return {wasm_f32x4_add(a.v, b.v)}; }
inline Floats sub(Floats a, Floats b) { return {wasm_f32x4_sub(a.v, b.v)}; }
inline Floats mul(Floats a, Floats b) { return {wasm_f32x4_mul(a.v, b.v)}; }
inline Floats divide(Floats a, Floats b) { return {wasm_f32x4_div(a.v, b.v)}; }
inline Floats magnitude(Floats x) { return {wasm_f32x4_abs(x.v)}; }

// a * b + c of two lanes in double precision, in which the product is exact.
inline v128_t doubles(v128_t a, v128_t b, v128_t c) {
    const v128_t product = wasm_f64x2_mul(wasm_f64x2_promote_low_f32x4(a), wasm_f64x2_promote_low_f32x4(b));
    return wasm_f64x2_add(product, wasm_f64x2_promote_low_f32x4(c));
}
// A mask of the lanes whose sums may round to the wrong float: a sum halfway between two floats may itself be the result
// of rounding, and floats close to zero have fewer digits.
inline v128_t doubtful(v128_t sums) {
    const v128_t rest = wasm_v128_and(sums, wasm_i64x2_splat(0x1FFFFFFF));
    const v128_t size = wasm_f64x2_abs(sums), none = wasm_f64x2_splat(0.0);
    const v128_t tiny = wasm_v128_and(wasm_f64x2_lt(size, wasm_f64x2_splat(0x1p-126)), wasm_f64x2_ne(size, none));
    return wasm_v128_or(wasm_i64x2_eq(rest, wasm_i64x2_splat(0x10000000)), tiny);
}
[[gnu::noinline, gnu::cold]] inline Floats slow_fma(Floats a, Floats b, Floats c) {
    float x[4], y[4], z[4];
    store(x, a);
    store(y, b);
    store(z, c);
    for (int i = 0; i < 4; i++) x[i] = fused(x[i], y[i], z[i]);
    return load(x);
}
// a * b + c, rounded once: WebAssembly has no instruction for it that gives the same bits everywhere.
inline Floats fma(Floats a, Floats b, Floats c) {
    const auto high = [](Floats x) { return wasm_i64x2_shuffle(x.v, x.v, 1, 1); };
    const v128_t left = doubles(a.v, b.v, c.v), right = doubles(high(a), high(b), high(c));
    if (__builtin_expect(wasm_v128_any_true(wasm_v128_or(doubtful(left), doubtful(right))), 0)) return slow_fma(a, b, c);
    return {wasm_i64x2_shuffle(wasm_f32x4_demote_f64x2_zero(left), wasm_f32x4_demote_f64x2_zero(right), 0, 2)};
}

// b if either is NaN, as on x86.
inline Floats max(Floats a, Floats b) { return {wasm_f32x4_pmax(b.v, a.v)}; }
inline Floats min(Floats a, Floats b) { return {wasm_f32x4_pmin(b.v, a.v)}; }
// x clamped to [-limit, limit].
inline Floats clamp(Floats x, Floats limit) { return max(min(x, limit), sub(splat(0.0F), limit)); }
inline Floats counting() { return {wasm_f32x4_make(0.0F, 1.0F, 2.0F, 3.0F)}; }

// The sum of all lanes: the halves are added repeatedly.
inline float sum(Floats x) {
    const v128_t half = wasm_f32x4_add(x.v, wasm_i64x2_shuffle(x.v, x.v, 1, 1));
    return wasm_f32x4_extract_lane(half, 0) + wasm_f32x4_extract_lane(half, 1);
}
inline float largest(Floats x) {
    const Floats half = max(x, {wasm_i64x2_shuffle(x.v, x.v, 1, 1)});
    const float a = wasm_f32x4_extract_lane(half.v, 0), b = wasm_f32x4_extract_lane(half.v, 1);
    return a > b ? a : b;
}

// `yes` in lanes with a < b, `no` in the others.
inline Floats where_less(Floats a, Floats b, Floats yes, Floats no) {
    return {wasm_v128_bitselect(yes.v, no.v, wasm_f32x4_lt(a.v, b.v))};
}
// The first `count` lanes of x, with zeros in the others.
inline Floats first(Floats x, int count) {
    return where_less(counting(), splat(static_cast<float>(count)), x, splat(0.0F));
}
// A bit mask of the lanes in which !(a <= b), which includes NaN.
inline unsigned above(Floats a, Floats b) { return ~static_cast<unsigned>(wasm_i32x4_bitmask(wasm_f32x4_le(a.v, b.v))) & 15U; }

// Loads int8 values as floats.
inline Floats load_bytes(const int8_t* p) {
    return {wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(wasm_i16x8_extend_low_i8x16(wasm_v128_load32_zero(p))))};
}

// Loads half-precision values as floats.
inline Floats load_halves(const uint16_t* p) {
    return {wasm_f32x4_make(from_float16(p[0]), from_float16(p[1]), from_float16(p[2]), from_float16(p[3]))};
}

// y * 2^floor(x), or 0 if floor(x) is below -126; and the fraction of x, from 0 to 1.
inline Floats times_power(Floats y, Floats x) {
    const Floats whole = max({wasm_f32x4_floor(x.v)}, splat(-127.0F));
    const v128_t exponent = wasm_i32x4_add(wasm_i32x4_trunc_sat_f32x4(whole.v), wasm_i32x4_splat(127));
    return {wasm_f32x4_mul(y.v, wasm_i32x4_shl(exponent, 23))};
}
inline Floats fraction(Floats x) { return {wasm_f32x4_sub(x.v, wasm_f32x4_floor(x.v))}; }

// Four rows of four floats, transposed: to[4 c + r] = factor * from[stride r + c].
inline void transpose(const float* from, long stride, Floats factor, float* to) {
    v128_t r[4];
    for (int i = 0; i < 4; i++) r[i] = wasm_f32x4_mul(wasm_v128_load(from + i * stride), factor.v);
    const v128_t a = wasm_i32x4_shuffle(r[0], r[2], 0, 4, 1, 5), b = wasm_i32x4_shuffle(r[0], r[2], 2, 6, 3, 7);
    const v128_t c = wasm_i32x4_shuffle(r[1], r[3], 0, 4, 1, 5), d = wasm_i32x4_shuffle(r[1], r[3], 2, 6, 3, 7);
    wasm_v128_store(to, wasm_i32x4_shuffle(a, c, 0, 4, 1, 5));
    wasm_v128_store(to + 4, wasm_i32x4_shuffle(a, c, 2, 6, 3, 7));
    wasm_v128_store(to + 8, wasm_i32x4_shuffle(b, d, 0, 4, 1, 5));
    wasm_v128_store(to + 12, wasm_i32x4_shuffle(b, d, 2, 6, 3, 7));
}

// x rounded to integers, ties to even: to 16 bits, or four vectors at once.
inline v128_t rounded(Floats x) { return wasm_i32x4_trunc_sat_f32x4(wasm_f32x4_nearest(x.v)); }
inline void store_whole(int16_t* p, Floats x) {
    const v128_t whole = rounded(x);
    wasm_v128_store64_lane(p, wasm_i16x8_narrow_i32x4(whole, whole), 0);
}
// a and b rounded to 16-bit integers, a in the low half of each lane and b in the high half.
inline void store_pairs(int32_t* p, Floats a, Floats b) {
    wasm_v128_store(p, wasm_v128_bitselect(rounded(a), wasm_i32x4_shl(rounded(b), 16), wasm_i32x4_splat(0xFFFF)));
}

// x rounded to bfloat16, ties to even.
inline void store_bf16(uint16_t* p, Floats x) {
    const v128_t odd = wasm_v128_and(wasm_u32x4_shr(x.v, 16), wasm_i32x4_splat(1));
    const v128_t up = wasm_u32x4_shr(wasm_i32x4_add(wasm_i32x4_add(x.v, wasm_i32x4_splat(0x7FFF)), odd), 16);
    wasm_v128_store64_lane(p, wasm_u16x8_narrow_i32x4(up, up), 0);
}

// Four 32-bit integers, or other data of that size.
struct Bits {
    v128_t v;
};
inline Bits load_bits(const void* p) { return {wasm_v128_load(p)}; }
inline Bits spread_bits(const void* p) { return {wasm_v128_load32_splat(p)}; }
inline Bits no_bits() { return {wasm_i32x4_splat(0)}; }
inline Floats floats(Bits x) { return {wasm_f32x4_convert_i32x4(x.v)}; }
inline Bits widen_bytes(const int8_t* p) { return {wasm_i16x8_load8x8(p)}; }
inline Bits add_pairs(Bits sum, Bits x, Bits w) { return {wasm_i32x4_add(sum.v, wasm_i32x4_dot_i16x8(x.v, w.v))}; }
// The bfloat16 values at even and at odd positions, as floats.
inline Floats even(Bits x) { return {wasm_i32x4_shl(x.v, 16)}; }
inline Floats odd(Bits x) { return {wasm_v128_and(x.v, wasm_i32x4_splat(-65536))}; }
