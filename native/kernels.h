// The kernels of an instruction set, as one table of functions on which all shared code is built.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "polynomials.h"

namespace likewise {

// Weights laid out for matmuls: panels of columns; within a panel, groups of inputs; within a group, columns.
struct Packed {
    int inputs = 0;   // padded, a multiple of 16
    int outputs = 0;  // padded, a multiple of 16
    const void* panels = nullptr;
    const float* bias = nullptr;      // one value per output; null if the layer has no bias
    const float* scales = nullptr;    // int8: per output
    const int32_t* starts = nullptr;  // int8: initial values of sums, which compensate for the offset of activations
};

// out = rows * weights + bias (+ residual), or some of its columns. Rows may have any count and stride.
struct Product {
    const void* rows = nullptr;
    long row_stride = 0;                // elements
    const float* row_scales = nullptr;  // int8: per row
    int count = 0;
    const Packed* weights = nullptr;
    const float* residual = nullptr;  // with the stride of out
    float* out = nullptr;
    long out_stride = 0;
    const Packed* next = nullptr;  // the weights that this thread probably needs next, to prefetch
    int first = 0;                 // the first column of this part, at the start of a panel
    int end = 1 << 30;             // one past the last column of this part
    int next_first = 0;            // the first column in `next`
};

// How matmuls are computed in one precision.
struct Scheme {
    int panel;         // columns per panel
    int group;         // adjacent inputs per group
    int weight_bytes;  // per packed weight
    int row_bytes;     // per element of a row
    int offset;        // int8: offset added to activations when they are stored
    void (*multiply)(const Product&);
    // Converts a row of floats, given its largest magnitude, and returns its scale; null: rows stay floats.
    void (*prepare)(const float* x, int count, float largest, void* out, float* scale);
};

// The last, GELU with an error of 5e-4 max(1, |x|), is for int8 models, whose quantization error is ten times as large.
enum class Activation { gelu, gelu_tanh, relu, silu, tanh, quick_gelu, mish, sigmoid, rough_gelu };

constexpr int EVERY = 1 << 24;

// Attention over one sentence: pointers to its queries, keys and values, and to the output.
struct Attention {
    const float* queries;  // of the first token and head; the others follow
    const float* keys;
    const float* values;
    long stride;               // floats from one token to the next, in all three
    int tokens, heads, width;  // width of a head
    int group;                 // query heads that share a key-value head
    int before, behind;        // tokens that a token attends to before and after itself; EVERY: all
    float divisor;             // of scores
    const float* bias;         // added to scores: that of the first head, query and key; or null
    long head_step, key_step;  // to the bias of the next head or key; those of queries are adjacent
    float* out;                // heads concatenated
    long out_stride;
    float* work;  // attention_work(...) floats
};

// Floats of temporary memory that attention needs, for any instruction set.
inline long attention_work(int tokens, int width) {
    const long padded = (width + 15) / 16 * 16;
    return 16 * padded + 16L * (tokens + 1) + 16 * padded + 2L * (tokens + 1) * padded + 64;
}

// Whether to compute attention in 16 bits, for int8 models, which round more anyway: only if it is faster than floats.
inline bool in_pairs(const Attention& a) { return a.tokens > 32 && a.tokens <= 1 << 16 && a.width % 16 == 0; }

constexpr float ONE_EXPONENT = 12.0F;  // a weight of 1 is stored as 2^12
constexpr int KEY_BLOCK = 256;         // keys whose weighted values are summed in integers

// The scales of one head in one sentence, given the largest magnitudes of its queries, keys and values.
struct PairScales {
    float query, key, value;  // from numbers to integers
    float score_step;         // from an integer score to the exponent of two
    float value_step;
    PairScales(int width, float divisor, float largest_query, float largest_key, float largest_value) {
        constexpr float SUMS = 2147483520.0F;  // no sum is larger
        constexpr float VALUES = 2000.0F;      // the largest value: KEY_BLOCK * 2^12 * VALUES is below SUMS
        const float most = std::min(8191.0F, std::floor(std::sqrt(SUMS / static_cast<float>(width))));
        query = most / largest_query;
        key = most / largest_key;
        value = VALUES / largest_value;
        value_step = largest_value / VALUES;
        score_step = largest_query / most * (largest_key / most) * LOG2_E / divisor;
    }
};

// Rows of a word embedding table, added up in order.
struct WordSum {
    const void* words;    // the table: floats, or bytes with scales
    const float* scales;  // per row; null: floats
    long columns;         // 16 or more
    const int32_t* ids;   // of the rows
    long count, known;    // ids to add up; ids that may be read ahead, to prefetch their rows
    float total;          // divides the sum
    float* out;
};

// The factor for a row with this largest magnitude when it is quantized to eight bits.
inline float steps_of(float largest) { return largest > 1e-30F ? 127.0F / largest : 0.0F; }

// A row and a query, as indices in their block, and their score.
struct Hit {
    int32_t row, query;
    float score;
};

// A few rows of a corpus, and the packed queries to compare them with: panels of columns; within a panel, groups of
// inputs (for bits, words); within a group, columns.
struct ScanBlock {
    const void* const* rows;  // as the kernel reads them; the last row is repeated up to a multiple of ScanKernel::rows
    const float* factors;     // a factor for each row's scores; null for bits
    int count;                // rows, not counting repetitions
    int inputs;               // per row: a multiple of the group, or words of 64 bits
    const void* queries;
    int columns;                 // queries, padded to a multiple of the lanes
    const float* query_factors;  // a factor for each query's scores; null for bits
    const int32_t* starts;       // int8: initial values of a query's sums, because rows are stored with an offset
    const float* floors;         // scores pass unless they are at most this: NaN passes, and a NaN floor passes all
    const int64_t* farthest;     // bits: distances pass if they are at most this
    Hit* hits;                   // room for count * columns hits
};

// How rows of one type are compared with queries. For bits, a hit's score is the negative distance.
struct ScanKernel {
    int lanes;                                            // columns per vector
    int vectors;                                          // maximum vectors per panel
    int rows;                                             // rows computed at once
    int group;                                            // adjacent inputs
    int weight_bytes;                                     // per packed input of a query
    int row_bytes;                                        // per input of a row, as the kernel reads it
    int offset;                                           // int8: offset added to a row's inputs
    size_t (*scan)(const ScanBlock&);                     // returns the number of hits
    void (*widen)(const void* stored, int count, void*);  // int8: converts a row to the form that the kernel reads
};

// Queries are divided among as few panels as possible, all of nearly the same width: the first vector of each.
inline int panels_of(int vectors, int most) { return (vectors + most - 1) / most; }
inline int panel_start(int vectors, int panels, int panel) {
    return static_cast<int>(static_cast<int64_t>(vectors) * panel / panels);
}

struct ScanKernels {
    ScanKernel fp32, int8, bits;
    float (*squares)(const float* x, int count);  // their sum
    void (*from_fp16)(const void* stored, int count, float* out);
};

struct Kernels {
    const char* name;
    Scheme fp32, bf16, int8;
    // (x - mean) / sqrt(variance + eps) * weight + bias for the first `width` of `stride` floats, zeros after them;
    // weight and bias are padded with zeros. May work in place. These four return the largest magnitude.
    float (*layer_norm)(const float* x, float* out, int width, int stride, const float* weight, const float* bias,
                        float eps);
    // The same for x / sqrt(mean of squares + eps) * weight.
    float (*rms_norm)(const float* x, float* out, int width, int stride, const float* weight, float eps);
    float (*activate)(float* x, int count, Activation);
    float (*gate)(float* x, const float* gate, int count, Activation);  // x = activation(x) * gate
    float (*largest)(const float* x, int count);
    void (*attend)(const Attention&);
    void (*attend_rounded)(const Attention&);  // for int8 models: the same, or a faster version that rounds
    void (*sum_words)(const WordSum&);
    ScanKernels scan;
};

// The kernels with this name or, if it is null, the best that this processor supports; throws if it supports none.
const Kernels& kernels_named(const char* name);
// The names of all kernels that this processor can run, best first, separated by spaces.
const char* kernels_here();

}  // namespace likewise
