// Eight floats at once: AVX2 with fused multiply-add. Included inside a region compiled for that instruction set.
#pragma once

struct Floats {
    __m256 v;
};

constexpr int WIDTH = 8;         // floats in a vector
constexpr int TILE_ROWS = 6;     // a matmul computes this many rows ...
constexpr int TILE_VECTORS = 2;  // ... of this many vectors at once: 12 of the 16 registers hold sums
constexpr int KEYS = 8;          // keys, and
constexpr int QUERIES = 4;       // queries that attention keeps in registers
constexpr int WORD_VECTORS = 9;    // vectors of columns that sum word embeddings at once
constexpr int SCAN_ROWS = 6;     // rows of a corpus, and
constexpr int SCAN_VECTORS = 2;  // vectors of queries that a scan compares at once

inline Floats load(const float* p) { return {_mm256_loadu_ps(p)}; }
inline void store(float* p, Floats x) { _mm256_storeu_ps(p, x.v); }
inline Floats splat(float x) { return {_mm256_set1_ps(x)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Floats add(Floats a, Floats b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Floats sub(Floats a, Floats b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Floats mul(Floats a, Floats b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Floats max(Floats a, Floats b) { return {_mm256_max_ps(a.v, b.v)}; }
inline Floats min(Floats a, Floats b) { return {_mm256_min_ps(a.v, b.v)}; }
inline Floats divide(Floats a, Floats b) { return {_mm256_div_ps(a.v, b.v)}; }
// x clamped to [-limit, limit].
inline Floats clamp(Floats x, Floats limit) { return max(min(x, limit), sub(splat(0.0F), limit)); }
inline Floats magnitude(Floats x) { return {_mm256_andnot_ps(_mm256_set1_ps(-0.0F), x.v)}; }
inline Floats counting() { return {_mm256_set_ps(7, 6, 5, 4, 3, 2, 1, 0)}; }

// The sum of all lanes: the halves are added repeatedly.
inline float sum(Floats x) {
    __m128 half = _mm_add_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
    half = _mm_add_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_add_ss(half, _mm_shuffle_ps(half, half, 1)));
}

inline float largest(Floats x) {
    __m128 half = _mm_max_ps(_mm256_castps256_ps128(x.v), _mm256_extractf128_ps(x.v, 1));
    half = _mm_max_ps(half, _mm_movehl_ps(half, half));
    return _mm_cvtss_f32(_mm_max_ss(half, _mm_shuffle_ps(half, half, 1)));
}

// The first `count` lanes of x, with zeros in the others.
inline Floats first(Floats x, int count) {
    const __m256 kept = _mm256_cmp_ps(counting().v, _mm256_set1_ps(static_cast<float>(count)), _CMP_LT_OQ);
    return {_mm256_and_ps(x.v, kept)};
}

// `yes` in lanes with a < b, `no` in the others.
inline Floats where_less(Floats a, Floats b, Floats yes, Floats no) {
    return {_mm256_blendv_ps(no.v, yes.v, _mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ))};
}

// A bit mask of the lanes in which !(a <= b), which includes NaN.
inline unsigned above(Floats a, Floats b) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a.v, b.v, _CMP_NLE_UQ)));
}

// Loads int8 values as floats.
inline Floats load_bytes(const int8_t* p) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
}

// Loads half-precision values as floats.
inline Floats load_halves(const uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
}

// y * 2^floor(x), or 0 if floor(x) is below -126; and the fraction of x, from 0 to 1.
inline Floats times_power(Floats y, Floats x) {
    const Floats whole = max({_mm256_floor_ps(x.v)}, splat(-127.0F));
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(whole.v), _mm256_set1_epi32(127));
    return {_mm256_mul_ps(y.v, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)))};
}
inline Floats fraction(Floats x) { return {_mm256_sub_ps(x.v, _mm256_floor_ps(x.v))}; }

