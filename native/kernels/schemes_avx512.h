// What one step of a product is with AVX-512: which weights are loaded, what is multiplied, how sums become floats.
#pragma once

inline __m512i spread_four_bytes(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return _mm512_set1_epi32(word);
}

struct Fp32 {
    using Row = float;
    using Weight = float;
    using Sum = Floats;
    static constexpr int GROUP = 1;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Floats spread(const Row* p) { return splat(*p); }
    static Floats weights(const Weight* p) { return load(p); }
    static Sum step(Sum sum, Floats x, Floats w) { return fma(x, w, sum); }
    using Column = FloatColumn;
};

struct Bits {
    __m512i v;
};
inline Bits no_bits() { return {_mm512_setzero_si512()}; }
inline Bits load_bits(const void* p) { return {_mm512_loadu_si512(p)}; }
inline Floats floats(Bits x) { return {_mm512_cvtepi32_ps(x.v)}; }

// a and b rounded to 16 bits: a's in the low half of each lane, b's in the high one.
inline void store_pairs(int32_t* p, Floats a, Floats b) {
    const __m512i high = _mm512_slli_epi32(_mm512_cvtps_epi32(b.v), 16);
    _mm512_storeu_si512(p, _mm512_mask_blend_epi16(0xAAAAAAAAU, _mm512_cvtps_epi32(a.v), high));
}

// Sums of whole numbers, made floats: the sum * scale of the row * scale of the column + bias.
struct WholeColumn {
    Floats scale, bias;
    WholeColumn(const Packed& w, int column) : scale(load(w.scales + column)), bias(load(w.bias + column)) {}
    Floats operator()(Bits sum, const Product& p, int row) const {
        const Floats exact = {_mm512_cvtepi32_ps(sum.v)};
        return fma(mul(exact, splat(p.row_scales[row])), scale, bias);
    }
};

struct Whole {
    using Weight = int8_t;
    using Sum = Bits;
    using Column = WholeColumn;
    static Sum start(const Packed& w, int column) { return {_mm512_loadu_si512(w.starts + column)}; }
};

// Without VNNI: 16 bits by 16 bits in pairs, which cannot overflow 32 bits (bytes in pairs can overflow 16).
struct Int8Wide : Whole {
    using Row = int16_t;
    static constexpr int GROUP = 2;
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) {
        return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))};
    }
    static Sum step(Sum sum, Bits x, Bits w) { return {_mm512_add_epi32(sum.v, _mm512_madd_epi16(x.v, w.v))}; }
};

// bfloat16 in pairs, where there is no instruction for it: each half made a float.
struct Bf16Wide {
    using Row = uint16_t;
    using Weight = uint16_t;
    using Sum = Floats;
    struct Pair {
        __m512 even, odd;
    };
    static constexpr int GROUP = 2;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Pair halves(__m512i x) {
        return {_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                _mm512_castsi512_ps(_mm512_and_si512(x, _mm512_set1_epi32(static_cast<int32_t>(0xFFFF0000U))))};
    }
    static Pair spread(const Row* p) { return halves(spread_four_bytes(p)); }
    static Pair weights(const Weight* p) { return halves(_mm512_loadu_si512(p)); }
    static Sum step(Sum sum, Pair x, Pair w) {
        return {_mm512_fmadd_ps(x.odd, w.odd, _mm512_fmadd_ps(x.even, w.even, sum.v))};
    }
    using Column = FloatColumn;
};
