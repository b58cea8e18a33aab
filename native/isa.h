// The tables of kernels, one an instruction set; those of other processors are absent.
#pragma once

#include "kernels.h"

namespace likewise {
namespace portable {
extern const Kernels table;
}
#if defined(__x86_64__)
namespace avx2 {
extern const Kernels table;
}
namespace avxvnni {
extern const Scheme int8;  // on top of avx2
extern const ScanKernel scan_int8;
}  // namespace avxvnni
namespace avx512 {
extern const Kernels table;
}
namespace vnni {
extern const Scheme int8;  // on top of avx512
extern const ScanKernel scan_int8;
extern void (*const attend)(const Attention&);
extern const Scheme int8_half;  // the same in vectors of avxvnni's width, to test its kernel where only AVX-512 is
extern const ScanKernel scan_int8_half;
}  // namespace vnni
namespace avx512bf16 {
extern const Scheme bf16;  // on top of vnni
}
namespace avx512popcnt {
extern const ScanKernel bits;  // on top of avx512
}
#elif defined(__aarch64__)
namespace neon {
extern const Kernels table;
}
namespace dotprod {
extern const Scheme int8;  // on top of neon
extern const ScanKernel scan_int8;
}  // namespace dotprod
#endif
}  // namespace likewise
