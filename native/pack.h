// Packing stored weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"
#include "memory.h"

namespace likewise {

constexpr int LANES = 16;  // rows are padded to multiples of this

inline int padded(int count) { return (count + LANES - 1) / LANES * LANES; }

// Rows of one matrix that become columns of a matmul; each part is padded separately.
struct Part {
    const lw_linear* linear;
    int first, rows;  // rows of the matrix
};

// One or more matrices with the same inputs, packed as one into memory of an arena, which must outlive this object.
class Weights {
public:
    Weights() = default;
    Weights(const std::vector<Part>& parts, int inputs, const Scheme& scheme, bool int8, const char* what, Arena&);
    const Packed& packed() const { return packed_; }
    size_t bytes() const { return bytes_; }
    // The factors of inputs before they are quantized, padded with zeros; null: none.
    const float* input_scales() const { return input_scales_.empty() ? nullptr : input_scales_.data(); }

private:
    void place_row(const Scheme&, int output, const float* row, int inputs, std::vector<uint8_t>& packed);
    void place_bytes(const Scheme&, int output, const int8_t* row, int inputs, float scale);
    void place_groups(const Scheme&, int output, const uint8_t* row, int inputs);
    void check_size(const Part&, int inputs, const char* what) const;
    void read_input_scales(const std::vector<Part>&, int inputs, bool int8, const char* what);

    Packed packed_;
    size_t bytes_ = 0;
    uint8_t* panels_ = nullptr;
    float *bias_ = nullptr, *scales_ = nullptr;
    int32_t* starts_ = nullptr;
    std::vector<float> input_scales_;
};

// Whether all numbers are finite.
bool all_finite(const float* row, int count);
// The numbers of a row as floats.
void read_row(const lw_tensor&, int64_t row, float* out);
// A tensor of this size as floats, with rows padded with zeros to `stride`; throws if a value is not finite.
std::vector<float> read_all(const lw_tensor&, int rows, int columns, int stride, const char* what);

}  // namespace likewise
