// Conversions between 16-bit numbers and floats.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

namespace likewise {

inline uint32_t bits_of(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, 4);
    return bits;
}

inline float float_of(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, 4);
    return x;
}

inline float from_bfloat16(uint16_t half) { return float_of(static_cast<uint32_t>(half) << 16); }

// Rounds ties to even.
inline uint16_t bfloat16_of(float x) {
    const uint32_t bits = bits_of(x);
    return static_cast<uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16);
}

inline float from_float16(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16, exponent = (half >> 10) & 31U;
    const uint32_t fraction = half & 1023U;
    if (exponent == 31) return float_of(sign | 0x7F800000U | fraction << 13);
    if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(fraction), -24), float_of(sign));
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

}  // namespace likewise
