// Stored weights to packed ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

constexpr int LANES = 16;  // rows are padded to multiples of this

inline int padded(int count) { return (count + LANES - 1) / LANES * LANES; }

// Rows of one matrix that become columns of a product; they are padded apart from other parts.
struct Part {
    const lw_linear* linear;
    int first, rows;  // of the matrix
};

// One or more matrices with the same inputs, packed as one; it owns the memory that `packed` points into.
class Weights {
public:
    Weights() = default;
    Weights(const std::vector<Part>& parts, int inputs, const Scheme& scheme, bool int8, const char* what);
    Weights(Weights&&) = default;
    Weights& operator=(Weights&&) = default;
    Weights(const Weights&) = delete;
    const Packed& packed() const { return packed_; }
    size_t bytes() const;

private:
    void place_row(const Scheme&, int output, const float* row, int inputs, std::vector<uint8_t>& packed);
    void place_bytes(const Scheme&, int output, const int8_t* row, int inputs, float scale);
    void place_groups(const Scheme&, int output, const uint8_t* row, int inputs);
    void check_size(const Part&, int inputs, const char* what) const;

    Packed packed_;
    std::vector<uint8_t> storage_;
    uint8_t* base_ = nullptr;  // in storage_, at a multiple of 64
    std::vector<float> bias_, scales_;
    std::vector<int32_t> offsets_;
};

// Whether none is NaN or infinite.
bool all_finite(const float* row, int count);
// The numbers of a row as floats.
void read_row(const lw_tensor&, int64_t row, float* out);
// A tensor of this size as floats, padded with zeros to `stride` a row; checked to be finite.
std::vector<float> read_all(const lw_tensor&, int rows, int columns, int stride, const char* what);

}  // namespace likewise
