// A matmul of rows and packed weights, one tile of registers at a time; the scheme defines what one step multiplies.
// A sum runs over the inputs in a fixed order, whatever the tile size, so a row's result depends only on that row.
#pragma once

// Unrolls a loop with a constant count before register allocation: if it is unrolled later, GCC 12 keeps its array of
// sums in memory, which is three times as slow.
template <class Body, int... I>
[[gnu::always_inline]] inline void each(Body body, std::integer_sequence<int, I...>) {
    (body(std::integral_constant<int, I>{}), ...);
}
template <int COUNT, class Body>
[[gnu::always_inline]] inline void each(Body body) {
    each(body, std::make_integer_sequence<int, COUNT>{});
}

// Calls the body with `count`, from 1 to MOST, as a compile-time constant.
template <int MOST, class Body>
inline void with_constant(int count, Body body) {
    if constexpr (MOST > 1) {
        if (count < MOST) return with_constant<MOST - 1>(count, body);
    }
    body(std::integral_constant<int, MOST>{});
}

constexpr int PANEL = TILE_VECTORS * WIDTH;  // columns whose weights are adjacent
constexpr long LINE = 64;                    // bytes of a cache line
constexpr int STEPS = 8;                     // steps between prefetches

// Memory to prefetch while a tile is computed: a line every few steps, because all at once would delay other loads.
struct Ahead {
    const char* next;
    const char* end;
    int lines;  // lines at a time
};

template <class Scheme, int ROWS>
void tile(const Product& p, int row, int column, Ahead ahead) {
    using Row = typename Scheme::Row;
    typename Scheme::Sum sums[ROWS][TILE_VECTORS];
    each<TILE_VECTORS>([&](auto c) {
        const auto start = Scheme::start(*p.weights, column + c * WIDTH);
        each<ROWS>([&](auto r) { sums[r][c] = start; });
    });
    const long inputs = p.weights->inputs;
    const Row* rows[ROWS];
    each<ROWS>([&](auto r) { rows[r] = static_cast<const Row*>(p.rows) + (row + r) * p.row_stride; });
    auto weights = static_cast<const typename Scheme::Weight*>(p.weights->panels) + column * inputs;
    for (long k = 0; k < inputs;) {
        for (int i = 0; i < ahead.lines && ahead.next < ahead.end; i++, ahead.next += LINE) {
            __builtin_prefetch(ahead.next, 0, 2);
        }
        const long end = std::min(inputs, k + STEPS * Scheme::GROUP);
        for (; k < end; k += Scheme::GROUP, weights += PANEL * Scheme::GROUP) {
            decltype(Scheme::weights(weights)) w[TILE_VECTORS];
            each<TILE_VECTORS>([&](auto c) { w[c] = Scheme::weights(weights + c * WIDTH * Scheme::GROUP); });
            each<ROWS>([&](auto r) {
                const auto x = Scheme::spread(rows[r] + k);
                each<TILE_VECTORS>([&](auto c) { sums[r][c] = Scheme::step(sums[r][c], x, w[c]); });
            });
        }
    }
    each<TILE_VECTORS>([&](auto c) {
        const int at = column + c * WIDTH;
        if (at >= p.weights->outputs) return;
        const typename Scheme::Column values(*p.weights, at);
        float* out = p.out + row * p.out_stride + at;
        if (p.residual) {
            const float* more = p.residual + row * p.out_stride + at;
            each<ROWS>([&](auto r) {
                store(out + r * p.out_stride, add(values(sums[r][c], p, row + r), load(more + r * p.out_stride)));
            });
        } else {
            each<ROWS>([&](auto r) { store(out + r * p.out_stride, values(sums[r][c], p, row + r)); });
        }
    });
}

// The share of the next panel (of these or the next weights) to prefetch while these rows are multiplied by this panel.
template <class Scheme>
Ahead ahead_of(const Product& p, int column, int row, int rows) {
    const bool last = column + PANEL >= std::min(p.end, p.weights->outputs);
    const Packed* weights = last ? p.next : p.weights;
    const long following = last ? p.next_first : column + PANEL;
    if (weights == nullptr || following >= weights->outputs) return {nullptr, nullptr, 0};
    constexpr long BYTES = sizeof(typename Scheme::Weight);
    const char* panel = static_cast<const char*>(weights->panels) + following * weights->inputs * BYTES;
    const long lines = PANEL * weights->inputs * BYTES / LINE;
    const long from = lines * row / p.count, to = lines * (row + rows) / p.count;
    const long times = (p.weights->inputs + STEPS * Scheme::GROUP - 1) / (STEPS * Scheme::GROUP);
    return {panel + from * LINE, panel + to * LINE, static_cast<int>((to - from + times - 1) / times)};
}

// Loops over weights, then over rows in tiles of nearly equal size, so that a panel stays in the nearest cache.
template <class Scheme>
void multiply(const Product& p) {
    for (int column = p.first, end = std::min(p.end, p.weights->outputs); column < end; column += PANEL) {
        for (int row = 0, tiles = (p.count + TILE_ROWS - 1) / TILE_ROWS; tiles > 0; tiles--) {
            const int rows = (p.count - row + tiles - 1) / tiles;
            const Ahead ahead = ahead_of<Scheme>(p, column, row, rows);
            with_constant<TILE_ROWS>(rows, [&](auto count) { tile<Scheme, count>(p, row, column, ahead); });
            row += rows;
        }
    }
}
