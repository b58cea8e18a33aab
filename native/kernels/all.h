// All kernels of an instruction set, and the table that lists them.
#pragma once

#include "product.h"
#include "schemes.h"
#include "rounding.h"
#include "elementwise.h"
#include "attention.h"
#include "attention_pairs.h"
#include "words.h"
#include "scan.h"

constexpr Kernels table_of(const char* name, const ScanKernel& bits) {
    return {name,
            {PANEL, 1, 4, 4, 0, multiply<Fp32>, nullptr},
            {PANEL, 2, 2, 2, 0, multiply<Bf16Wide>, to_bf16},
            {PANEL, 2, 1, 2, 0, multiply<Int8Wide>, quantise<int16_t>},
            layer_norm, rms_norm, activate, gate, largest_of, attend, attend_rounded, sum_words,
            {scan_kernel<Fp32>(nullptr), scan_kernel<Int8Wide>(widen<int16_t>), bits, squares, from_fp16}};
}
