// Polynomial coefficients shared by all instruction sets, highest power first, for Horner's rule with one fused
// multiply-add per step, and their limits. ARITHMETIC.md says what they approximate and how accurately.
#pragma once

namespace likewise {

constexpr float LOG2_E = 1.44269504F;

// 2^x on [0, 1).
constexpr float POWER[] = {2.16906091e-04F, 1.24430815e-03F, 9.67847255e-03F, 5.54835247e-02F,
                           2.40229796e-01F, 6.93146987e-01F, 1.0F};

// erf(x / sqrt 2) = x P(x^2) / Q(x^2) for |x| < GELU_END, where it is 1 to 4e-7.
constexpr float GELU_END = 5.65685425F;
constexpr float GELU_P[] = {-3.01199012e-12F, 6.12239883e-10F, -9.28530208e-8F, -5.03151234e-6F,
                            -1.29929215e-4F,  -1.04460878e-3F, -1.13816143e-2F};
constexpr float GELU_Q[] = {-9.10379490e-7F, -2.66717569e-5F, -4.20706744e-4F, -3.68666458e-3F, -1.42647391e-2F};

// Phi(x) - 1/2 = x P(x^2) for |x| < ROUGH_END, where it is 1/2 to 3e-4.
constexpr float ROUGH_END = 3.7F;
constexpr float ROUGH[] = {-5.35918314e-07F, 2.85874306e-05F,  -6.40578873e-04F,
                           7.98880568e-03F,  -6.29514459e-02F, 3.96773328e-01F};

}  // namespace likewise
