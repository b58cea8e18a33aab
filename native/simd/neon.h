// Four floats at once: NEON on 64-bit Arm, which every such processor has.
#pragma once

struct Floats {
    float32x4_t v;
};

constexpr int WIDTH = 4;         // floats in a vector
constexpr int TILE_ROWS = 6;     // a matmul computes this many rows ...
constexpr int TILE_VECTORS = 4;  // ... of this many vectors at once: 24 of the 32 registers hold sums
constexpr int KEYS = 8;          // keys, and
constexpr int QUERIES = 4;       // queries that attention keeps in registers
constexpr int WORD_VECTORS = 18;    // vectors of columns that sum word embeddings at once
constexpr int SCAN_ROWS = 6;     // rows of a corpus, and
constexpr int SCAN_VECTORS = 4;  // vectors of queries that a scan compares at once

inline Floats load(const float* p) { return {vld1q_f32(p)}; }
inline void store(float* p, Floats x) { vst1q_f32(p, x.v); }
inline Floats splat(float x) { return {vdupq_n_f32(x)}; }
inline Floats fma(Floats a, Floats b, Floats c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
inline Floats add(Floats a, Floats b) { return {vaddq_f32(a.v, b.v)}; }
inline Floats sub(Floats a, Floats b) { return {vsubq_f32(a.v, b.v)}; }
inline Floats mul(Floats a, Floats b) { return {vmulq_f32(a.v, b.v)}; }
inline Floats divide(Floats a, Floats b) { return {vdivq_f32(a.v, b.v)}; }
inline Floats magnitude(Floats x) { return {vabsq_f32(x.v)}; }
// The sum of all lanes: the halves are added repeatedly.
inline float sum(Floats x) { return vaddv_f32(vadd_f32(vget_low_f32(x.v), vget_high_f32(x.v))); }
inline float largest(Floats x) { return vmaxvq_f32(x.v); }

// `yes` in lanes with a < b, `no` in the others.
inline Floats where_less(Floats a, Floats b, Floats yes, Floats no) {
    return {vbslq_f32(vcltq_f32(a.v, b.v), yes.v, no.v)};
}

// A bit mask of the lanes in which !(a <= b), which includes NaN.
inline unsigned above(Floats a, Floats b) {
    const uint32_t bits[4] = {1, 2, 4, 8};
    return vaddvq_u32(vbicq_u32(vld1q_u32(bits), vcleq_f32(a.v, b.v)));
}

// Loads int8 values as floats.
inline Floats load_bytes(const int8_t* p) {
    uint32_t four;
    std::memcpy(&four, p, 4);
    return {vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(four)))))};
}

// Loads half-precision values as floats.
inline Floats load_halves(const uint16_t* p) { return {vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))}; }

// b if either is NaN, as on x86.
inline Floats max(Floats a, Floats b) { return {vbslq_f32(vcgtq_f32(a.v, b.v), a.v, b.v)}; }
inline Floats min(Floats a, Floats b) { return {vbslq_f32(vcltq_f32(a.v, b.v), a.v, b.v)}; }

// x clamped to [-limit, limit].
inline Floats clamp(Floats x, Floats limit) { return max(min(x, limit), sub(splat(0.0F), limit)); }

inline Floats counting() {
    const float lanes[4] = {0.0F, 1.0F, 2.0F, 3.0F};
    return load(lanes);
}

// The first `count` lanes of x, with zeros in the others.
inline Floats first(Floats x, int count) {
    return where_less(counting(), splat(static_cast<float>(count)), x, splat(0.0F));
}

// y * 2^floor(x), or 0 if floor(x) is below -126; and the fraction of x, from 0 to 1.
inline Floats times_power(Floats y, Floats x) {
    const int32x4_t whole = vmaxq_s32(vcvtmq_s32_f32(x.v), vdupq_n_s32(-127));
    return {vmulq_f32(y.v, vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(whole, vdupq_n_s32(127)), 23)))};
}
inline Floats fraction(Floats x) { return {vsubq_f32(x.v, vrndmq_f32(x.v))}; }

