// Opens the code of one instruction set: what follows, up to simd/end.h, is compiled for TARGET, if there is one.
// TARGET_GCC may differ, if the compilers name the same thing differently.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#elif defined(__wasm_simd128__)
#include <wasm_simd128.h>
#endif

#define LIKEWISE_PRAGMA(text) _Pragma(#text)
#define LIKEWISE_EXPANDED_PRAGMA(text) LIKEWISE_PRAGMA(text)
#if defined(TARGET) && defined(__clang__)
LIKEWISE_EXPANDED_PRAGMA(clang attribute push(__attribute__((target(TARGET))), apply_to = function))
#elif defined(TARGET)
#if !defined(TARGET_GCC)
#define TARGET_GCC TARGET
#endif
_Pragma("GCC push_options")
LIKEWISE_EXPANDED_PRAGMA(GCC target(TARGET_GCC))
#endif
