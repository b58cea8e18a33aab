// What attention in floats and attention in whole numbers share.
#pragma once

constexpr int SHORT = 32;  // longer sentences copy a head's keys and values side by side, for the cache's sake

// A score with what the distance from the first lane's query to the key adds to it; none where that is too far.
inline Floats placed(Floats score, const float* relative, int reach, int distance) {
    if (relative) score = add(score, load(relative + distance));
    if (reach < 0 || (std::abs(distance) <= reach && std::abs(distance + WIDTH - 1) <= reach)) return score;
    const Floats far = magnitude(add(counting(), splat(static_cast<float>(distance))));
    return where_less(splat(static_cast<float>(reach) + 0.5F), far, splat(-1e30F), score);
}

// Rows of the result, each multiplied by its share.
inline void write_rows(const float* result, int padded, int width, int rows, const float* shares, float* out,
                       long out_stride) {
    for (int row = 0; row < rows; row++, result += padded, out += out_stride) {
        const Floats share = splat(shares[row]);
        int d = 0;
        for (; d + WIDTH <= width; d += WIDTH) store(out + d, mul(load(result + d), share));
        for (; d < width; d++) out[d] = result[d] * shares[row];
    }
}
