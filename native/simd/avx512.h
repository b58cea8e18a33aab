// Sixteen floats at once: AVX-512 (F, BW, DQ, VL). Included inside a region compiled for that instruction set.
#pragma once

struct Floats {
    __m512 v;
};

constexpr int WIDTH = 16;        // floats in a vector
constexpr int TILE_ROWS = 6;     // rows that a matmul computes at a time ...
constexpr int TILE_VECTORS = 4;  // ... of this many vectors each: 24 of the 32 registers hold sums
constexpr int KEYS = 12;         // keys, and
constexpr int QUERIES = 8;       // queries that attention keeps in registers
constexpr int WORD_VECTORS = 18;    // vectors of columns that sum word embeddings at once
constexpr int SCAN_ROWS = 12;    // rows of a corpus, and
constexpr int SCAN_VECTORS = 2;  // vectors of queries that a scan compares at once

inline Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
inline void store(float* p, Floats x) { _mm512_storeu_ps(p, x.v); }
inline Floats splat(float x) { return {_mm512_set1_ps(x)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats add(Floats a, Floats b) { return {_mm512_add_ps(a.v, b.v)}; }
inline Floats sub(Floats a, Floats b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Floats mul(Floats a, Floats b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm512_max_ps(a.v, b.v)}; }
inline Floats min(Floats a, Floats b) { return {_mm512_min_ps(a.v, b.v)}; }
// x clamped to [-limit, limit].
inline Floats clamp(Floats x, Floats limit) { return {_mm512_range_ps(x.v, limit.v, 2)}; }
inline Floats magnitude(Floats x) { return {_mm512_abs_ps(x.v)}; }
inline float largest(Floats x) { return _mm512_reduce_max_ps(x.v); }

inline Floats divide(Floats a, Floats b) { return {_mm512_div_ps(a.v, b.v)}; }

// The sum of all lanes: the halves are added repeatedly.
inline float sum(Floats x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

// The first `count` lanes of x, with zeros in the others.
inline Floats first(Floats x, int count) {
    return {_mm512_maskz_mov_ps(static_cast<__mmask16>((1U << count) - 1U), x.v)};
}

// `yes` in lanes with a < b, `no` in the others.
inline Floats where_less(Floats a, Floats b, Floats yes, Floats no) {
    return {_mm512_mask_blend_ps(_mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ), no.v, yes.v)};
}

// A bit mask of the lanes in which !(a <= b), which includes NaN.
inline unsigned above(Floats a, Floats b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_NLE_UQ); }

// Loads int8 values as floats.
inline Floats load_bytes(const int8_t* p) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))))};
}

// Loads half-precision values as floats.
inline Floats load_halves(const uint16_t* p) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
}

// y * 2^floor(x), or 0 if floor(x) is below -126; and the fraction of x, from 0 to 1.
inline Floats times_power(Floats y, Floats x) {
    const __mmask16 near = _mm512_cmp_ps_mask(x.v, _mm512_set1_ps(-126.0F), _CMP_GE_OQ);
    return {_mm512_maskz_scalef_ps(near, y.v, x.v)};
}
inline Floats fraction(Floats x) {  // vreduceps would also round the difference down
    return {_mm512_sub_ps(x.v, _mm512_roundscale_ps(x.v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC))};
}

// Lanes 0, 1, 2 ...
inline Floats counting() { return {_mm512_set_ps(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)}; }

// Sixteen rows of sixteen floats, transposed: to[16 c + r] = factor * from[stride r + c].
// Loading gathers quarters of four rows, which halves the number of shuffles.
inline void transpose(const float* from, long stride, Floats factor, float* to) {
    for (int part = 0; part < 4; part++) {
        __m512 r[4];
        for (int i = 0; i < 4; i++) {
            const float* p = from + i * stride + 4 * part;
            __m512 x = _mm512_castps128_ps512(_mm_loadu_ps(p));
            x = _mm512_insertf32x4(x, _mm_loadu_ps(p + 4 * stride), 1);
            x = _mm512_insertf32x4(x, _mm_loadu_ps(p + 8 * stride), 2);
            r[i] = _mm512_mul_ps(_mm512_insertf32x4(x, _mm_loadu_ps(p + 12 * stride), 3), factor.v);
        }
        const __m512 a = _mm512_unpacklo_ps(r[0], r[1]), b = _mm512_unpackhi_ps(r[0], r[1]);
        const __m512 c = _mm512_unpacklo_ps(r[2], r[3]), d = _mm512_unpackhi_ps(r[2], r[3]);
        float* column = to + 64 * part;
        _mm512_storeu_ps(column, _mm512_shuffle_ps(a, c, 0x44));
        _mm512_storeu_ps(column + 16, _mm512_shuffle_ps(a, c, 0xEE));
        _mm512_storeu_ps(column + 32, _mm512_shuffle_ps(b, d, 0x44));
        _mm512_storeu_ps(column + 48, _mm512_shuffle_ps(b, d, 0xEE));
    }
}

// x rounded to integers: as bytes with an offset of 128, or as 16 bits.
inline void store_whole(uint8_t* p, Floats x) {
    const __m512i whole = _mm512_add_epi32(_mm512_cvtps_epi32(x.v), _mm512_set1_epi32(128));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(whole));
}
inline void store_whole(int16_t* p, Floats x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(x.v)));
}

// Packs four vectors at once: to 16 bits, then to bytes, then reorders the quarters.
inline void store_four(uint8_t* p, Floats a, Floats b, Floats c, Floats d) {
    const __m512i left = _mm512_packs_epi32(_mm512_cvtps_epi32(a.v), _mm512_cvtps_epi32(b.v));
    const __m512i right = _mm512_packs_epi32(_mm512_cvtps_epi32(c.v), _mm512_cvtps_epi32(d.v));
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(left, right));
    _mm512_storeu_si512(p, _mm512_xor_si512(bytes, _mm512_set1_epi8(-128)));
}

// x rounded to bfloat16, ties to even.
inline void store_bf16(uint16_t* p, Floats x) {
    const __m512i bits = _mm512_castps_si512(x.v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(_mm512_srli_epi32(up, 16)));
}

// Sixteen 32-bit integers, or other data of that size.
struct Bits {
    __m512i v;
};
inline Bits load_bits(const void* p) { return {_mm512_loadu_si512(p)}; }
inline Bits spread_bits(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return {_mm512_set1_epi32(word)};
}
inline Bits no_bits() { return {_mm512_setzero_si512()}; }
inline Floats floats(Bits x) { return {_mm512_cvtepi32_ps(x.v)}; }
// a and b rounded to 16-bit integers, a in the low half of each lane and b in the high half.
inline void store_pairs(int32_t* p, Floats a, Floats b) {
    const __m512i high = _mm512_slli_epi32(_mm512_cvtps_epi32(b.v), 16);
    _mm512_storeu_si512(p, _mm512_mask_blend_epi16(0xAAAAAAAAU, _mm512_cvtps_epi32(a.v), high));
}
inline Bits widen_bytes(const void* p) {
    return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(p)))};
}
inline Bits add_pairs(Bits sum, Bits x, Bits w) { return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(x.v, w.v))}; }
// The bfloat16 values at even and at odd positions, as floats.
inline Floats even(Bits x) { return {_mm512_castsi512_ps(_mm512_slli_epi32(x.v, 16))}; }
inline Floats odd(Bits x) { return {_mm512_castsi512_ps(_mm512_and_si512(x.v, _mm512_set1_epi32(-65536)))}; }
