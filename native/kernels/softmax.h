// Powers of two, for softmax and activations; and the shared parts of attention in floats and in integers.
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

constexpr int SHORT = 32;  // in longer sentences, a head's keys and values are copied side by side, to suit the cache

// A score plus the bias of the first lane's query and the key, which is `distance` before it; masked if a query does not
// see it.
template <class Head>
Floats placed(const Head& h, Floats score, const float* bias, int distance) {
    if (bias) score = add(score, load(bias));
    if (distance >= -h.behind && distance + WIDTH - 1 <= h.before) return score;
    const Floats before = add(counting(), splat(static_cast<float>(distance))), hidden = splat(-1e30F);
    const Floats near = where_less(splat(static_cast<float>(h.before) + 0.5F), before, hidden, score);
    return where_less(before, splat(-0.5F - static_cast<float>(h.behind)), hidden, near);
}

// The keys that some queries attend to.
struct Seen {
    int begin, end;
    Seen(const Attention& a, int query, int count)
        : begin(std::max(0, query - a.before)), end(std::min(a.tokens, query + count + a.behind)) {}
};

// The biases of a head, if there are any.
struct Biases {
    const float* first;  // of the first query and key; or null
    long key_step;
    Biases() : first(nullptr), key_step(0) {}
    Biases(const Attention& a, int head) : first(a.bias ? a.bias + head * a.head_step : nullptr), key_step(a.key_step) {}
    const float* at(int query, int key) const { return first ? first + query + key * key_step : nullptr; }
};

// Rows of the result, each multiplied by its factor.
inline void write_rows(const float* result, int padded, int width, int rows, const float* shares, float* out,
                       long out_stride) {
    for (int row = 0; row < rows; row++, result += padded, out += out_stride) {
        const Floats share = splat(shares[row]);
        int d = 0;
        for (; d + WIDTH <= width; d += WIDTH) store(out + d, mul(load(result + d), share));
        for (; d < width; d++) out[d] = result[d] * shares[row];
    }
}

// The head's scores of the keys from `begin` to `end`; the largest of each lane is returned.
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
