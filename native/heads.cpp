#include "heads.h"

#include <algorithm>
#include <cmath>

#include "failure.h"

namespace likewise {
namespace {

constexpr int GROUP = 64;  // rows that pass through all heads together
constexpr float NORM_EPS = 1e-5F, LEAST_LENGTH = 1e-12F;  // the defaults of torch's LayerNorm and normalize
constexpr int64_t LARGEST_WIDTH = 1'000'000;

}  // namespace

Heads::Heads(const lw_head* heads, int32_t count, int32_t width, const Kernels& kernels)
    : kernels_(kernels), inputs_(width), width_(width) {
    if (width < 1 || count < 0 || (count > 0 && heads == nullptr)) refuse("there are no heads, or no vectors");
    for (int32_t i = 0; i < count; i++) add(heads[i]);
}

void Heads::add(const lw_head& head) {
    Head made{head.kind, head.activation, width_, width_, {}, {}};
    const lw_tensor& weight = head.linear.weight;
    switch (head.kind) {
        case LW_DENSE:
            if (weight.columns != width_ || weight.rows < 1 || weight.rows > LARGEST_WIDTH)
                refuse("a Dense head takes ", weight.columns, " dimensions, but gets ", width_);
            if (head.activation < LW_IDENTITY || head.activation > LW_SIGMOID) refuse("a head has the unknown activation ", head.activation);
            made.outputs = static_cast<int>(weight.rows);
            made.weights = Weights({{&head.linear, 0, made.outputs}}, width_, kernels_.fp32, false, "a Dense head", arena_);
            break;
        case LW_LAYER_NORM:
            for (const auto& [tensor, to] : {std::pair{&weight, &made.norm.weight}, {&head.linear.bias, &made.norm.bias}})
                *to = read_all(*tensor, 1, width_, padded(width_), "a LayerNorm head");
            break;
        case LW_TRUNCATE:
            if (head.width < 1 || head.width > width_) refuse("truncate_dim is ", head.width, "; expected 1 to ", width_);
            made.outputs = head.width;
            break;
        case LW_NORMALIZE: break;
        default: refuse("a head has the unknown kind ", head.kind);
    }
    width_ = made.outputs;
    heads_.push_back(std::move(made));
}

void Heads::run(const float* rows, int64_t count, float* out, HeadRows& work) const {
    const bool in_place = width_ % LANES == 0 && !heads_.empty();  // the last head can write its results in place
    for (int64_t row = 0; row < count; row += GROUP) {
        const int some = static_cast<int>(std::min<int64_t>(GROUP, count - row));
        const float* x = padded_rows(rows + row * inputs_, some, work);
        for (size_t i = 0; i < heads_.size(); i++) {
            const bool last = in_place && i + 1 == heads_.size();
            float* y = last ? out + row * width_ : work.steps[i % 2].of(static_cast<size_t>(GROUP) * padded(heads_[i].outputs));
            apply(heads_[i], x, y, some);
            x = y;
        }
        for (int i = 0; i < some && !in_place; i++) std::copy_n(x + static_cast<size_t>(i) * padded(width_), width_, out + (row + i) * width_);
    }
}

// The rows, copied and padded with zeros to a multiple of LANES if necessary.
const float* Heads::padded_rows(const float* rows, int count, HeadRows& work) const {
    const int stride = padded(inputs_);
    if (stride == inputs_) return rows;
    float* to = work.inputs.of(static_cast<size_t>(GROUP) * stride);
    for (int i = 0; i < count; i++) {
        float* row = to + static_cast<size_t>(i) * stride;
        std::fill(std::copy_n(rows + static_cast<size_t>(i) * inputs_, inputs_, row), row + stride, 0.0F);
    }
    return to;
}

// Rows are padded with zeros before and after the call.
void Heads::apply(const Head& head, const float* rows, float* out, int count) const {
    const int stride = padded(head.inputs), next = padded(head.outputs);
    if (head.kind == LW_DENSE)
        kernels_.fp32.multiply({rows, stride, nullptr, count, &head.weights.packed(), nullptr, out, next, nullptr});
    for (int i = 0; i < count; i++) {
        const float* x = rows + static_cast<size_t>(i) * stride;
        float* y = out + static_cast<size_t>(i) * next;
        if (head.kind == LW_TRUNCATE) std::fill(std::copy_n(x, head.outputs, y), y + next, 0.0F);
        if (head.kind == LW_LAYER_NORM) kernels_.layer_norm(x, y, head.inputs, stride, head.norm.weight.data(), head.norm.bias.data(), NORM_EPS);
        if (head.kind == LW_DENSE && head.activation != LW_IDENTITY) {
            kernels_.activate(y, next, static_cast<Activation>(head.activation));
            std::fill(y + head.outputs, y + next, 0.0F);  // some activations map 0 to a nonzero value
        }
        if (head.kind == LW_NORMALIZE) {
            const float length = std::max(std::sqrt(kernels_.scan.squares(x, next)), LEAST_LENGTH);
            for (int j = 0; j < next; j++) y[j] = x[j] / length;
        }
    }
}

}  // namespace likewise
