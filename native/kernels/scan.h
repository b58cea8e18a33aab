// Scores of a block of rows and packed queries, of which those above a query's floor are written down. A sum runs over
// the inputs in one order, whatever the block, so that a score depends on its row and query alone.
#pragma once

inline Floats floats(Floats x) { return x; }

template <class Scheme>
typename Scheme::Sum first_sum(const ScanBlock& b, int column) {
    if constexpr (Scheme::GROUP == 1)
        return splat(0.0F);
    else {
        Packed packed;
        packed.starts = b.starts;
        return Scheme::start(packed, column);
    }
}

// Scores of a tile above their floors, as hits. It is apart from the sums, which with these branches behind them would
// be kept in memory all along (GCC 12).
template <int VECTORS>
Hit* write_hits(const float* scores, const ScanBlock& b, int row, int column, Hit* hits) {
    for (int r = 0; r < SCAN_ROWS && row + r < b.count; r++) {
        for (int c = 0; c < VECTORS * WIDTH; c += WIDTH, scores += WIDTH) {
            unsigned passed = above(load(scores), load(b.floors + column + c));
            for (; passed != 0; passed &= passed - 1) {
                const int lane = __builtin_ctz(passed);
                *hits++ = {row + r, column + c + lane, scores[lane]};
            }
        }
    }
    return hits;
}

template <class Scheme, int VECTORS>
Hit* scan_tile(const ScanBlock& b, int row, int column, const typename Scheme::Weight* queries, Hit* hits) {
    using Row = typename Scheme::Row;
    typename Scheme::Sum sums[SCAN_ROWS][VECTORS];
    each<VECTORS>([&](auto c) {
        const auto start = first_sum<Scheme>(b, column + c * WIDTH);
        each<SCAN_ROWS>([&](auto r) { sums[r][c] = start; });
    });
    const Row* rows[SCAN_ROWS];
    each<SCAN_ROWS>([&](auto r) { rows[r] = static_cast<const Row*>(b.rows[row + r]); });
    for (long k = 0; k < b.inputs; k += Scheme::GROUP, queries += VECTORS * WIDTH * Scheme::GROUP) {
        decltype(Scheme::weights(queries)) w[VECTORS];
        each<VECTORS>([&](auto c) { w[c] = Scheme::weights(queries + c * WIDTH * Scheme::GROUP); });
        each<SCAN_ROWS>([&](auto r) {
            const auto x = Scheme::spread(rows[r] + k);
            each<VECTORS>([&](auto c) { sums[r][c] = Scheme::step(sums[r][c], x, w[c]); });
        });
    }
    float scores[SCAN_ROWS * VECTORS * WIDTH];
    each<VECTORS>([&](auto c) {
        const Floats factors = load(b.query_factors + column + c * WIDTH);
        each<SCAN_ROWS>([&](auto r) {
            const Floats score = mul(mul(floats(sums[r][c]), splat(b.factors[row + r])), factors);
            store(scores + (r * VECTORS + c) * WIDTH, score);
        });
    });
    return write_hits<VECTORS>(scores, b, row, column, hits);
}

template <class Scheme, int VECTORS>
Hit* scan_panel(int vectors, const ScanBlock& b, int column, Hit* hits) {
    if (vectors == VECTORS) {
        auto queries = static_cast<const typename Scheme::Weight*>(b.queries) + static_cast<long>(column) * b.inputs;
        for (int row = 0; row < b.count; row += SCAN_ROWS) {
            hits = scan_tile<Scheme, VECTORS>(b, row, column, queries, hits);
        }
        return hits;
    }
    if constexpr (VECTORS > 1)
        return scan_panel<Scheme, VECTORS - 1>(vectors, b, column, hits);
    else
        return hits;
}

// Panels outside, rows inside: a panel stays in the nearest caches while the rows pass.
template <class Scheme>
size_t scan(const ScanBlock& b) {
    Hit* hits = b.hits;
    const int vectors = b.columns / WIDTH, panels = panels_of(vectors, SCAN_VECTORS);
    for (int panel = 0; panel < panels; panel++) {
        const int first = panel_start(vectors, panels, panel), next = panel_start(vectors, panels, panel + 1);
        hits = scan_panel<Scheme, SCAN_VECTORS>(next - first, b, first * WIDTH, hits);
    }
    return static_cast<size_t>(hits - b.hits);
}

// Bytes as a scheme's rows have them.
template <class Row>
void widen(const void* stored, int count, void* out) {
    auto from = static_cast<const int8_t*>(stored);
    auto to = static_cast<Row*>(out);
    constexpr int OFFSET = std::is_unsigned<Row>::value ? 128 : 0;
    for (int i = 0; i < count; i++) to[i] = static_cast<Row>(from[i] + OFFSET);
}

template <class Scheme>
constexpr ScanKernel scan_kernel(void (*widen)(const void*, int, void*)) {
    using Row = typename Scheme::Row;
    return {WIDTH,
            SCAN_VECTORS,
            SCAN_ROWS,
            Scheme::GROUP,
            sizeof(typename Scheme::Weight),
            sizeof(Row),
            std::is_unsigned<Row>::value ? 128 : 0,
            scan<Scheme>,
            widen};
}

inline float squares(const float* x, int count) {
    Floats sums[4] = {splat(0.0F), splat(0.0F), splat(0.0F), splat(0.0F)};
    int i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        each<4>([&](auto j) { sums[j] = fma(load(x + i + j * WIDTH), load(x + i + j * WIDTH), sums[j]); });
    }
    for (; i < count; i += WIDTH) {
        float rest[WIDTH] = {};
        std::copy(x + i, x + std::min(count, i + WIDTH), rest);
        sums[0] = fma(load(rest), load(rest), sums[0]);
    }
    return sum(add(add(sums[0], sums[1]), add(sums[2], sums[3])));
}

[[maybe_unused]] void from_fp16(const void* stored, int count, float* out) {
    auto from = static_cast<const uint16_t*>(stored);
    int i = 0;
    for (; i + WIDTH <= count; i += WIDTH) store(out + i, load_halves(from + i));
    uint16_t rest[WIDTH] = {};
    float widened[WIDTH];
    std::copy(from + i, from + count, rest);
    store(widened, load_halves(rest));
    std::copy(widened, widened + (count - i), out + i);
}
