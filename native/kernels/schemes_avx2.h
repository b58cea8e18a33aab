// What one step of a product is with AVX2: which weights are loaded, what is multiplied, how sums become floats.
#pragma once

inline __m256i spread_four_bytes(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return _mm256_set1_epi32(word);
}

inline __m256i load_whole(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

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
    __m256i v;
};
inline Floats floats(Bits x) { return {_mm256_cvtepi32_ps(x.v)}; }

// Sums of whole numbers, made floats: the sum * scale of the row * scale of the column + bias.
struct WholeColumn {
    Floats scale, bias;
    WholeColumn(const Packed& w, int column) : scale(load(w.scales + column)), bias(load(w.bias + column)) {}
    Floats operator()(Bits sum, const Product& p, int row) const {
        const Floats exact = {_mm256_cvtepi32_ps(sum.v)};
        return fma(mul(exact, splat(p.row_scales[row])), scale, bias);
    }
};

struct Whole {
    using Weight = int8_t;
    using Sum = Bits;
    using Column = WholeColumn;
    static Sum start(const Packed& w, int column) { return {load_whole(w.starts + column)}; }
};

// 16 bits by 16 bits in pairs, which cannot overflow 32 bits. (Bytes in pairs, vpmaddubsw, overflow 16 and saturate.)
struct Int8Wide : Whole {
    using Row = int16_t;
    static constexpr int GROUP = 2;
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) {
        return {_mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)))};
    }
    static Sum step(Sum sum, Bits x, Bits w) { return {_mm256_add_epi32(sum.v, _mm256_madd_epi16(x.v, w.v))}; }
};

// bfloat16 in pairs, each half made a float.
struct Bf16Wide {
    using Row = uint16_t;
    using Weight = uint16_t;
    using Sum = Floats;
    struct Pair {
        __m256 even, odd;
    };
    static constexpr int GROUP = 2;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Pair halves(__m256i x) {
        return {_mm256_castsi256_ps(_mm256_slli_epi32(x, 16)),
                _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(static_cast<int32_t>(0xFFFF0000U))))};
    }
    static Pair spread(const Row* p) { return halves(spread_four_bytes(p)); }
    static Pair weights(const Weight* p) { return halves(load_whole(p)); }
    static Sum step(Sum sum, Pair x, Pair w) {
        return {_mm256_fmadd_ps(x.odd, w.odd, _mm256_fmadd_ps(x.even, w.even, sum.v))};
    }
    using Column = FloatColumn;
};
