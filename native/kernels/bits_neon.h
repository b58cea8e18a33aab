// Counts bits with NEON, which counts the bits of each byte in one instruction.
#pragma once

struct Words {
    uint64x2_t v;
};

constexpr int WORDS = 2;        // of 64 bits in a vector
constexpr int BIT_ROWS = 4;     // rows, and
constexpr int BIT_VECTORS = 3;  // vectors of queries at once
constexpr int COUNTS = 31;      // words to count before byte counters, which grow by up to 8 each, could overflow

inline Words no_words() { return {vdupq_n_u64(0)}; }
inline Words load_words(const void* p) { return {vld1q_u64(static_cast<const uint64_t*>(p))}; }
inline void store_words(void* p, Words x) { vst1q_u64(static_cast<uint64_t*>(p), x.v); }
inline Words splat_word(const void* p) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    return {vdupq_n_u64(word)};
}
inline Words differing(Words a, Words b) { return {veorq_u64(a.v, b.v)}; }

// Each byte is counted separately.
inline Words count_bits(Words counts, Words x) {
    return {vreinterpretq_u64_u8(vaddq_u8(vreinterpretq_u8_u64(counts.v), vcntq_u8(vreinterpretq_u8_u64(x.v))))};
}
inline Words add_counts(Words total, Words counts) {
    const uint16x8_t pairs = vpaddlq_u8(vreinterpretq_u8_u64(counts.v));
    return {vaddq_u64(total.v, vpaddlq_u32(vpaddlq_u16(pairs)))};
}

// The lanes in which x is not greater than `farthest`.
inline unsigned within(Words x, Words farthest) {
    const uint64x2_t near = vcleq_s64(vreinterpretq_s64_u64(x.v), vreinterpretq_s64_u64(farthest.v));
    return static_cast<unsigned>((vgetq_lane_u64(near, 0) & 1U) | (vgetq_lane_u64(near, 1) & 2U));
}
