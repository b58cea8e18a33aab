// Elementwise and row-wise operations: norms, activations, quantization. Written once for vectors of any width; a row's
// result never depends on other rows. Counts are multiples of 16, and rows are padded with zeros.
#pragma once

#include "softmax.h"

inline Floats exponential(Floats x) {
    return power_of_two(mul(max(min(x, splat(88.0F)), splat(-1e4F)), splat(LOG2_E)));
}

inline Floats logistic(Floats x) {
    return divide(splat(1.0F), add(splat(1.0F), exponential(sub(splat(0.0F), max(x, splat(-80.0F))))));
}

inline Floats relu(Floats x) { return max(x, splat(0.0F)); }
inline Floats silu(Floats x) { return mul(x, logistic(x)); }
inline Floats quick_gelu(Floats x) { return mul(x, logistic(mul(x, splat(1.702F)))); }

// tanh x = 2 logistic(2 x) - 1
inline Floats tanh_of(Floats x) { return fma(splat(2.0F), logistic(add(x, x)), splat(-1.0F)); }

// x Phi(x) = x / 2 (1 + erf(x / sqrt 2))
inline Floats gelu(Floats x) {
    const Floats z = clamp(x, splat(GELU_END)), square = mul(z, z), half = mul(x, splat(0.5F));
    return fma(half, divide(mul(z, polynomial(square, GELU_P)), polynomial(square, GELU_Q)), half);
}

// The same, with an error of at most 5e-4.
inline Floats rough_gelu(Floats x) {
    const Floats z = clamp(x, splat(ROUGH_END));
    return mul(x, fma(z, polynomial(mul(z, z), ROUGH), splat(0.5F)));
}

// x / 2 (1 + tanh(u)) = x logistic(2 u)
inline Floats gelu_tanh(Floats x) {
    const Floats cubic = fma(mul(mul(x, x), x), splat(0.044715F), x);
    return mul(x, logistic(mul(cubic, splat(1.59576912F))));
}

// x tanh(log(1 + e^x)); with n = e^x (e^x + 2) the tanh is n / (n + 2).
inline Floats mish(Floats x) {
    const Floats e = exponential(min(x, splat(20.0F))), n = mul(e, add(e, splat(2.0F)));
    return mul(x, divide(n, add(n, splat(2.0F))));
}

template <Floats (*FUNCTION)(Floats), class After>
inline float each_of(float* x, int count, After after) {
    Floats most = splat(0.0F);
    for (int i = 0; i < count; i += WIDTH) {
        const Floats y = after(FUNCTION(load(x + i)), x + i);
        store(x + i, y);
        most = max(magnitude(y), most);
    }
    return largest(most);
}

template <class After>
inline float activate_then(float* x, int count, Activation kind, After after) {
    switch (kind) {
        case Activation::gelu: return each_of<gelu>(x, count, after);
        case Activation::gelu_tanh: return each_of<gelu_tanh>(x, count, after);
        case Activation::relu: return each_of<relu>(x, count, after);
        case Activation::silu: return each_of<silu>(x, count, after);
        case Activation::tanh: return each_of<tanh_of>(x, count, after);
        case Activation::quick_gelu: return each_of<quick_gelu>(x, count, after);
        case Activation::mish: return each_of<mish>(x, count, after);
        case Activation::sigmoid: return each_of<logistic>(x, count, after);
        case Activation::rough_gelu: return each_of<rough_gelu>(x, count, after);
    }
    return 0.0F;
}

float activate(float* x, int count, Activation kind) {
    return activate_then(x, count, kind, [](Floats y, const float*) { return y; });
}

float gate(float* x, const float* gate, int count, Activation kind) {
    return activate_then(x, count, kind, [=](Floats y, const float* at) { return mul(y, load(gate + (at - x))); });
}

float largest_of(const float* x, int count) {
    Floats most = splat(0.0F);
    for (int i = 0; i < count; i += WIDTH) most = max(magnitude(load(x + i)), most);
    return largest(most);
}

constexpr int PARTS = 16 / WIDTH;  // vectors of sixteen lanes

// Accumulates 64 sums by calling step(sum, i) for the vector at each i below count, a multiple of 16. Every four sums
// become one, then the halves of the sixteen are added repeatedly.
template <class Step>
inline float sum_of(int count, Step step) {
    Floats sums[4 * PARTS];
    each<4 * PARTS>([&](auto part) { sums[part] = splat(0.0F); });
    int i = 0;
    for (; i + 64 <= count; i += 64) {
        each<4 * PARTS>([&](auto part) { sums[part] = step(sums[part], i + part * WIDTH); });
    }
    for (; i < count; i += 16) {
        each<PARTS>([&](auto part) { sums[part] = step(sums[part], i + part * WIDTH); });
    }
    each<PARTS>([&](auto part) {
        sums[part] = add(add(sums[part], sums[PARTS + part]), add(sums[2 * PARTS + part], sums[3 * PARTS + part]));
    });
    for (int half = PARTS / 2; half > 0; half /= 2) {
        for (int part = 0; part < half; part++) sums[part] = add(sums[part], sums[half + part]);
    }
    return sum(sums[0]);
}

float layer_norm(const float* x, float* out, int width, int stride, const float* weight, const float* bias, float eps) {
    const float mean = sum_of(stride, [&](Floats sum, int i) { return add(sum, load(x + i)); }) / static_cast<float>(width);
    const Floats middle = splat(mean);
    const float squares = sum_of(stride, [&](Floats sum, int i) {
        Floats centred = sub(load(x + i), middle);
        if (i + WIDTH > width) centred = i < width ? first(centred, width - i) : splat(0.0F);
        return add(sum, mul(centred, centred));
    });
    const Floats factor = splat(1.0F / std::sqrt(squares / static_cast<float>(width) + eps));
    Floats most = splat(0.0F);
    for (int i = 0; i < stride; i += WIDTH) {
        const Floats y = fma(mul(sub(load(x + i), middle), factor), load(weight + i), load(bias + i));
        store(out + i, y);
        most = max(magnitude(y), most);
    }
    return largest(most);
}

float rms_norm(const float* x, float* out, int width, int stride, const float* weight, float eps) {
    const float squares = sum_of(stride, [&](Floats sum, int i) { return fma(load(x + i), load(x + i), sum); });
    const Floats factor = splat(1.0F / std::sqrt(squares / static_cast<float>(width) + eps));
    Floats most = splat(0.0F);
    for (int i = 0; i < stride; i += WIDTH) {
        const Floats y = mul(mul(load(x + i), factor), load(weight + i));
        store(out + i, y);
        most = max(magnitude(y), most);
    }
    return largest(most);
}

// The sum of squares; the last numbers, if fewer than 16, are copied and padded.
float squares(const float* x, int count) {
    const int whole = count / 16 * 16;
    float rest[16] = {};
    std::copy(x + whole, x + count, rest);
    const auto at = [&](int i) { return load(i < whole ? x + i : rest + (i - whole)); };
    return sum_of((count + 15) / 16 * 16, [&](Floats sum, int i) { return fma(at(i), at(i), sum); });
}
