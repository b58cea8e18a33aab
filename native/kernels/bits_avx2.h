// Counts bits with AVX2, by looking up half a byte at a time in a table (Mula, Kurz and Lemire 2018).
#pragma once

struct Words {
    __m256i v;
};

constexpr int WORDS = 4;        // of 64 bits in a vector
constexpr int BIT_ROWS = 4;     // rows, and
constexpr int BIT_VECTORS = 2;  // vectors of queries at once: 8 of the 16 registers hold counts
constexpr int COUNTS = 31;      // words to count before byte counters, which grow by up to 8 each, could overflow

inline Words no_words() { return {_mm256_setzero_si256()}; }
inline Words load_words(const void* p) { return {_mm256_loadu_si256(static_cast<const __m256i*>(p))}; }
inline void store_words(void* p, Words x) { _mm256_storeu_si256(static_cast<__m256i*>(p), x.v); }
inline Words splat_word(const void* p) {
    long long word;
    std::memcpy(&word, p, 8);
    return {_mm256_set1_epi64x(word)};
}
inline Words differing(Words a, Words b) { return {_mm256_xor_si256(a.v, b.v)}; }

// Each byte is counted separately.
inline Words count_bits(Words counts, Words x) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,  //
                                           0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(15);
    const __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(x.v, half));
    const __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x.v, 4), half));
    return {_mm256_add_epi8(counts.v, _mm256_add_epi8(low, high))};
}
inline Words add_counts(Words total, Words counts) {
    return {_mm256_add_epi64(total.v, _mm256_sad_epu8(counts.v, _mm256_setzero_si256()))};
}

// The lanes in which x is not greater than `farthest`.
inline unsigned within(Words x, Words farthest) {
    const __m256i beyond = _mm256_cmpgt_epi64(x.v, farthest.v);
    return 15U & ~static_cast<unsigned>(_mm256_movemask_pd(_mm256_castsi256_pd(beyond)));
}
