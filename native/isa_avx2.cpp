// The kernels for AVX2 with fused multiply-add: any x86 processor since 2013.
#include "isa.h"

#if defined(__x86_64__)

#define TARGET "avx2,fma,f16c"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/avx2.h"
#include "kernels/all.h"
#include "kernels/bits_avx2.h"
#include "kernels/scan_bits.h"
}  // namespace

const Kernels avx2_kernels = table_of("avx2", bits_kernel);
}  // namespace likewise

#include "simd/end.h"

#endif
