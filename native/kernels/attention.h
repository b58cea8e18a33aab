// softmax(Q K' / sqrt(width)) V within one sentence, for as many queries at a time as a vector has lanes.
// Each lane is a query, so the maximum, exponentials and sums of the softmax are plain vector operations, key by key.
#pragma once

#include "softmax.h"

// The state of one attention head while it processes one sentence.
struct Head {
    const float* keys;
    long key_stride;
    const float* values;
    long value_stride;
    int width, padded;      // the head width; the same, padded to whole vectors
    float divisor;
    Biases biases;
    int before, behind;
    float* turned;  // [width][WIDTH]: the queries, one per lane
    float* scores;  // [keys][WIDTH]
    float* result;  // [WIDTH][padded]

    // Stores the scores of `COUNT` keys with the queries; returns the maximum of these scores and `most`.
    template <int COUNT>
    Floats score(int query, int key, Floats most) const {
        Floats sums[COUNT];
        each<COUNT>([&](auto j) { sums[j] = splat(0.0F); });
        const float* from = keys + key * key_stride;
        for (int d = 0; d < width; d++) {
            const Floats q = load(turned + d * WIDTH);
            each<COUNT>([&](auto j) { sums[j] = fma(q, splat(from[j * key_stride + d]), sums[j]); });
        }
        each<COUNT>([&](auto j) {
            sums[j] = placed(*this, sums[j], biases.at(query, key + j), query - (key + j));
            store(scores + (key + j) * WIDTH, sums[j]);
            most = max(most, sums[j]);
        });
        return most;
    }
};

// Sums the values, weighted by the scores of `ROWS` queries, for `VECTORS` vectors.
template <int ROWS, int VECTORS>
void weigh(const Head& h, int row, int column, int from, int to) {
    Floats sums[ROWS][VECTORS];
    each<ROWS>([&](auto r) { each<VECTORS>([&](auto c) { sums[r][c] = splat(0.0F); }); });
    for (int key = from; key < to; key++) {
        const float* value = h.values + key * h.value_stride + column;
        const float* weight = h.scores + key * WIDTH + row;
        Floats v[VECTORS];
        each<VECTORS>([&](auto c) { v[c] = load(value + c * WIDTH); });
        each<ROWS>([&](auto r) {
            const Floats w = splat(weight[r]);
            each<VECTORS>([&](auto c) { sums[r][c] = fma(w, v[c], sums[r][c]); });
        });
    }
    each<ROWS>([&](auto r) {
        each<VECTORS>([&](auto c) { store(h.result + (row + r) * h.padded + column + c * WIDTH, sums[r][c]); });
    });
}

template <int ROWS>
void weigh_rows(const Head& h, int row, int from, int to) {
    int column = 0;
    for (; column + 2 * WIDTH <= h.padded; column += 2 * WIDTH) weigh<ROWS, 2>(h, row, column, from, to);
    if (column < h.padded) weigh<ROWS, 1>(h, row, column, from, to);
}

// Turns scores into weights, not yet divided by their sums; returns the sums, one per lane.
inline Floats soften(float* scores, int from, int to, Floats most) {
    Floats total = splat(0.0F);
    for (int key = from; key < to; key++) {
        const Floats weight = power_of_two(sub(load(scores + key * WIDTH), most));
        store(scores + key * WIDTH, weight);
        total = add(total, weight);
    }
    return total;
}

// Processes up to WIDTH queries of a head, starting with `query`, whose vectors are at `from`.
inline void attend_some(const Attention& a, const Head& h, const float* from, int query, float* out) {
    const int rows = std::min(WIDTH, a.tokens - query);
    const Floats factor = splat(LOG2_E / h.divisor);  // exponentials are powers of 2
    for (int d = 0; d < h.width; d += WIDTH) transpose(from + d, a.stride, factor, h.turned + d * WIDTH);
    const Seen seen(a, query, rows);
    const Floats most = score_keys(h, query, seen.begin, seen.end);
    float totals[WIDTH];
    store(totals, divide(splat(1.0F), soften(h.scores, seen.begin, seen.end, most)));
    for (int row = 0; row < rows; row += QUERIES) {
        const int some = std::min(QUERIES, rows - row);
        with_constant<QUERIES>(some, [&](auto count) { weigh_rows<count>(h, row, seen.begin, seen.end); });
    }
    write_rows(h.result, h.padded, h.width, rows, totals, out, a.out_stride);
}

inline void copy_rows(const float* from, long stride, int rows, int width, int padded, float* to) {
    for (int row = 0; row < rows; row++, from += stride, to += padded) {
        std::memcpy(to, from, width * sizeof(float));
        std::memset(to + width, 0, (padded - width) * sizeof(float));
    }
}

void attend(const Attention& a) {
    Head h{};
    h.width = a.width;
    h.padded = (a.width + WIDTH - 1) / WIDTH * WIDTH;
    h.before = a.before;
    h.behind = a.behind;
    h.divisor = a.divisor;
    h.turned = a.work;
    h.scores = h.turned + WIDTH * h.padded;
    h.result = h.scores + static_cast<long>(WIDTH) * a.tokens;
    float* copies = h.result + WIDTH * h.padded;
    const bool copied = a.tokens > SHORT || h.padded != h.width;
    for (int head = 0; head < a.heads; head++) {
        const long at = static_cast<long>(head) * a.width;
        h.biases = Biases(a, head);
        if (head % a.group == 0) {
            h.keys = a.keys + at / a.group;
            h.values = a.values + at / a.group;
            h.key_stride = h.value_stride = a.stride;
            if (copied) {
                float* values = copies + static_cast<long>(a.tokens) * h.padded;
                copy_rows(h.keys, a.stride, a.tokens, a.width, h.padded, copies);
                copy_rows(h.values, a.stride, a.tokens, a.width, h.padded, values);
                h.keys = copies;
                h.values = values;
                h.key_stride = h.value_stride = h.padded;
            }
        }
        for (int query = 0; query < a.tokens; query += WIDTH) {
            attend_some(a, h, a.queries + at + query * a.stride, query, a.out + query * a.out_stride + at);
        }
    }
}
