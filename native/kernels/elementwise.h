// Elementwise and row-wise operations: norms, activations, rounding. Written once for vectors of any width; a row's
// result never depends on another row. Counts are multiples of 16, and rows are padded with zeros.
#pragma once

#include "softmax.h"

inline Floats exponential(Floats x) {
    return power_of_two(mul(max(min(x, splat(88.0F)), splat(-1e4F)), splat(1.44269504F)));
}

inline Floats logistic(Floats x) {
    return divide(splat(1.0F), add(splat(1.0F), exponential(sub(splat(0.0F), max(x, splat(-80.0F))))));
}

inline Floats relu(Floats x) { return max(x, splat(0.0F)); }
inline Floats silu(Floats x) { return mul(x, logistic(x)); }
inline Floats quick_gelu(Floats x) { return mul(x, logistic(mul(x, splat(1.702F)))); }

// tanh x = 2 logistic(2 x) - 1
inline Floats tanh_of(Floats x) { return fma(splat(2.0F), logistic(add(x, x)), splat(-1.0F)); }

// x Phi(x), erf(x / sqrt 2) being x P(x^2) / Q(x^2) for |x| < 4 sqrt 2, where it is 1 to 4e-7.
inline Floats gelu(Floats x) {
    const Floats z = clamp(x, splat(5.65685425F)), square = mul(z, z);
    const Floats p = polynomial(square, splat(-3.01199012e-12F), 6.12239883e-10F, -9.28530208e-8F, -5.03151234e-6F,
                                -1.29929215e-4F, -1.04460878e-3F, -1.13816143e-2F);
    const Floats q =
        polynomial(square, splat(-9.10379490e-7F), -2.66717569e-5F, -4.20706744e-4F, -3.68666458e-3F, -1.42647391e-2F);
    const Floats half = mul(x, splat(0.5F));
    return fma(half, divide(mul(z, p), q), half);
}

// x Phi(x), Phi(x) - 1/2 being x P(x^2) for |x| < 3.7, where it is 1/2 to 3e-4: off by 5e-4 at most.
inline Floats rough_gelu(Floats x) {
    const Floats z = clamp(x, splat(3.7F));
    const Floats p = polynomial(mul(z, z), splat(-5.35918314e-07F), 2.85874306e-05F, -6.40578873e-04F, 7.98880568e-03F,
                                -6.29514459e-02F, 3.96773328e-01F);
    return mul(x, fma(z, p, splat(0.5F)));
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

// The sum of function(i) over the vectors that begin at i, in four sums side by side.
template <class Function>
inline float sum_of(int count, Function function) {
    Floats sums[4] = {splat(0.0F), splat(0.0F), splat(0.0F), splat(0.0F)};
    int i = 0;
    for (; i + 4 * WIDTH <= count; i += 4 * WIDTH) {
        each<4>([&](auto part) { sums[part] = add(sums[part], function(i + part * WIDTH)); });
    }
    for (; i < count; i += WIDTH) sums[0] = add(sums[0], function(i));
    return sum(add(add(sums[0], sums[1]), add(sums[2], sums[3])));
}

float layer_norm(const float* x, float* out, int width, int stride, const float* weight, const float* bias, float eps) {
    const float mean = sum_of(stride, [&](int i) { return load(x + i); }) / static_cast<float>(width);
    const Floats middle = splat(mean);
    const float squares = sum_of(stride, [&](int i) {
        Floats centred = sub(load(x + i), middle);
        if (i + WIDTH > width) centred = i < width ? first(centred, width - i) : splat(0.0F);
        return mul(centred, centred);
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
