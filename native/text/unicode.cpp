#include "unicode.h"

#include <algorithm>

namespace likewise::unicode {

namespace {

template <size_t N, size_t M>
Parts find(const uint32_t (&keys)[N], const uint16_t (&ends)[N], const uint32_t (&pool)[M], char32_t c) {
    const uint32_t* key = std::lower_bound(keys, keys + N, c);
    if (key == keys + N || *key != c) return {nullptr, 0};
    const auto place = key - keys;
    const int start = place ? ends[place - 1] : 0;
    return {pool + start, ends[place] - start};
}

}  // namespace

std::u32string decoded(const char* text, size_t bytes) {
    std::u32string out;
    out.reserve(bytes);
    auto at = reinterpret_cast<const unsigned char*>(text);
    for (const auto* end = at + bytes; at < end;) out += decode(at, end);
    return out;
}

std::string encoded(const std::u32string& text) {
    std::string out;
    for (const char32_t c : text) append(out, c);
    return out;
}

Parts decomposition(char32_t c, bool compatible) {
    const uint16_t flags = properties(c).flags;
    if (compatible && (flags & COMPATIBLE))
        return find(COMPATIBILITY_KEYS, COMPATIBILITY_ENDS, COMPATIBILITY_POOL, c);
    return flags & DECOMPOSES ? find(CANONICAL_KEYS, CANONICAL_ENDS, CANONICAL_POOL, c) : Parts{nullptr, 0};
}

int hangul_letters(char32_t c, char32_t out[3]) {
    const char32_t place = c - FIRST_SYLLABLE;
    if (place >= SYLLABLES) return 0;
    out[0] = FIRST_L + place / (V_COUNT * T_COUNT);
    out[1] = FIRST_V + place % (V_COUNT * T_COUNT) / T_COUNT;
    out[2] = FIRST_T + place % T_COUNT;
    return place % T_COUNT ? 3 : 2;
}

char32_t composed(char32_t first, char32_t second) {
    if (first - FIRST_L < L_COUNT && second - FIRST_V < V_COUNT)
        return FIRST_SYLLABLE + ((first - FIRST_L) * V_COUNT + (second - FIRST_V)) * T_COUNT;
    const bool open = first - FIRST_SYLLABLE < SYLLABLES && (first - FIRST_SYLLABLE) % T_COUNT == 0;
    if (open && second - FIRST_T - 1 < T_COUNT - 1) return first + (second - FIRST_T);
    const uint64_t pair = static_cast<uint64_t>(first) << 32 | second;
    const uint64_t* found = std::lower_bound(std::begin(PAIRS), std::end(PAIRS), pair);
    return found != std::end(PAIRS) && *found == pair ? COMPOSED[found - PAIRS] : 0;
}

}  // namespace likewise::unicode
