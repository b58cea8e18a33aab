// Computes the Hamming distances of a block of rows to packed queries, and records those that are small enough. The
// including file defines Words, COUNTS and how many rows and vectors are counted at once.
#pragma once

#include "scan.h"

struct BitsTile {
    using Query = uint64_t;
    using Number = int64_t;
    static constexpr int LANES = WORDS, ROWS = BIT_ROWS, VECTORS = BIT_VECTORS;

    static unsigned passing(const int64_t* distances, const ScanBlock& b, int column) {
        return within(load_words(distances), load_words(b.farthest + column));
    }
    static float score(int64_t distance) { return -static_cast<float>(distance); }

    template <int COUNT>
    static Hit* compare(const ScanBlock& b, int row, int column, const uint64_t* queries, Hit* hits) {
        Words totals[ROWS][COUNT];
        each<ROWS>([&](auto r) { each<COUNT>([&](auto c) { totals[r][c] = no_words(); }); });
        const uint64_t* rows[ROWS];
        each<ROWS>([&](auto r) { rows[r] = static_cast<const uint64_t*>(b.rows[row + r]); });
        for (int begin = 0; begin < b.inputs; begin += COUNTS) {  // few enough words for counts not to overflow
            Words counts[ROWS][COUNT];
            each<ROWS>([&](auto r) { each<COUNT>([&](auto c) { counts[r][c] = no_words(); }); });
            for (int k = begin; k < std::min(b.inputs, begin + COUNTS); k++, queries += COUNT * WORDS) {
                Words q[COUNT];
                each<COUNT>([&](auto c) { q[c] = load_words(queries + c * WORDS); });
                each<ROWS>([&](auto r) {
                    const Words x = splat_word(rows[r] + k);
                    each<COUNT>([&](auto c) { counts[r][c] = count_bits(counts[r][c], differing(x, q[c])); });
                });
            }
            each<ROWS>(
                [&](auto r) { each<COUNT>([&](auto c) { totals[r][c] = add_counts(totals[r][c], counts[r][c]); }); });
        }
        int64_t distances[ROWS * COUNT * WORDS];
        each<ROWS>([&](auto r) {
            each<COUNT>([&](auto c) { store_words(distances + (r * COUNT + c) * WORDS, totals[r][c]); });
        });
        return write_hits<BitsTile, COUNT>(distances, b, row, column, hits);
    }
};

constexpr ScanKernel bits_kernel = {WORDS, BIT_VECTORS, BIT_ROWS, 1, 8, 8, 0, scan<BitsTile>, nullptr};
