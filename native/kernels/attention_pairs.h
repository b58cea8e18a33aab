// Attention over long sentences in 16-bit integers, multiplied in pairs, which takes half as many instructions as with
// floats. Sums are exact in 32 bits, and scales depend only on the sentence. The template parameter DOT adds the
// products of two pairs of 16-bit numbers in every lane.
#pragma once

// The state of one attention head while it processes one sentence.
template <Bits (*DOT)(Bits, Bits, Bits)>
struct PairedHead {
    const int16_t* keys;    // [keys][width]
    const int32_t* values;  // [pairs of keys][width]
    int width, before, behind;
    Biases biases;
    float score_step;       // converts integer scores to exponents of two
    int32_t* turned;        // [pairs of dimensions][WIDTH]: the queries, one per lane
    float* scores;          // [keys][WIDTH]; later the weights, in pairs
    float* result;          // [WIDTH][width]

    template <int COUNT>
    Floats score(int query, int key, Floats most) const {
        Bits sums[COUNT];
        each<COUNT>([&](auto j) { sums[j] = no_bits(); });
        const int16_t* from = keys + static_cast<long>(key) * width;
        for (int d = 0; d < width; d += 2) {
            const Bits q = load_bits(turned + d / 2 * WIDTH);
            each<COUNT>([&](auto j) { sums[j] = DOT(sums[j], q, spread_bits(from + j * width + d)); });
        }
        each<COUNT>([&](auto j) {
            const Floats score = placed(*this, mul(floats(sums[j]), splat(score_step)), biases.at(query, key + j), query - (key + j));
            store(scores + (key + j) * WIDTH, score);
            most = max(most, score);
        });
        return most;
    }
};

// Turns scores into pairs of weights, of which the largest is 2^12; returns their sums, one per lane. `from` is even.
template <Bits (*DOT)(Bits, Bits, Bits)>
Floats soften_pairs(float* scores, int from, int to, Floats most) {
    const Floats least = sub(most, splat(ONE_EXPONENT));
    constexpr int32_t TWO_ONES = 0x10001;
    const Bits ones = spread_bits(&TWO_ONES);
    Bits total = no_bits();
    for (int key = from; key < to; key += 2) {
        const Floats left = power_of_two(sub(load(scores + key * WIDTH), least));
        const Floats right = key + 1 < to ? power_of_two(sub(load(scores + (key + 1) * WIDTH), least)) : splat(0.0F);
        int32_t* weights = reinterpret_cast<int32_t*>(scores) + key / 2 * WIDTH;
        store_pairs(weights, left, right);
        total = DOT(total, load_bits(weights), ones);
    }
    return floats(total);
}

// Sums the values in a block of pairs of keys, weighted for `ROWS` queries, for `VECTORS` vectors.
template <Bits (*DOT)(Bits, Bits, Bits), int ROWS, int VECTORS>
void weigh_pairs(const PairedHead<DOT>& h, int row, int column, int from, int to, bool more) {
    Bits sums[ROWS][VECTORS];
    each<ROWS>([&](auto r) { each<VECTORS>([&](auto c) { sums[r][c] = no_bits(); }); });
    for (int pair = from; pair < to; pair++) {
        const int32_t* value = h.values + static_cast<long>(pair) * h.width + column;
        const auto weight = reinterpret_cast<const int32_t*>(h.scores) + pair * WIDTH + row;
        Bits v[VECTORS];
        each<VECTORS>([&](auto c) { v[c] = load_bits(value + c * WIDTH); });
        each<ROWS>([&](auto r) {
            each<VECTORS>([&](auto c) { sums[r][c] = DOT(sums[r][c], v[c], spread_bits(weight + r)); });
        });
    }
    each<ROWS>([&](auto r) {
        each<VECTORS>([&](auto c) {
            float* to = h.result + (row + r) * h.width + column + c * WIDTH;
            store(to, more ? add(load(to), floats(sums[r][c])) : floats(sums[r][c]));
        });
    });
}

// Blocks start at multiples of KEY_BLOCK, regardless of which keys the queries attend to.
template <int VECTORS, Bits (*DOT)(Bits, Bits, Bits)>
void weigh_column(const PairedHead<DOT>& h, int column, int from, int to) {
    constexpr int BLOCK = KEY_BLOCK / 2;
    for (int pair = from; pair < to; pair = (pair / BLOCK + 1) * BLOCK) {
        const int end = std::min(to, (pair / BLOCK + 1) * BLOCK);
        for (int row = 0; row < WIDTH; row += QUERIES) {
            weigh_pairs<DOT, QUERIES, VECTORS>(h, row, column, pair, end, pair > from);
        }
    }
}

