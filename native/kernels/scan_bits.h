// Distances (bits that differ) of a block of rows and packed queries, of which those that are near enough are written
// down. Given: Words, Counts, and what is counted of them at once.
#pragma once

// Distances of a tile that are near enough, as hits; apart from the counts, as with sums.
template <int VECTORS>
Hit* write_near(const int64_t* distances, const ScanBlock& b, int row, int column, Hit* hits) {
    for (int r = 0; r < BIT_ROWS && row + r < b.count; r++) {
        for (int c = 0; c < VECTORS * WORDS; c += WORDS, distances += WORDS) {
            unsigned passed = within(load_words(distances), load_words(b.farthest + column + c));
            for (; passed != 0; passed &= passed - 1) {
                const int lane = __builtin_ctz(passed);
                *hits++ = {row + r, column + c + lane, -static_cast<float>(distances[lane])};
            }
        }
    }
    return hits;
}

template <int VECTORS>
Hit* bits_tile(const ScanBlock& b, int row, int column, const uint64_t* queries, Hit* hits) {
    Words totals[BIT_ROWS][VECTORS];
    each<BIT_ROWS>([&](auto r) { each<VECTORS>([&](auto c) { totals[r][c] = no_words(); }); });
    const uint64_t* rows[BIT_ROWS];
    each<BIT_ROWS>([&](auto r) { rows[r] = static_cast<const uint64_t*>(b.rows[row + r]); });
    for (int begin = 0; begin < b.inputs; begin += COUNTS) {  // so many that counts do not overflow
        Words counts[BIT_ROWS][VECTORS];
        each<BIT_ROWS>([&](auto r) { each<VECTORS>([&](auto c) { counts[r][c] = no_words(); }); });
        for (int k = begin; k < std::min(b.inputs, begin + COUNTS); k++, queries += VECTORS * WORDS) {
            Words q[VECTORS];
            each<VECTORS>([&](auto c) { q[c] = load_words(queries + c * WORDS); });
            each<BIT_ROWS>([&](auto r) {
                const Words x = splat_word(rows[r] + k);
                each<VECTORS>([&](auto c) { counts[r][c] = count_bits(counts[r][c], differing(x, q[c])); });
            });
        }
        each<BIT_ROWS>(
            [&](auto r) { each<VECTORS>([&](auto c) { totals[r][c] = add_counts(totals[r][c], counts[r][c]); }); });
    }
    int64_t distances[BIT_ROWS * VECTORS * WORDS];
    each<BIT_ROWS>([&](auto r) {
        each<VECTORS>([&](auto c) { store_words(distances + (r * VECTORS + c) * WORDS, totals[r][c]); });
    });
    return write_near<VECTORS>(distances, b, row, column, hits);
}

template <int VECTORS>
Hit* bits_panel(int vectors, const ScanBlock& b, int column, Hit* hits) {
    if (vectors == VECTORS) {
        const uint64_t* queries = static_cast<const uint64_t*>(b.queries) + static_cast<long>(column) * b.inputs;
        for (int row = 0; row < b.count; row += BIT_ROWS) hits = bits_tile<VECTORS>(b, row, column, queries, hits);
        return hits;
    }
    if constexpr (VECTORS > 1)
        return bits_panel<VECTORS - 1>(vectors, b, column, hits);
    else
        return hits;
}

[[maybe_unused]] size_t scan_bits(const ScanBlock& b) {
    Hit* hits = b.hits;
    const int vectors = b.columns / WORDS, panels = panels_of(vectors, BIT_VECTORS);
    for (int panel = 0; panel < panels; panel++) {
        const int first = panel_start(vectors, panels, panel), next = panel_start(vectors, panels, panel + 1);
        hits = bits_panel<BIT_VECTORS>(next - first, b, first * WORDS, hits);
    }
    return static_cast<size_t>(hits - b.hits);
}

constexpr ScanKernel bits_kernel = {WORDS, BIT_VECTORS, BIT_ROWS, 1, 8, 8, 0, scan_bits, nullptr};
