// Logarithm, exponential, sine and cosine in double precision, computed only with +, * and /, because the last bit of
// the standard functions varies between libraries. Rounded to floats, these give the same results everywhere.
#pragma once

#include <cmath>

namespace likewise {

// For x > 0, with an error of at most 2e-16 max(1, |result|): log m = 2 artanh((m - 1) / (m + 1)), with m near 1.
inline double logarithm(double x) {
    int exponent;
    double m = std::frexp(x, &exponent);
    if (m < 0.70710678118654752) {
        m *= 2.0;
        exponent--;
    }
    const double s = (m - 1.0) / (m + 1.0), square = s * s;
    double sum = 0.0;
    for (int n = 21; n > 0; n -= 2) sum = sum * square + 1.0 / n;
    return 2.0 * s * sum + exponent * 0.69314718055994531;
}

// With a relative error of at most 3e-16 for |x| < 100: the series for the remainder modulo log 2.
inline double exponential(double x) {
    const double whole = std::nearbyint(x * 1.4426950408889634);
    const double rest = x - whole * 0.6931471803691238 - whole * 1.9082149292705877e-10;
    double sum = 1.0;
    for (int n = 14; n > 0; n--) sum = sum * rest / n + 1.0;
    return std::ldexp(sum, static_cast<int>(whole));
}

// cos x and sin x, with an error of at most 2e-16 for 0 <= x < 1e5 and 1e-16 x above: the series for the remainder
// modulo pi / 2.
struct Angle {
    double cosine, sine;
    explicit Angle(double x) {
        const double quarters = std::nearbyint(x * 0.63661977236758134);
        const double rest = x - quarters * 1.5707963267341256 - quarters * 6.0771005065061922e-11;
        double c = 1.0, s = 1.0;
        for (int n = 20; n > 0; n -= 2) {
            c = 1.0 - c * rest * rest / (n * (n - 1));
            s = 1.0 - s * rest * rest / (n * (n + 1));
        }
        s *= rest;
        const int turn = static_cast<int>(static_cast<long long>(quarters) & 3);
        cosine = turn == 0 ? c : turn == 1 ? -s : turn == 2 ? -c : s;
        sine = turn == 0 ? s : turn == 1 ? c : turn == 2 ? -s : -c;
    }
};

}  // namespace likewise