// Processes up to WIDTH queries of a head, starting with `query`, whose vectors are at `from`.
template <Bits (*DOT)(Bits, Bits, Bits)>
void attend_some_pairs(const Attention& a, const PairedHead<DOT>& h, const PairScales& scales, const float* from,
                       int query, float* out) {
    const int rows = std::min(WIDTH, a.tokens - query);
    float column[WIDTH * WIDTH];
    for (int d = 0; d < h.width; d += WIDTH) {
        transpose(from + d, a.stride, splat(scales.query), column);
        for (int i = 0; i < WIDTH; i += 2) {
            store_pairs(h.turned + (d + i) / 2 * WIDTH, load(column + i * WIDTH), load(column + (i + 1) * WIDTH));
        }
    }
    const Seen seen(a, query, rows);
    const int begin = seen.begin / 2 * 2, end = seen.end;
    const Floats most = score_keys(h, query, begin, end);
    float shares[WIDTH];
    store(shares, divide(splat(scales.value_step), soften_pairs<DOT>(h.scores, begin, end, most)));
    int d = 0;
    for (; d + 2 * WIDTH <= h.width; d += 2 * WIDTH) weigh_column<2>(h, d, begin / 2, (end + 1) / 2);
    if (d < h.width) weigh_column<1>(h, d, begin / 2, (end + 1) / 2);
    write_rows(h.result, h.width, h.width, rows, shares, out, a.out_stride);
}

inline float largest_of_rows(const float* rows, long stride, int count, int width) {
    Floats most = splat(1e-30F);
    for (int row = 0; row < count; row++, rows += stride) {
        for (int d = 0; d < width; d += WIDTH) most = max(magnitude(load(rows + d)), most);
    }
    return largest(most);
}

// Multiplies rows by `scale` and rounds them to integers.
inline void round_rows(const float* rows, long stride, int count, int width, float scale, int16_t* to) {
    for (int row = 0; row < count; row++, rows += stride, to += width) {
        for (int d = 0; d < width; d += WIDTH) store_whole(to + d, mul(load(rows + d), splat(scale)));
    }
}

// The same for two rows, interleaved; a missing second row is zero.
inline void round_pairs(const float* rows, long stride, int count, int width, float scale, int32_t* to) {
    for (int row = 0; row < count; row += 2, rows += 2 * stride, to += width) {
        for (int d = 0; d < width; d += WIDTH) {
            const Floats second = row + 1 < count ? load(rows + stride + d) : splat(0.0F);
            store_pairs(to + d, mul(load(rows + d), splat(scale)), mul(second, splat(scale)));
        }
    }
}

// The 16-bit counterpart of `attend`, for sentences that `in_pairs` accepts.
template <Bits (*DOT)(Bits, Bits, Bits)>
void attend_pairs(const Attention& a) {
    PairedHead<DOT> h{};
    h.width = a.width;
    h.before = a.before;
    h.behind = a.behind;
    h.turned = reinterpret_cast<int32_t*>(a.work);
    h.scores = a.work + WIDTH * a.width;
    h.result = h.scores + static_cast<long>(WIDTH) * (a.tokens + 1);
    auto keys = reinterpret_cast<int16_t*>(h.result + static_cast<long>(WIDTH) * a.width);
    auto values = reinterpret_cast<int32_t*>(keys + static_cast<long>(a.tokens) * a.width);
    h.keys = keys;
    h.values = values;
    float largest_key = 0.0F, largest_value = 0.0F;
    for (int head = 0; head < a.heads; head++) {
        const long at = static_cast<long>(head) * a.width;
        const bool first = head % a.group == 0;  // the first of the heads that share keys and values
        const float *from_keys = a.keys + at / a.group, *from_values = a.values + at / a.group;
        h.biases = Biases(a, head);
        const auto largest = [&](const float* rows) { return largest_of_rows(rows, a.stride, a.tokens, a.width); };
        if (first) largest_key = largest(from_keys);
        if (first) largest_value = largest(from_values);
        const PairScales scales(a.width, a.divisor, largest(a.queries + at), largest_key, largest_value);
        h.score_step = scales.score_step;
        if (first) round_rows(from_keys, a.stride, a.tokens, a.width, scales.key, keys);
        if (first) round_pairs(from_values, a.stride, a.tokens, a.width, scales.value, values);
        for (int query = 0; query < a.tokens; query += WIDTH) {
            attend_some_pairs(a, h, scales, a.queries + at + query * a.stride, query,
                              a.out + query * a.out_stride + at);
        }
    }
}

[[maybe_unused]] void attend_rounded(const Attention& a) { in_pairs(a) ? attend_pairs<add_pairs>(a) : attend(a); }
