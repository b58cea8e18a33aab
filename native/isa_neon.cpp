// The kernels for 64-bit Arm.
#include "isa.h"

#if defined(__aarch64__)

#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/neon.h"
#include "kernels/all.h"
#include "kernels/bits_neon.h"
#include "kernels/scan_bits.h"
}  // namespace

const Kernels neon_kernels = table_of("neon", bits_kernel);
}  // namespace likewise

#include "simd/end.h"

#endif
