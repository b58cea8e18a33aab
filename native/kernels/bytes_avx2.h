// Bytes by bytes in vectors of eight lanes, given the instruction `dot`. Activations are unsigned: 128 above their
// value. What that adds to a sum is a constant of the column.
#pragma once

struct Int8 : Whole {
    using Row = uint8_t;
    static constexpr int GROUP = 4;
    static Bits spread(const Row* p) { return {spread_four_bytes(p)}; }
    static Bits weights(const Weight* p) { return {load_whole(p)}; }
    static Sum step(Sum sum, Bits x, Bits w) { return {dot(sum.v, x.v, w.v)}; }
};
