// The kernels for WebAssembly.
#include "isa.h"

#if defined(__wasm_simd128__)

#include "fused.h"
#include "halves.h"
#include "simd/begin.h"

namespace likewise {
namespace {
#include "simd/wasm.h"
#include "kernels/all.h"
#include "kernels/bits_wasm.h"
#include "kernels/scan_bits.h"
}  // namespace

const Kernels wasm_kernels = table_of("wasm", bits_kernel);
}  // namespace likewise

#include "simd/end.h"

#endif
