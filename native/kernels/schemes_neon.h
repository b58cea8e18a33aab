// What one step of a product is with NEON: which weights are loaded, what is multiplied, how sums become floats.
#pragma once

inline int32_t four_bytes(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return word;
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
    int32x4_t v;
};
inline Floats floats(Bits x) { return {vcvtq_f32_s32(x.v)}; }

// Sums of whole numbers, made floats: the sum * scale of the row * scale of the column + bias.
struct WholeColumn {
    Floats scale, bias;
    WholeColumn(const Packed& w, int column) : scale(load(w.scales + column)), bias(load(w.bias + column)) {}
    Floats operator()(Bits sum, const Product& p, int row) const {
        const Floats exact = {vcvtq_f32_s32(sum.v)};
        return fma(mul(exact, splat(p.row_scales[row])), scale, bias);
    }
};

struct Whole {
    using Weight = int8_t;
    using Sum = Bits;
    using Column = WholeColumn;
    static Sum start(const Packed& w, int column) { return {vld1q_s32(w.starts + column)}; }
};

// 16 bits by 16 bits, pairs added: for processors without the dot product.
struct Int8Wide : Whole {
    using Row = int16_t;
    static constexpr int GROUP = 2;
    static Bits spread(const Row* p) { return {vdupq_n_s32(four_bytes(p))}; }
    static Bits weights(const Weight* p) { return {vreinterpretq_s32_s16(vmovl_s8(vld1_s8(p)))}; }
    static Sum step(Sum sum, Bits x, Bits w) {
        const int16x8_t a = vreinterpretq_s16_s32(x.v), b = vreinterpretq_s16_s32(w.v);
        const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
        return {vaddq_s32(sum.v, vpaddq_s32(low, high))};
    }
};

// bfloat16 in pairs, each half made a float.
struct Bf16Wide {
    using Row = uint16_t;
    using Weight = uint16_t;
    using Sum = Floats;
    struct Pair {
        float32x4_t even, odd;
    };
    static constexpr int GROUP = 2;
    static Sum start(const Packed& w, int column) { return load(w.bias + column); }
    static Pair halves(int32x4_t x) {
        return {vreinterpretq_f32_s32(vshlq_n_s32(x, 16)),
                vreinterpretq_f32_s32(vandq_s32(x, vdupq_n_s32(static_cast<int32_t>(0xFFFF0000U))))};
    }
    static Pair spread(const Row* p) { return halves(vdupq_n_s32(four_bytes(p))); }
    static Pair weights(const Weight* p) { return halves(vreinterpretq_s32_u16(vld1q_u16(p))); }
    static Sum step(Sum sum, Pair x, Pair w) { return {vfmaq_f32(vfmaq_f32(sum.v, x.even, w.even), x.odd, w.odd)}; }
    using Column = FloatColumn;
};
