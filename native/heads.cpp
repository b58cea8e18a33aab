#include "heads.h"

#include <algorithm>
#include <cmath>

#include "failure.h"

namespace likewise {
namespace {

constexpr int GROUP = 64;  // rows that pass all heads together
constexpr float NORM_EPS = 1e-5F, LEAST_LENGTH = 1e-12F;  // torch's, of LayerNorm and of normalize
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

void Heads::run(const float* rows, int64_t count, float* out) const {
    std::vector<float> x, spare;
    for (int64_t row = 0; row < count; row += GROUP) {
        const int some = static_cast<int>(std::min<int64_t>(GROUP, count - row));
        x.assign(static_cast<size_t>(some) * padded(inputs_), 0.0F);
        for (int i = 0; i < some; i++) std::copy_n(rows + (row + i) * inputs_, inputs_, &x[static_cast<size_t>(i) * padded(inputs_)]);
        for (const Head& head : heads_) apply(head, x, spare, some);
        for (int i = 0; i < some; i++) std::copy_n(&x[static_cast<size_t>(i) * padded(width_)], width_, out + (row + i) * width_);
    }
}

// Rows are padded with zeros, before and after.
void Heads::apply(const Head& head, std::vector<float>& rows, std::vector<float>& spare, int count) const {
    const int stride = padded(head.inputs), next = padded(head.outputs);
    const std::vector<float>* from = &rows;
    if (head.kind == LW_DENSE || head.kind == LW_TRUNCATE) {
        spare.assign(static_cast<size_t>(count) * next, 0.0F);
        spare.swap(rows);
        from = &spare;
    }
    if (head.kind == LW_DENSE)
        kernels_.fp32.multiply({from->data(), stride, nullptr, count, &head.weights.packed(), nullptr, rows.data(), next, nullptr});
    for (int i = 0; i < count; i++) {
        const float* x = from->data() + static_cast<size_t>(i) * stride;
        float* y = rows.data() + static_cast<size_t>(i) * next;
        if (head.kind == LW_TRUNCATE) std::copy_n(x, head.outputs, y);
        if (head.kind == LW_LAYER_NORM) kernels_.layer_norm(x, y, head.inputs, stride, head.norm.weight.data(), head.norm.bias.data(), NORM_EPS);
        if (head.kind == LW_DENSE && head.activation != LW_IDENTITY) {
            kernels_.activate(y, next, static_cast<Activation>(head.activation));
            std::fill(y + head.outputs, y + next, 0.0F);  // some activations make more than 0 of 0
        }
        if (head.kind == LW_NORMALIZE) {
            const float length = std::max(std::sqrt(kernels_.scan.squares(y, next)), LEAST_LENGTH);
            for (int j = 0; j < next; j++) y[j] /= length;
        }
    }
}

}  // namespace likewise
