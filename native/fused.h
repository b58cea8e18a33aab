// A fused multiply-add of floats, for processors without such an instruction.
#pragma once

#include <cstdint>
#include <cstring>

namespace likewise {

// a * b + c, rounded once. In double precision the product is exact; the sum is rounded to an odd last bit if it is not
// exact, so that rounding it again, to a float, gives what one rounding would (Boldo and Melquiond 2008). Why not
// std::fmaf: musl's version needs a rounding mode that WebAssembly lacks, and is wrong for sums that lie halfway.
inline float fused(float a, float b, float c) {
    const double product = static_cast<double>(a) * b, sum = product + c, part = sum - product;
    const double error = (product - (sum - part)) + (c - part);  // exact (Knuth's TwoSum); NaN if the sum is not finite
    int64_t bits;
    std::memcpy(&bits, &sum, 8);
    if ((error < 0.0 || error > 0.0) && (bits & 1) == 0) bits += (error > 0.0) == (sum > 0.0) ? 1 : -1;
    double odd;
    std::memcpy(&odd, &bits, 8);
    return static_cast<float>(odd);
}

}  // namespace likewise
