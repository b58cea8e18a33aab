// Converts a row of floats to the form that matmuls in fewer bits read.
#pragma once

template <class Element>
inline void store_four(Element* p, Floats a, Floats b, Floats c, Floats d) {
    store_whole(p, a);
    store_whole(p + WIDTH, b);
    store_whole(p + 2 * WIDTH, c);
    store_whole(p + 3 * WIDTH, d);
}

// Quantizes a row to integers from -127 to 127 with one scale.
template <class Element>
void quantise(const float* x, int count, float largest, void* out, float* scale) {
    *scale = largest / 127.0F;
    const Floats steps = splat(steps_of(largest));
    auto to = static_cast<Element*>(out);
    int i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        Floats part[4];
        each<4>([&](auto j) { part[j] = mul(load(x + i + j * WIDTH), steps); });
        store_four(to + i, part[0], part[1], part[2], part[3]);
    }
    for (; i < count; i += WIDTH) store_whole(to + i, mul(load(x + i), steps));
}

[[maybe_unused]] void to_bf16(const float* x, int count, float, void* out, float*) {
    auto to = static_cast<uint16_t*>(out);
    for (int i = 0; i < count; i += WIDTH) store_bf16(to + i, load(x + i));
}
