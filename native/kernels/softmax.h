// Powers of two, for softmax and activations, and what attention in floats and attention in integers share.
#pragma once

// By Horner's rule.
template <int COUNT>
[[gnu::always_inline]] inline Floats polynomial(Floats x, const float (&coefficients)[COUNT]) {
    Floats sum = splat(coefficients[0]);
    each<COUNT - 1>([&](auto i) { sum = fma(sum, x, splat(coefficients[i + 1])); });
    return sum;
}

// 2^x; 0 below -126. x is at most 127.
inline Floats power_of_two(Floats x) { return times_power(polynomial(fraction(x), POWER), x); }

constexpr int SHORT = 32;  // in longer sentences, a head's keys and values are made contiguous, to suit the cache

// Adds the biases to the scores of a key, which is `distance` tokens before the first lane's query; masks queries that
// do not attend to the key.
template <class Head>
Floats placed(const Head& h, Floats score, const float* bias, int distance) {
    if (bias) score = add(score, load(bias));
    if (distance >= -h.behind && distance + WIDTH - 1 <= h.before) return score;
    const Floats before = add(counting(), splat(static_cast<float>(distance))), hidden = splat(-1e30F);
    const Floats near = where_less(splat(static_cast<float>(h.before) + 0.5F), before, hidden, score);
    return where_less(before, splat(-0.5F - static_cast<float>(h.behind)), hidden, near);
}

// The range of keys that a group of queries attends to.
struct Seen {
    int begin, end;
    Seen(const Attention& a, int query, int count)
        : begin(std::max(0, query - a.before)), end(std::min(a.tokens, query + count + a.behind)) {}
};

// The biases of a head, if there are any.
struct Biases {
    const float* first;  // that of the first query and key; or null
    long key_step;
    Biases() : first(nullptr), key_step(0) {}
    Biases(const Attention& a, int head) : first(a.bias ? a.bias + head * a.head_step : nullptr), key_step(a.key_step) {}
    const float* at(int query, int key) const { return first ? first + query + key * key_step : nullptr; }
};

// Writes rows of the result, each multiplied by its factor.
inline void write_rows(const float* result, int padded, int width, int rows, const float* shares, float* out,
                       long out_stride) {
    for (int row = 0; row < rows; row++, result += padded, out += out_stride) {
        const Floats share = splat(shares[row]);
        int d = 0;
        for (; d + WIDTH <= width; d += WIDTH) store(out + d, mul(load(result + d), share));
        for (; d < width; d++) out[d] = result[d] * shares[row];
    }
}

// Computes the head's scores of the keys from `begin` to `end`; returns the maximum of each lane.
template <class Head>
Floats score_keys(const Head& h, int query, int begin, int end) {
    Floats most = splat(-3e38F);
    for (int key = begin, parts = (end - begin + KEYS - 1) / KEYS; parts > 0; parts--) {
        const int count = (end - key + parts - 1) / parts;
        with_constant<KEYS>(count, [&](auto keys) { most = h.template score<keys>(query, key, most); });
        key += count;
    }
    return most;
}
