// The kernels for AVX-512 without VNNI and bfloat16.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx512f,avx512bw,avx512dq,avx512vl,fma"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx512.h"
#include "kernels/all.h"
}  // namespace

const Kernels avx512_kernels = table_of("avx512", {});
}  // namespace likewise

#include "simd/end.h"

#endif
