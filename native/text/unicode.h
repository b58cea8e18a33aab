// Code points: their properties, UTF-8, canonical and compatibility decomposition, and composition (UAX #15).
#pragma once

#include <string>

#include "unicode_tables.h"

namespace likewise::unicode {

constexpr char32_t REPLACEMENT = 0xFFFD;
constexpr char32_t DOTTED_I = 0x130;  // the only code point whose lower case has two characters, i and U+0307
constexpr char32_t DOT_ABOVE = 0x307;

inline const CodePoint& properties(char32_t c) {
    return RECORDS[RECORD_NUMBERS[BLOCKS[c / BLOCK_SIZE] * BLOCK_SIZE + c % BLOCK_SIZE]];
}

inline bool has(char32_t c, uint16_t flags) { return properties(c).flags & flags; }

inline char32_t lower(char32_t c) { return static_cast<char32_t>(static_cast<int32_t>(c) + properties(c).lower); }

// Reads the code point at `at` and advances `at`. Invalid bytes become as many U+FFFD as in Python's decoder.
inline char32_t decode(const unsigned char*& at, const unsigned char* end) {
    const unsigned char first = *at++;
    if (first < 0x80) return first;
    const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
    if (first < 0xC2 || first > 0xF4) return REPLACEMENT;
    char32_t c = first & (0x3F >> more);
    for (int i = 0; i < more; i++) {
        const unsigned char least = i ? 0x80 : first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
        const unsigned char most = i ? 0xBF : first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
        if (at == end || *at < least || *at > most) return REPLACEMENT;
        c = c << 6 | (*at++ & 0x3F);
    }
    return c;
}

// Writes the code point as UTF-8 and returns the number of bytes, at most 4.
inline int encode(char32_t c, char* out) {
    if (c < 0x80) {
        out[0] = static_cast<char>(c);
        return 1;
    }
    const int more = c >= 0x10000 ? 3 : c >= 0x800 ? 2 : 1;
    out[0] = static_cast<char>((0xFF00 >> (more + 1)) | (c >> 6 * more));
    for (int i = 1; i <= more; i++) out[i] = static_cast<char>(0x80 | (c >> 6 * (more - i) & 0x3F));
    return more + 1;
}

inline void append(std::string& text, char32_t c) {
    char bytes[4];
    text.append(bytes, static_cast<size_t>(encode(c, bytes)));
}

std::u32string decoded(const char* text, size_t bytes);
std::string encoded(const std::u32string& text);

struct Parts {
    const uint32_t* first;
    int count;  // 0: the code point has no decomposition
};

// The full decomposition of a code point that is not a Hangul syllable.
Parts decomposition(char32_t c, bool compatible);

constexpr char32_t FIRST_SYLLABLE = 0xAC00, FIRST_L = 0x1100, FIRST_V = 0x1161, FIRST_T = 0x11A7;
constexpr int SYLLABLES = 11172, L_COUNT = 19, V_COUNT = 21, T_COUNT = 28;

// Writes the two or three letters of a Hangul syllable and returns their number; 0 for other code points.
int hangul_letters(char32_t c, char32_t out[3]);

// The composition of two code points; 0 if they do not compose.
char32_t composed(char32_t first, char32_t second);

}  // namespace likewise::unicode
