// A product of rows and packed weights, a tile of registers at a time; what a step multiplies is the scheme's.
// A sum runs over the inputs in one order, whatever the tile's size, so a row's result depends on that row alone.
#pragma once

// The body of a loop whose count the compiler knows, unrolled before registers are assigned: GCC 12 keeps an array
// of sums in memory if its loop is unrolled any later, at a third of the speed.
template <class Body, int... I>
[[gnu::always_inline]] inline void each(Body body, std::integer_sequence<int, I...>) {
    (body(std::integral_constant<int, I>{}), ...);
}
template <int COUNT, class Body>
[[gnu::always_inline]] inline void each(Body body) {
    each(body, std::make_integer_sequence<int, COUNT>{});
}

constexpr int PANEL = TILE_VECTORS * WIDTH;  // columns whose weights lie together

template <class Scheme, int ROWS>
void tile(const Product& p, int row, int column) {
    using Row = typename Scheme::Row;
    typename Scheme::Sum sums[ROWS][TILE_VECTORS];
    each<ROWS>([&](auto r) { each<TILE_VECTORS>([&](auto c) { sums[r][c] = Scheme::zero(); }); });
    const long inputs = p.weights->inputs;
    const Row* rows[ROWS];
    each<ROWS>([&](auto r) { rows[r] = static_cast<const Row*>(p.rows) + (row + r) * p.row_stride; });
    auto weights = static_cast<const typename Scheme::Weight*>(p.weights->panels) + column * inputs;
    for (long k = 0; k < inputs; k += Scheme::GROUP, weights += PANEL * Scheme::GROUP) {
        decltype(Scheme::weights(weights)) w[TILE_VECTORS];
        each<TILE_VECTORS>([&](auto c) { w[c] = Scheme::weights(weights + c * WIDTH * Scheme::GROUP); });
        each<ROWS>([&](auto r) {
            const auto x = Scheme::spread(rows[r] + k);
            each<TILE_VECTORS>([&](auto c) { sums[r][c] = Scheme::step(sums[r][c], x, w[c]); });
        });
    }
    each<TILE_VECTORS>([&](auto c) {
        const int at = column + c * WIDTH;
        if (at >= p.weights->outputs) return;
        const Floats bias = load(p.weights->bias + at);
        each<ROWS>([&](auto r) {
            Floats y = add(Scheme::value(sums[r][c], p, row + r, at), bias);
            if (p.residual) y = add(y, load(p.residual + (row + r) * p.out_stride + at));
            store(p.out + (row + r) * p.out_stride + at, y);
        });
    });
}

template <class Scheme, int ROWS>
void tail(const Product& p, int row, int column, int rows) {
    if (rows == ROWS) return tile<Scheme, ROWS>(p, row, column);
    if constexpr (ROWS > 1) tail<Scheme, ROWS - 1>(p, row, column, rows);
}

// Weights outside, rows inside: a panel stays in the nearest cache while the rows pass.
template <class Scheme>
void multiply(const Product& p) {
    for (int column = 0; column < p.weights->outputs; column += PANEL) {
        int row = 0;
        for (; row + TILE_ROWS <= p.count; row += TILE_ROWS) tile<Scheme, TILE_ROWS>(p, row, column);
        if (row < p.count) tail<Scheme, TILE_ROWS - 1>(p, row, column, p.count - row);
    }
}
