// Converts any stored type to floats, halves or bytes, in the order in which matmuls read them.
#include "pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"
#include "halves.h"

namespace likewise {
namespace {

template <class T>
T read(const lw_tensor& tensor, int64_t at) {
    T value;  // data in a mapped file may be unaligned
    std::memcpy(&value, static_cast<const char*>(tensor.data) + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
    return value;
}

void check_finite(const float* row, int count, const char* what) {
    if (all_finite(row, count)) return;
    fail(LW_BAD_WEIGHTS, "the weights of ", what, " hold NaN or infinity; the file is damaged, or training diverged");
}

void divide(std::vector<float>& row, const std::vector<float>& by) {
    for (size_t i = 0; i < row.size(); i++) row[i] /= by[i];
}

}  // namespace

bool all_finite(const float* row, int count) {
    uint32_t bad = 0;
    for (int i = 0; i < count; i++) bad |= static_cast<uint32_t>((bits_of(row[i]) & 0x7F800000U) == 0x7F800000U);
    return bad == 0;
}

void read_row(const lw_tensor& tensor, int64_t row, float* out) {
    const int64_t at = row * tensor.columns, count = tensor.columns;
    switch (tensor.type) {
        case LW_FP32: std::memcpy(out, static_cast<const float*>(tensor.data) + at, count * 4); return;
        case LW_FP16:
            for (int64_t i = 0; i < count; i++) out[i] = from_float16(read<uint16_t>(tensor, at + i));
            return;
        case LW_BF16:
            for (int64_t i = 0; i < count; i++) out[i] = from_bfloat16(read<uint16_t>(tensor, at + i));
            return;
        case LW_INT8:
            for (int64_t i = 0; i < count; i++) {
                out[i] = static_cast<float>(read<int8_t>(tensor, at + i)) * tensor.scales[row];
            }
            return;
        default: fail(LW_BAD_DESCRIPTION, "weights are stored as type ", tensor.type);
    }
}

std::vector<float> read_all(const lw_tensor& tensor, int rows, int columns, int stride, const char* what) {
    std::vector<float> found(static_cast<size_t>(rows) * stride, 0.0F);
    if (tensor.data == nullptr) return found;
    if (tensor.rows != rows || tensor.columns != columns || (tensor.type == LW_INT8 && tensor.scales == nullptr)) {
        fail(LW_BAD_DESCRIPTION, what, " is ", tensor.rows, " by ", tensor.columns, "; wanted ", rows, " by ", columns);
    }
    for (int row = 0; row < rows; row++) {
        float* to = found.data() + static_cast<size_t>(row) * stride;
        read_row(tensor, row, to);
        check_finite(to, columns, what);
    }
    return found;
}

void Weights::check_size(const Part& part, int inputs, const char* what) const {
    const lw_tensor& weight = part.linear->weight;
    const bool scaled = weight.type != LW_INT8 || weight.scales != nullptr;
    if (weight.data == nullptr || !scaled || weight.columns != inputs || weight.rows < part.first + part.rows) {
        fail(LW_BAD_DESCRIPTION, what, " is ", weight.rows, " by ", weight.columns, "; wanted ", part.first + part.rows,
             " by ", inputs);
    }
}

Weights::Weights(const std::vector<Part>& parts, int inputs, const Scheme& scheme, bool int8, const char* what,
                 Arena& arena) {
    packed_.inputs = padded(inputs);
    for (const Part& part : parts) packed_.outputs += padded(part.rows);
    const size_t columns = static_cast<size_t>((packed_.outputs + scheme.panel - 1) / scheme.panel) * scheme.panel;
    const size_t panels = columns * packed_.inputs * scheme.weight_bytes, numbers = columns * sizeof(float);
    panels_ = arena.of(panels);
    bytes_ = panels + numbers * (int8 ? 3 : 1);
    bias_ = reinterpret_cast<float*>(arena.of(numbers));
    if (int8) scales_ = reinterpret_cast<float*>(arena.of(numbers));
    if (int8) starts_ = reinterpret_cast<int32_t*>(arena.of(numbers));
    read_input_scales(parts, inputs, int8, what);
    std::vector<float> row(inputs);
    std::vector<uint8_t> packed;
    int output = 0;
    for (const Part& part : parts) {
        check_size(part, inputs, what);
        const lw_tensor& weight = part.linear->weight;
        const lw_tensor& bias = part.linear->bias;
        const std::vector<float> all =
            read_all(bias, 1, static_cast<int>(weight.rows), static_cast<int>(weight.rows), what);
        std::copy_n(all.begin() + part.first, part.rows, bias_ + output);
        for (int i = 0; i < part.rows; i++) {
            const int64_t from = part.first + i;
            if (int8 && weight.type == LW_INT8) {
                check_finite(weight.scales + from, 1, what);
                place_bytes(scheme, output + i, static_cast<const int8_t*>(weight.data) + from * inputs, inputs,
                            weight.scales[from]);
                continue;
            }
            read_row(weight, from, row.data());
            if (input_scales()) divide(row, input_scales_);
            check_finite(row.data(), inputs, what);
            place_row(scheme, output + i, row.data(), inputs, packed);
        }
        output += padded(part.rows);
    }
    packed_.panels = panels_;
    packed_.bias = bias_;
    packed_.scales = scales_;
    packed_.starts = starts_;
}

// All parts read the same inputs, so either all have the same input scales or none has any.
void Weights::read_input_scales(const std::vector<Part>& parts, int inputs, bool int8, const char* what) {
    const float* scales = parts.front().linear->input_scales;
    for (const Part& part : parts) {
        const float* other = part.linear->input_scales;
        const bool same = (other == nullptr) == (scales == nullptr) &&
                          (scales == nullptr || std::memcmp(scales, other, inputs * sizeof(float)) == 0);
        if (!same) fail(LW_BAD_DESCRIPTION, what, " have different scales of inputs");
        if (other && !int8) fail(LW_BAD_DESCRIPTION, what, " have scales of inputs, which int8 alone has");
    }
    if (scales == nullptr) return;
    check_finite(scales, inputs, what);
    input_scales_.assign(packed_.inputs, 0.0F);
    std::copy_n(scales, inputs, input_scales_.begin());
}

// Bytes are scaled so that a row's largest magnitude becomes 127.
void Weights::place_row(const Scheme& scheme, int output, const float* row, int inputs, std::vector<uint8_t>& packed) {
    if (scheme.weight_bytes == 4) return place_groups(scheme, output, reinterpret_cast<const uint8_t*>(row), inputs);
    packed.resize(static_cast<size_t>(inputs) * scheme.weight_bytes);
    if (scheme.weight_bytes == 2) {
        for (int i = 0; i < inputs; i++) reinterpret_cast<uint16_t*>(packed.data())[i] = bfloat16_of(row[i]);
        return place_groups(scheme, output, packed.data(), inputs);
    }
    float most = 0.0F;
    for (int i = 0; i < inputs; i++) most = std::max(most, std::fabs(row[i]));
    const float step = most / 127.0F, divisor = step > 0.0F ? step : 1.0F;
    for (int i = 0; i < inputs; i++) {
        constexpr float ROUNDS = 12582912.0F;  // 1.5 * 2^23: floats of this size are integers, and ties go to even
        const float whole = row[i] / divisor + ROUNDS - ROUNDS;
        packed[i] = static_cast<uint8_t>(static_cast<int>(std::min(127.0F, std::max(-127.0F, whole))));
    }
    place_bytes(scheme, output, reinterpret_cast<const int8_t*>(packed.data()), inputs, step);
}

void Weights::place_bytes(const Scheme& scheme, int output, const int8_t* row, int inputs, float scale) {
    int32_t sum = 0;
    for (int i = 0; i < inputs; i++) sum += row[i];
    scales_[output] = scale;
    starts_[output] = -scheme.offset * sum;
    place_groups(scheme, output, reinterpret_cast<const uint8_t*>(row), inputs);
}

// Copies a row of converted weights, one group of inputs at a time, to its column in a panel.
void Weights::place_groups(const Scheme& scheme, int output, const uint8_t* row, int inputs) {
    const size_t group = static_cast<size_t>(scheme.group) * scheme.weight_bytes, step = group * scheme.panel;
    const size_t panel =
        static_cast<size_t>(output / scheme.panel) * scheme.panel * packed_.inputs * scheme.weight_bytes;
    const size_t bytes = static_cast<size_t>(inputs) * scheme.weight_bytes;
    uint8_t* to = panels_ + panel + (output % scheme.panel) * group;
    size_t at = 0;
    if (group == 4) {
        for (; at + 4 <= bytes; at += 4, to += step) std::memcpy(to, row + at, 4);
    }
    for (; at < bytes; at += group, to += step) std::memcpy(to, row + at, std::min(group, bytes - at));
}

}  // namespace likewise
