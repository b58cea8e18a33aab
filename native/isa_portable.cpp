// Kernels in plain C++ for any processor: the slow and obvious version that the others are tested against.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "halves.h"
#include "isa.h"

namespace likewise {
namespace {

constexpr int PANEL = 16;

float widened(float x) { return x; }
float widened(uint16_t x) { return from_bfloat16(x); }
int32_t widened(int8_t x) { return x; }

float scaled(float sum, const Product&, int, int) { return sum; }
float scaled(int32_t sum, const Product& p, int row, int column) {
    return static_cast<float>(sum) * p.row_scales[row] * p.weights->scales[column];
}

// Elements are floats, halves or bytes; sums are floats or, of bytes, exact.
template <class Element>
void multiply(const Product& p) {
    const long inputs = p.weights->inputs;
    for (int row = 0; row < p.count; row++) {
        const Element* x = static_cast<const Element*>(p.rows) + row * p.row_stride;
        for (int panel = 0; panel < p.weights->outputs; panel += PANEL) {
            const Element* w = static_cast<const Element*>(p.weights->panels) + panel * inputs;
            decltype(widened(Element{})) sums[PANEL] = {};
            for (long k = 0; k < inputs; k++) {
                for (int c = 0; c < PANEL; c++) sums[c] += widened(x[k]) * widened(w[k * PANEL + c]);
            }
            for (int c = 0; c < PANEL; c++) {
                const long at = row * p.out_stride + panel + c;
                const float y = scaled(sums[c], p, row, panel + c) + p.weights->bias[panel + c];
                p.out[at] = p.residual ? y + p.residual[at] : y;
            }
        }
    }
}

void quantise(const float* x, int count, float largest, void* out, float* scale) {
    *scale = largest / 127.0F;
    const float steps = largest > 0.0F ? 127.0F / largest : 0.0F;
    auto to = static_cast<int8_t*>(out);
    for (int i = 0; i < count; i++) {
        const float whole = std::nearbyint(x[i] * steps);
        to[i] = whole >= -127.0F && whole <= 127.0F ? static_cast<int8_t>(whole) : int8_t{0};  // 0 for NaN
    }
}

void to_bf16(const float* x, int count, float, void* out, float*) {
    auto to = static_cast<uint16_t*>(out);
    for (int i = 0; i < count; i++) to[i] = bfloat16_of(x[i]);
}

float largest(const float* x, int count) {
    float most = 0.0F;
    for (int i = 0; i < count; i++) most = std::max(most, std::fabs(x[i]));
    return most;
}

float layer_norm(const float* x, float* out, int width, int stride, const float* weight, const float* bias, float eps) {
    double sum = 0.0, squares = 0.0;
    for (int i = 0; i < width; i++) sum += x[i];
    const double mean = sum / width;
    for (int i = 0; i < width; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double factor = 1.0 / std::sqrt(squares / width + eps);
    for (int i = 0; i < width; i++) out[i] = static_cast<float>((x[i] - mean) * factor) * weight[i] + bias[i];
    for (int i = width; i < stride; i++) out[i] = 0.0F;
    return largest(out, width);
}

float logistic(float x) { return 1.0F / (1.0F + std::exp(-x)); }

float activated(float x, Activation kind) {
    switch (kind) {
        case Activation::gelu:
        case Activation::rough_gelu: return 0.5F * x * (1.0F + std::erf(x * 0.70710678F));
        case Activation::gelu_tanh: return 0.5F * x * (1.0F + std::tanh(0.79788456F * (x + 0.044715F * x * x * x)));
        case Activation::relu: return std::max(x, 0.0F);
        case Activation::silu: return x * logistic(x);
        case Activation::tanh: return std::tanh(x);
        case Activation::quick_gelu: return x * logistic(1.702F * x);
        case Activation::sigmoid: return logistic(x);
        case Activation::mish: return x * std::tanh(x > 20.0F ? x : std::log1p(std::exp(x)));
    }
    return x;
}

float activate(float* x, int count, Activation kind) {
    for (int i = 0; i < count; i++) x[i] = activated(x[i], kind);
    return largest(x, count);
}

float gate(float* x, const float* gate, int count, Activation kind) {
    for (int i = 0; i < count; i++) x[i] = activated(x[i], kind) * gate[i];
    return largest(x, count);
}

// One query of one head: scores of the keys within reach, their softmax, the values weighted by it.
void attend_one(const Attention& a, int head, int query, float* scores) {
    const long at = static_cast<long>(head) * a.width;
    const float* q = a.queries + query * a.stride + at;
    const int begin = a.reach < 0 ? 0 : std::max(0, query - a.reach);
    const int end = a.reach < 0 ? a.tokens : std::min(a.tokens, query + a.reach + 1);
    float most = -3e38F, total = 0.0F;
    for (int key = begin; key < end; key++) {
        const float* k = a.keys + key * a.stride + at;
        float sum = 0.0F;
        for (int d = 0; d < a.width; d++) sum += q[d] * k[d];
        sum /= std::sqrt(static_cast<float>(a.width));
        // relative scores are kept for powers of two
        if (a.relative) sum += a.relative[2L * a.limit * head + a.limit + query - key] * 0.69314718F;
        scores[key] = sum;
        most = std::max(most, sum);
    }
    for (int key = begin; key < end; key++) total += scores[key] = std::exp(scores[key] - most);
    float* out = a.out + query * a.out_stride + at;
    std::fill(out, out + a.width, 0.0F);
    for (int key = begin; key < end; key++) {
        const float* v = a.values + key * a.stride + at;
        for (int d = 0; d < a.width; d++) out[d] += scores[key] / total * v[d];
    }
}

void attend(const Attention& a) {
    for (int head = 0; head < a.heads; head++) {
        for (int query = 0; query < a.tokens; query++) attend_one(a, head, query, a.work);
    }
}

// Elements of queries; rows are floats or bytes. A panel is a single column: lanes and vectors are 1.
template <class Element>
size_t scan(const ScanBlock& b) {
    Hit* hit = b.hits;
    for (int row = 0; row < b.count; row++) {
        const Element* x = static_cast<const Element*>(b.rows[row]);
        for (int column = 0; column < b.columns; column++) {
            const Element* q = static_cast<const Element*>(b.queries) + static_cast<long>(column) * b.inputs;
            decltype(widened(Element{})) sum{};
            for (int k = 0; k < b.inputs; k++) sum += widened(x[k]) * widened(q[k]);
            const float score = static_cast<float>(sum) * b.factors[row] * b.query_factors[column];
            if (!(score <= b.floors[column])) *hit++ = {row, column, score};
        }
    }
    return static_cast<size_t>(hit - b.hits);
}

size_t scan_bits(const ScanBlock& b) {
    Hit* hit = b.hits;
    for (int row = 0; row < b.count; row++) {
        const uint64_t* x = static_cast<const uint64_t*>(b.rows[row]);
        for (int column = 0; column < b.columns; column++) {
            const uint64_t* q = static_cast<const uint64_t*>(b.queries) + static_cast<long>(column) * b.inputs;
            int64_t distance = 0;
            for (int k = 0; k < b.inputs; k++) distance += __builtin_popcountll(x[k] ^ q[k]);
            if (distance <= b.farthest[column]) *hit++ = {row, column, -static_cast<float>(distance)};
        }
    }
    return static_cast<size_t>(hit - b.hits);
}

void copy_bytes(const void* stored, int count, void* out) { std::memcpy(out, stored, count); }

float squares(const float* x, int count) {
    float sum = 0.0F;
    for (int i = 0; i < count; i++) sum += x[i] * x[i];
    return sum;
}

void from_fp16(const void* stored, int count, float* out) {
    for (int i = 0; i < count; i++) out[i] = from_float16(static_cast<const uint16_t*>(stored)[i]);
}

}  // namespace

const Kernels portable_kernels = {
    "portable",
    {PANEL, 1, 4, 4, 0, multiply<float>, nullptr},
    {PANEL, 1, 2, 2, 0, multiply<uint16_t>, to_bf16},
    {PANEL, 1, 1, 1, 0, multiply<int8_t>, quantise},
    layer_norm, activate, gate, largest, attend, attend,
    {{1, 1, 1, 1, 4, 4, 0, scan<float>, nullptr},
     {1, 1, 1, 1, 1, 1, 0, scan<int8_t>, copy_bytes},
     {1, 1, 1, 1, 8, 8, 0, scan_bits, nullptr},
     squares, from_fp16},
};
}  // namespace likewise
