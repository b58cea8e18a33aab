// Counts bits with WebAssembly's SIMD128, which counts the bits of each byte in one instruction.
#pragma once

struct Words {
    v128_t v;
};

constexpr int WORDS = 2;        // of 64 bits in a vector
constexpr int BIT_ROWS = 4;     // rows, and
constexpr int BIT_VECTORS = 2;  // vectors of queries at once
constexpr int COUNTS = 31;      // words to count before byte counters, which grow by up to 8 each, could overflow

inline Words no_words() { return {wasm_i64x2_splat(0)}; }
inline Words load_words(const void* p) { return {wasm_v128_load(p)}; }
inline void store_words(void* p, Words x) { wasm_v128_store(p, x.v); }
inline Words splat_word(const void* p) { return {wasm_v128_load64_splat(p)}; }
inline Words differing(Words a, Words b) { return {wasm_v128_xor(a.v, b.v)}; }

// Each byte is counted separately.
inline Words count_bits(Words counts, Words x) { return {wasm_i8x16_add(counts.v, wasm_i8x16_popcnt(x.v))}; }
inline Words add_counts(Words total, Words counts) {
    const v128_t fours = wasm_u32x4_extadd_pairwise_u16x8(wasm_u16x8_extadd_pairwise_u8x16(counts.v));
    const v128_t eights = wasm_i64x2_add(wasm_u64x2_shr(fours, 32), wasm_v128_and(fours, wasm_i64x2_splat(0xFFFFFFFF)));
    return {wasm_i64x2_add(total.v, eights)};
}

// The lanes in which x is not greater than `farthest`.
inline unsigned within(Words x, Words farthest) {
    return static_cast<unsigned>(wasm_i64x2_bitmask(wasm_i64x2_le(x.v, farthest.v)));
}
