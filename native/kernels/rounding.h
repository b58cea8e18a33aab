// A row of floats as products in fewer bits read it.
#pragma once

// A row as whole numbers from -127 to 127, and the step between them.
template <class Element>
void quantise(const float* x, int count, float largest, void* out, float* scale) {
    *scale = largest / 127.0F;
    const Floats steps = splat(largest > 0.0F ? 127.0F / largest : 0.0F);
    auto to = static_cast<Element*>(out);
    for (int i = 0; i < count; i += WIDTH) store_whole(to + i, mul(load(x + i), steps));
}

[[maybe_unused]] void to_bf16(const float* x, int count, float, void* out, float*) {
    auto to = static_cast<uint16_t*>(out);
    for (int i = 0; i < count; i += WIDTH) store_bf16(to + i, load(x + i));
}