// Eight rows of eight floats, transposed: to[8 c + r] = factor * from[stride r + c].
inline void transpose(const float* from, long stride, Floats factor, float* to) {
    for (int part = 0; part < 2; part++) {
        __m256 r[4];
        for (int i = 0; i < 4; i++) {
            const float* p = from + i * stride + 4 * part;
            const __m256 low = _mm256_castps128_ps256(_mm_loadu_ps(p));
            r[i] = _mm256_mul_ps(_mm256_insertf128_ps(low, _mm_loadu_ps(p + 4 * stride), 1), factor.v);
        }
        const __m256 a = _mm256_unpacklo_ps(r[0], r[1]), b = _mm256_unpackhi_ps(r[0], r[1]);
        const __m256 c = _mm256_unpacklo_ps(r[2], r[3]), d = _mm256_unpackhi_ps(r[2], r[3]);
        float* column = to + 32 * part;
        _mm256_storeu_ps(column, _mm256_shuffle_ps(a, c, 0x44));
        _mm256_storeu_ps(column + 8, _mm256_shuffle_ps(a, c, 0xEE));
        _mm256_storeu_ps(column + 16, _mm256_shuffle_ps(b, d, 0x44));
        _mm256_storeu_ps(column + 24, _mm256_shuffle_ps(b, d, 0xEE));
    }
}

// The low 16 bits of each lane, packed together.
inline __m128i narrowed(__m256i x) {
    const __m256i each = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1,  //
                                          0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m256i halves = _mm256_shuffle_epi8(x, each);
    return _mm_unpacklo_epi64(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
}

// x rounded to integers: as bytes with an offset of 128, or as 16 bits.
inline void store_whole(int16_t* p, Floats x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrowed(_mm256_cvtps_epi32(x.v)));
}
inline void store_whole(uint8_t* p, Floats x) {
    const __m128i halves = narrowed(_mm256_add_epi32(_mm256_cvtps_epi32(x.v), _mm256_set1_epi32(128)));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(halves, halves));
}

// Packs four vectors at once: to 16 bits, then to bytes, then reorders the halves.
inline void store_four(uint8_t* p, Floats a, Floats b, Floats c, Floats d) {
    const __m256i left = _mm256_packs_epi32(_mm256_cvtps_epi32(a.v), _mm256_cvtps_epi32(b.v));
    const __m256i right = _mm256_packs_epi32(_mm256_cvtps_epi32(c.v), _mm256_cvtps_epi32(d.v));
    const __m256i order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(left, right), order);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_xor_si256(bytes, _mm256_set1_epi8(-128)));
}

// x rounded to bfloat16, ties to even.
inline void store_bf16(uint16_t* p, Floats x) {
    const __m256i bits = _mm256_castps_si256(x.v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrowed(_mm256_srli_epi32(up, 16)));
}

// Eight 32-bit integers, or other data of this size.
struct Bits {
    __m256i v;
};
inline Bits load_bits(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
inline Bits spread_bits(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return {_mm256_set1_epi32(word)};
}
inline Bits no_bits() { return {_mm256_setzero_si256()}; }
inline Floats floats(Bits x) { return {_mm256_cvtepi32_ps(x.v)}; }
// a and b rounded to 16-bit integers, a in the low half of each lane and b in the high half.
inline void store_pairs(int32_t* p, Floats a, Floats b) {
    const __m256i high = _mm256_slli_epi32(_mm256_cvtps_epi32(b.v), 16);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_blend_epi16(_mm256_cvtps_epi32(a.v), high, 0xAA));
}
inline Bits widen_bytes(const void* p) {
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(p)))};
}
inline Bits add_pairs(Bits sum, Bits x, Bits w) { return {_mm256_add_epi32(sum.v, _mm256_madd_epi16(x.v, w.v))}; }
// The bfloat16 values at even and at odd positions, as floats.
inline Floats even(Bits x) { return {_mm256_castsi256_ps(_mm256_slli_epi32(x.v, 16))}; }
inline Floats odd(Bits x) { return {_mm256_castsi256_ps(_mm256_and_si256(x.v, _mm256_set1_epi32(-65536)))}; }
