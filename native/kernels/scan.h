// Scores a block of rows with packed queries, and records scores above each query's floor. A sum runs over the inputs
// in a fixed order, whatever the block, so a score depends only on its row and query.
#pragma once

// Records the scores of a tile that pass as hits. This is a separate function, because GCC 12 would keep the sums in
// memory if these branches followed their loop.
template <class Tile, int VECTORS>
Hit* write_hits(const typename Tile::Number* numbers, const ScanBlock& b, int row, int column, Hit* hits) {
    for (int r = 0; r < Tile::ROWS && row + r < b.count; r++) {
        for (int c = 0; c < VECTORS * Tile::LANES; c += Tile::LANES, numbers += Tile::LANES) {
            for (unsigned passed = Tile::passing(numbers, b, column + c); passed != 0; passed &= passed - 1) {
                const int lane = __builtin_ctz(passed);
                *hits++ = {row + r, column + c + lane, Tile::score(numbers[lane])};
            }
        }
    }
    return hits;
}

// The outer loop is over panels and the inner one over rows, so that a panel stays in the nearest caches.
template <class Tile>
size_t scan(const ScanBlock& b) {
    Hit* hits = b.hits;
    const int vectors = b.columns / Tile::LANES, panels = panels_of(vectors, Tile::VECTORS);
    for (int panel = 0; panel < panels; panel++) {
        const int first = panel_start(vectors, panels, panel), next = panel_start(vectors, panels, panel + 1);
        const int column = first * Tile::LANES;
        const auto queries = static_cast<const typename Tile::Query*>(b.queries) + static_cast<long>(column) * b.inputs;
        with_constant<Tile::VECTORS>(next - first, [&](auto count) {
            for (int row = 0; row < b.count; row += Tile::ROWS) {
                hits = Tile::template compare<count>(b, row, column, queries, hits);
            }
        });
    }
    return static_cast<size_t>(hits - b.hits);
}

inline Floats floats(Floats x) { return x; }

template <class Scheme>
typename Scheme::Sum first_sum(const ScanBlock& b, int column) {
    if constexpr (Scheme::GROUP == 1) return splat(0.0F);
    Packed packed;
    packed.starts = b.starts;
    return Scheme::start(packed, column);
}

template <class Scheme>
struct ScanTile {
    using Query = typename Scheme::Weight;
    using Number = float;
    static constexpr int LANES = WIDTH, ROWS = SCAN_ROWS, VECTORS = SCAN_VECTORS;

    static unsigned passing(const float* scores, const ScanBlock& b, int column) {
        return above(load(scores), load(b.floors + column));
    }
    static float score(float number) { return number; }

    template <int COUNT>
    static Hit* compare(const ScanBlock& b, int row, int column, const Query* queries, Hit* hits) {
        using Row = typename Scheme::Row;
        typename Scheme::Sum sums[ROWS][COUNT];
        each<COUNT>([&](auto c) {
            const auto start = first_sum<Scheme>(b, column + c * WIDTH);
            each<ROWS>([&](auto r) { sums[r][c] = start; });
        });
        const Row* rows[ROWS];
        each<ROWS>([&](auto r) { rows[r] = static_cast<const Row*>(b.rows[row + r]); });
        for (long k = 0; k < b.inputs; k += Scheme::GROUP, queries += COUNT * WIDTH * Scheme::GROUP) {
            decltype(Scheme::weights(queries)) w[COUNT];
            each<COUNT>([&](auto c) { w[c] = Scheme::weights(queries + c * WIDTH * Scheme::GROUP); });
            each<ROWS>([&](auto r) {
                const auto x = Scheme::spread(rows[r] + k);
                each<COUNT>([&](auto c) { sums[r][c] = Scheme::step(sums[r][c], x, w[c]); });
            });
        }
        float scores[ROWS * COUNT * WIDTH];
        each<COUNT>([&](auto c) {
            const Floats factors = load(b.query_factors + column + c * WIDTH);
            each<ROWS>([&](auto r) {
                const Floats score = mul(mul(floats(sums[r][c]), splat(b.factors[row + r])), factors);
                store(scores + (r * COUNT + c) * WIDTH, score);
            });
        });
        return write_hits<ScanTile, COUNT>(scores, b, row, column, hits);
    }
};

// Converts a row of int8 to the scheme's type, adding 128 if that is unsigned.
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
    constexpr int OFFSET = std::is_unsigned<Row>::value ? 128 : 0;
    return {WIDTH, SCAN_VECTORS, SCAN_ROWS, Scheme::GROUP, sizeof(typename Scheme::Weight), sizeof(Row), OFFSET,
            scan<ScanTile<Scheme>>, widen};
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
