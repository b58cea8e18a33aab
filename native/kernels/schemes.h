// What one step of a matmul multiplies, and how its sums become floats; written once for all vectors of simd/*.h.
#pragma once

// Sums start from the column's bias, so they are already the results.
struct FloatColumn {
    FloatColumn(const Packed&, int) {}
    Floats operator()(Floats sum, const Product&, int) const { return sum; }
};

struct FloatSums {
    using Sum = Floats;
    using Column = FloatColumn;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
};

struct Fp32 : FloatSums {
    using Row = float;
    using Weight = float;
    static constexpr int GROUP = 1;
    static Floats spread(const Row* p) { return splat(*p); }
    static Floats weights(const Weight* p) { return load(p); }
    static Sum step(Sum sum, Floats x, Floats w) { return fma(x, w, sum); }
};

// bfloat16 in pairs, without a special instruction: each half becomes a float. The odd half is first, as in vdpbf16ps.
struct Bf16Wide : FloatSums {
    using Row = uint16_t;
    using Weight = uint16_t;
    struct Pair {
        Floats even, odd;
    };
    static constexpr int GROUP = 2;
    static Pair spread(const Row* p) { return {even(spread_bits(p)), odd(spread_bits(p))}; }
    static Pair weights(const Weight* p) { return {even(load_bits(p)), odd(load_bits(p))}; }
    static Sum step(Sum sum, Pair x, Pair w) { return fma(x.even, w.even, fma(x.odd, w.odd, sum)); }
};

// sum * row scale * column scale + bias.
struct WholeColumn {
    Floats scale, bias;
    WholeColumn(const Packed& w, int column) : scale(load(w.scales + column)), bias(load(w.bias + column)) {}
    Floats operator()(Bits sum, const Product& p, int row) const {
        return fma(mul(floats(sum), splat(p.row_scales[row])), scale, bias);
    }
};

struct Whole {
    using Weight = int8_t;
    using Sum = Bits;
    using Column = WholeColumn;
    static Sum start(const Packed& w, int column) { return load_bits(w.starts + column); }
};

// 16 bits by 16 bits in pairs, which cannot overflow 32 bits. (Bytes in pairs, vpmaddubsw, overflow 16 and saturate.)
struct Int8Wide : Whole {
    using Row = int16_t;
    static constexpr int GROUP = 2;
    static Bits spread(const Row* p) { return spread_bits(p); }
    static Bits weights(const Weight* p) { return widen_bytes(p); }
    static Sum step(Sum sum, Bits x, Bits w) { return add_pairs(sum, x, w); }
};

// Adds four products of bytes per lane in one instruction. If the instruction needs unsigned activations, they are
// stored with an offset of 128, which adds a constant per column to a sum.
template <class Element, Bits (*DOT)(Bits, Bits, Bits)>
struct Int8Dot : Whole {
    using Row = Element;
    static constexpr int GROUP = 4;
    static Bits spread(const Row* p) { return spread_bits(p); }
    static Bits weights(const Weight* p) { return load_bits(p); }
    static Sum step(Sum sum, Bits x, Bits w) { return DOT(sum, x, w); }
};