// Four rows of four floats, transposed: to[4 c + r] = factor * from[stride r + c].
inline void transpose(const float* from, long stride, Floats factor, float* to) {
    float32x4x4_t rows;
    for (int i = 0; i < 4; i++) rows.val[i] = vmulq_f32(vld1q_f32(from + i * stride), factor.v);
    const float32x4_t a = vzip1q_f32(rows.val[0], rows.val[2]), b = vzip2q_f32(rows.val[0], rows.val[2]);
    const float32x4_t c = vzip1q_f32(rows.val[1], rows.val[3]), d = vzip2q_f32(rows.val[1], rows.val[3]);
    vst1q_f32(to, vzip1q_f32(a, c));
    vst1q_f32(to + 4, vzip2q_f32(a, c));
    vst1q_f32(to + 8, vzip1q_f32(b, d));
    vst1q_f32(to + 12, vzip2q_f32(b, d));
}

// x rounded to integers of 8 or 16 bits.
inline void store_whole(int16_t* p, Floats x) { vst1_s16(p, vmovn_s32(vcvtnq_s32_f32(x.v))); }
inline void store_whole(int8_t* p, Floats x) {
    const int16x4_t halves = vmovn_s32(vcvtnq_s32_f32(x.v));
    const int8x8_t bytes = vmovn_s16(vcombine_s16(halves, halves));
    std::memcpy(p, &bytes, 4);
}

// Four vectors at once.
inline void store_four(int8_t* p, Floats a, Floats b, Floats c, Floats d) {
    const int16x4_t w = vmovn_s32(vcvtnq_s32_f32(a.v)), x = vmovn_s32(vcvtnq_s32_f32(b.v));
    const int16x4_t y = vmovn_s32(vcvtnq_s32_f32(c.v)), z = vmovn_s32(vcvtnq_s32_f32(d.v));
    vst1q_s8(p, vcombine_s8(vmovn_s16(vcombine_s16(w, x)), vmovn_s16(vcombine_s16(y, z))));
}

// x rounded to bfloat16, ties to even.
inline void store_bf16(uint16_t* p, Floats x) {
    const uint32x4_t bits = vreinterpretq_u32_f32(x.v);
    const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits, 16), vdupq_n_u32(1));
    vst1_u16(p, vshrn_n_u32(vaddq_u32(vaddq_u32(bits, vdupq_n_u32(0x7FFF)), odd), 16));
}

// Four 32-bit integers, or other data of that size.
struct Bits {
    int32x4_t v;
};
inline Bits load_bits(const void* p) { return {vreinterpretq_s32_u8(vld1q_u8(static_cast<const uint8_t*>(p)))}; }
inline Bits spread_bits(const void* p) {
    int32_t word;
    std::memcpy(&word, p, 4);
    return {vdupq_n_s32(word)};
}
inline Bits no_bits() { return {vdupq_n_s32(0)}; }
inline Floats floats(Bits x) { return {vcvtq_f32_s32(x.v)}; }
// a and b rounded to 16-bit integers, a in the low half of each lane and b in the high half.
inline void store_pairs(int32_t* p, Floats a, Floats b) {
    vst1q_s32(p, vsliq_n_s32(vcvtnq_s32_f32(a.v), vcvtnq_s32_f32(b.v), 16));
}
inline Bits widen_bytes(const int8_t* p) { return {vreinterpretq_s32_s16(vmovl_s8(vld1_s8(p)))}; }
inline Bits add_pairs(Bits sum, Bits x, Bits w) {
    const int16x8_t a = vreinterpretq_s16_s32(x.v), b = vreinterpretq_s16_s32(w.v);
    const int32x4_t low = vmull_s16(vget_low_s16(a), vget_low_s16(b)), high = vmull_high_s16(a, b);
    return {vaddq_s32(sum.v, vpaddq_s32(low, high))};
}
// The bfloat16 values at even and at odd positions, as floats.
inline Floats even(Bits x) { return {vreinterpretq_f32_s32(vshlq_n_s32(x.v, 16))}; }
inline Floats odd(Bits x) { return {vreinterpretq_f32_s32(vandq_s32(x.v, vdupq_n_s32(-65536)))}; }
