// Powers of two, for softmax and activations.
#pragma once

// Polynomials by Horner's rule, highest power first.
template <class... More>
inline Floats polynomial(Floats, Floats sum) {
    return sum;
}
template <class... More>
inline Floats polynomial(Floats x, Floats sum, float next, More... more) {
    return polynomial(x, fma(sum, x, splat(next)), more...);
}

// 2^x to 1e-7 of itself; 0 below -126, where AVX-512 goes on to smaller numbers. x is at most 127. Fitted on [0, 1).
inline Floats power_of_two(Floats x) {
    const Floats y = polynomial(fraction(x), splat(2.16906091e-04F), 1.24430815e-03F, 9.67847255e-03F, 5.54835247e-02F,
                                2.40229796e-01F, 6.93146987e-01F, 1.0F);
    return times_power(y, x);
}
