// The kernels of the instruction sets of this architecture; a partial set is used on top of another set.
#pragma once

#include "kernels.h"

namespace likewise {
extern const Kernels portable_kernels;
#if defined(__x86_64__)
extern const Kernels avx2_kernels, avx512_kernels;
extern const Scheme avxvnni_int8, vnni_int8, avx512bf16_products;
extern const ScanKernel avxvnni_scan, vnni_scan, popcnt_scan;
extern void (*const vnni_attend)(const Attention&);
extern const Scheme vnni256_int8;  // in vectors of avxvnni's width, to test its kernel with AVX-512 alone
extern const ScanKernel vnni256_scan;
#elif defined(__aarch64__)
extern const Kernels neon_kernels;
extern const Scheme dotprod_int8;
extern const ScanKernel dotprod_scan;
#elif defined(__wasm_simd128__)
extern const Kernels wasm_kernels;
#endif
}  // namespace likewise
