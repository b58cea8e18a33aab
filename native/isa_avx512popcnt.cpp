// Counts bits with AVX512-VPOPCNTDQ, eight words per instruction.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,fma"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx512.h"
#include "kernels/product.h"
#include "kernels/schemes.h"

struct Words {
    __m512i v;
};

constexpr int WORDS = 8;         // of 64 bits in a vector
constexpr int BIT_ROWS = 6;      // rows, and
constexpr int BIT_VECTORS = 4;   // vectors of queries at once: 24 of the 32 registers hold counts
constexpr int COUNTS = 1 << 30;  // counts have 64 bits and do not overflow

inline Words no_words() { return {_mm512_setzero_si512()}; }
inline Words load_words(const void* p) { return {_mm512_loadu_si512(p)}; }
inline void store_words(void* p, Words x) { _mm512_storeu_si512(p, x.v); }
inline Words splat_word(const void* p) {
    long long word;
    std::memcpy(&word, p, 8);
    return {_mm512_set1_epi64(word)};
}
inline Words differing(Words a, Words b) { return {_mm512_xor_si512(a.v, b.v)}; }
inline Words count_bits(Words counts, Words x) { return {_mm512_add_epi64(counts.v, _mm512_popcnt_epi64(x.v))}; }
inline Words add_counts(Words total, Words counts) { return {_mm512_add_epi64(total.v, counts.v)}; }
inline unsigned within(Words x, Words farthest) { return _mm512_cmple_epi64_mask(x.v, farthest.v); }

#include "kernels/scan_bits.h"
}  // namespace

const ScanKernel popcnt_scan = bits_kernel;
}  // namespace likewise

#include "simd/end.h"

#endif
