// Kernels in plain C++ for any processor, following ARITHMETIC.md step by step. All other kernels must be bit-identical
// to these and are tested against them.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "fused.h"
#include "halves.h"
#include "isa.h"

namespace likewise {
namespace {

constexpr int PANEL = 16;

// As in the vector instructions: b, unless a is beyond it.
inline float larger(float a, float b) { return a > b ? a : b; }
inline float smaller(float a, float b) { return a < b ? a : b; }
inline float clamped(float x, float limit) { return larger(smaller(x, limit), -limit); }

float widened(float x) { return x; }
float widened(uint16_t x) { return from_bfloat16(x); }
int32_t widened(int8_t x) { return x; }

float step(float sum, float x, float w) { return fused(x, w, sum); }
int32_t step(int32_t sum, int32_t x, int32_t w) { return sum + x * w; }

void begin(float& sum, const Product& p, int column) { sum = p.weights->bias[column]; }
void begin(int32_t& sum, const Product&, int) { sum = 0; }

float result(float sum, const Product&, int, int) { return sum; }
float result(int32_t sum, const Product& p, int row, int column) {
    const float scaled = static_cast<float>(sum) * p.row_scales[row];
    return fused(scaled, p.weights->scales[column], p.weights->bias[column]);
}

// Elements are floats, halves or bytes; sums are floats or, for bytes, exact. Halves are added in pairs, second first.
template <class Element>
void multiply(const Product& p) {
    constexpr int PAIRED = sizeof(Element) == 2 ? 1 : 0;
    const long inputs = p.weights->inputs;
    for (int row = 0; row < p.count; row++) {
        const Element* x = static_cast<const Element*>(p.rows) + row * p.row_stride;
        for (int panel = p.first, end = std::min(p.end, p.weights->outputs); panel < end; panel += PANEL) {
            const Element* w = static_cast<const Element*>(p.weights->panels) + panel * inputs;
            decltype(widened(Element{})) sums[PANEL];
            for (int c = 0; c < PANEL; c++) begin(sums[c], p, panel + c);
            for (long i = 0; i < inputs; i++) {
                const long k = i ^ PAIRED;
                for (int c = 0; c < PANEL; c++) sums[c] = step(sums[c], widened(x[k]), widened(w[k * PANEL + c]));
            }
            for (int c = 0; c < PANEL; c++) {
                const long at = row * p.out_stride + panel + c;
                const float y = result(sums[c], p, row, panel + c);
                p.out[at] = p.residual ? y + p.residual[at] : y;
            }
        }
    }
}

void quantise(const float* x, int count, float largest, void* out, float* scale) {
    *scale = largest / 127.0F;
    const float steps = steps_of(largest);
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
    for (int i = 0; i < count; i++) most = larger(std::fabs(x[i]), most);
    return most;
}

// Adds a multiple of 16 numbers in 64 sums: number i goes to sum i % 64, or i % 16 after the last full 64. Every four
// sums become one, then the halves of the sixteen are added repeatedly.
template <class Step>
float sum_of(int count, Step step) {
    float sums[64] = {};
    const int whole = count / 64 * 64;
    for (int i = 0; i < count; i++) {
        float& sum = sums[i < whole ? i % 64 : i % 16];
        sum = step(sum, i);
    }
    for (int i = 0; i < 16; i++) sums[i] = (sums[i] + sums[16 + i]) + (sums[32 + i] + sums[48 + i]);
    for (int half = 8; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) sums[i] += sums[half + i];
    }
    return sums[0];
}

float layer_norm(const float* x, float* out, int width, int stride, const float* weight, const float* bias, float eps) {
    const auto number = static_cast<float>(width);
    const float mean = sum_of(stride, [&](float sum, int i) { return sum + x[i]; }) / number;
    const float squares = sum_of(stride, [&](float sum, int i) {
        const float centred = i < width ? x[i] - mean : 0.0F;
        return sum + centred * centred;
    });
    const float factor = 1.0F / std::sqrt(squares / number + eps);
    for (int i = 0; i < stride; i++) out[i] = fused((x[i] - mean) * factor, weight[i], bias[i]);
    return largest(out, stride);
}

float rms_norm(const float* x, float* out, int width, int stride, const float* weight, float eps) {
    const float squares = sum_of(stride, [&](float sum, int i) { return fused(x[i], x[i], sum); });
    const float factor = 1.0F / std::sqrt(squares / static_cast<float>(width) + eps);
    for (int i = 0; i < stride; i++) out[i] = x[i] * factor * weight[i];
    return largest(out, stride);
}

template <int COUNT>
float polynomial(float x, const float (&coefficients)[COUNT]) {
    float sum = coefficients[0];
    for (int i = 1; i < COUNT; i++) sum = fused(sum, x, coefficients[i]);
    return sum;
}

float power_of_two(float x) {
    if (!(x >= -126.0F)) return 0.0F;
    const float whole = std::floor(x);
    const float scale = float_of(static_cast<uint32_t>(static_cast<int>(whole) + 127) << 23);
    return polynomial(x - whole, POWER) * scale;
}

float exponential(float x) { return power_of_two(larger(smaller(x, 88.0F), -1e4F) * LOG2_E); }
float logistic(float x) { return 1.0F / (1.0F + exponential(0.0F - larger(x, -80.0F))); }

float gelu(float x) {
    const float z = clamped(x, GELU_END), square = z * z, half = x * 0.5F;
    return fused(half, z * polynomial(square, GELU_P) / polynomial(square, GELU_Q), half);
}

float rough_gelu(float x) {
    const float z = clamped(x, ROUGH_END);
    return x * fused(z, polynomial(z * z, ROUGH), 0.5F);
}

float mish(float x) {
    const float e = exponential(smaller(x, 20.0F)), n = e * (e + 2.0F);
    return x * (n / (n + 2.0F));
}

float activated(float x, Activation kind) {
    switch (kind) {
        case Activation::gelu: return gelu(x);
        case Activation::rough_gelu: return rough_gelu(x);
        case Activation::gelu_tanh: return x * logistic(fused(x * x * x, 0.044715F, x) * 1.59576912F);
        case Activation::relu: return larger(x, 0.0F);
        case Activation::silu: return x * logistic(x);
        case Activation::tanh: return fused(2.0F, logistic(x + x), -1.0F);
        case Activation::quick_gelu: return x * logistic(x * 1.702F);
        case Activation::sigmoid: return logistic(x);
        case Activation::mish: return mish(x);
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

// The range of keys that a query attends to.
struct Seen {
    int begin, end;
    Seen(const Attention& a, int query)
        : begin(std::max(0, query - a.before)), end(std::min(a.tokens, query + a.behind + 1)) {}
};

float with_bias(const Attention& a, float score, int head, int query, int key) {
    return a.bias ? score + a.bias[head * a.head_step + query + key * a.key_step] : score;
}

// One query of one head: the scores of the keys that it attends to, their softmax, and the weighted values.
void attend_one(const Attention& a, int head, int query, float* scores) {
    const long at = static_cast<long>(head) * a.width, shared = static_cast<long>(head / a.group) * a.width;
    const float* q = a.queries + query * a.stride + at;
    const Seen seen(a, query);
    const float factor = LOG2_E / a.divisor;
    float most = -3e38F, total = 0.0F;
    for (int key = seen.begin; key < seen.end; key++) {
        const float* k = a.keys + key * a.stride + shared;
        float sum = 0.0F;
        for (int d = 0; d < a.width; d++) sum = fused(q[d] * factor, k[d], sum);
        scores[key] = with_bias(a, sum, head, query, key);
        most = larger(most, scores[key]);
    }
    for (int key = seen.begin; key < seen.end; key++) total += scores[key] = power_of_two(scores[key] - most);
    const float share = 1.0F / total;
    for (int d = 0; d < a.width; d++) {
        float sum = 0.0F;
        for (int key = seen.begin; key < seen.end; key++) {
            sum = fused(scores[key], a.values[key * a.stride + shared + d], sum);
        }
        a.out[query * a.out_stride + at + d] = sum * share;
    }
}

void attend(const Attention& a) {
    for (int head = 0; head < a.heads; head++) {
        for (int query = 0; query < a.tokens; query++) attend_one(a, head, query, a.work);
    }
}

float largest_of_rows(const Attention& a, const float* rows) {
    float most = 1e-30F;
    for (int row = 0; row < a.tokens; row++) most = larger(largest(rows + row * a.stride, a.width), most);
    return most;
}

// Multiplies numbers by `scale` and rounds them to integers.
void round_row(const float* x, int count, float scale, int32_t* out) {
    for (int i = 0; i < count; i++) out[i] = static_cast<int32_t>(std::nearbyint(x[i] * scale));
}

// One head in 16 bits; the scales of its queries, keys and values depend on the sentence.
struct RoundedHead {
    const Attention& a;
    PairScales scales;
    int head;
    float* scores;                  // of the keys
    int32_t *query, *keys, *values;  // [width], [tokens][width] twice

    float weigh(int d, const Seen& seen) const {
        float sum = 0.0F;
        for (int key = seen.begin; key < seen.end;) {
            int32_t part = 0;
            for (const int end = std::min(seen.end, (key / KEY_BLOCK + 1) * KEY_BLOCK); key < end; key++) {
                part += static_cast<int32_t>(scores[key]) * values[static_cast<long>(key) * a.width + d];
            }
            sum += static_cast<float>(part);
        }
        return sum;
    }

    void attend(int number) const {
        const long at = static_cast<long>(head) * a.width;
        const Seen seen(a, number);
        round_row(a.queries + number * a.stride + at, a.width, scales.query, query);
        float most = -3e38F;
        for (int key = seen.begin; key < seen.end; key++) {
            int32_t sum = 0;
            for (int d = 0; d < a.width; d++) sum += query[d] * keys[static_cast<long>(key) * a.width + d];
            scores[key] = with_bias(a, static_cast<float>(sum) * scales.score_step, head, number, key);
            most = larger(most, scores[key]);
        }
        int32_t total = 0;
        for (int key = seen.begin; key < seen.end; key++) {
            scores[key] = std::nearbyint(power_of_two(scores[key] - (most - ONE_EXPONENT)));
            total += static_cast<int32_t>(scores[key]);
        }
        const float share = scales.value_step / static_cast<float>(total);
        for (int d = 0; d < a.width; d++) a.out[number * a.out_stride + at + d] = weigh(d, seen) * share;
    }
};

void attend_rounded(const Attention& a) {
    if (!in_pairs(a)) return attend(a);
    const long size = static_cast<long>(a.tokens) * a.width;
    auto query = reinterpret_cast<int32_t*>(a.work + a.tokens), keys = query + a.width, values = keys + size;
    for (int head = 0; head < a.heads; head++) {
        const long at = static_cast<long>(head) * a.width, shared = static_cast<long>(head / a.group) * a.width;
        const PairScales scales(a.width, a.divisor, largest_of_rows(a, a.queries + at),
                                largest_of_rows(a, a.keys + shared), largest_of_rows(a, a.values + shared));
        for (long token = 0; token < a.tokens; token++) {
            round_row(a.keys + token * a.stride + shared, a.width, scales.key, keys + token * a.width);
            round_row(a.values + token * a.stride + shared, a.width, scales.value, values + token * a.width);
        }
        const RoundedHead rounded{a, scales, head, a.work, query, keys, values};
        for (int number = 0; number < a.tokens; number++) rounded.attend(number);
    }
}

void sum_words(const WordSum& s) {
    for (long column = 0; column < s.columns; column++) {
        float sum = 0.0F;
        for (long i = 0; i < s.count; i++) {
            const long at = s.ids[i] * s.columns + column;
            sum += s.scales ? static_cast<const int8_t*>(s.words)[at] * s.scales[s.ids[i]] : static_cast<const float*>(s.words)[at];
        }
        s.out[column] = sum / s.total;
    }
}

// The template parameter is the type of query elements; rows are floats or bytes. A panel is a single column.
template <class Element>
size_t scan(const ScanBlock& b) {
    Hit* hit = b.hits;
    for (int row = 0; row < b.count; row++) {
        const Element* x = static_cast<const Element*>(b.rows[row]);
        for (int column = 0; column < b.columns; column++) {
            const Element* q = static_cast<const Element*>(b.queries) + static_cast<long>(column) * b.inputs;
            decltype(widened(Element{})) sum{};
            for (int k = 0; k < b.inputs; k++) sum = step(sum, widened(x[k]), widened(q[k]));
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
    return sum_of((count + 15) / 16 * 16, [&](float sum, int i) { return i < count ? fused(x[i], x[i], sum) : sum; });
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
    layer_norm, rms_norm, activate, gate, largest, attend, attend_rounded, sum_words,
    {{1, 1, 1, 1, 4, 4, 0, scan<float>, nullptr},
     {1, 1, 1, 1, 1, 1, 0, scan<int8_t>, copy_bytes},
     {1, 1, 1, 1, 8, 8, 0, scan_bits, nullptr},
     squares, from_fp16},
};
}  // namespace likewise
