// The kernels of an instruction set as one table of functions; all other code is shared and built on top of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "polynomials.h"

namespace likewise {

// Weights laid out for products: panels of columns, in each panel groups of inputs, in each group column by column.
struct Packed {
    int inputs = 0;   // padded, a multiple of 16
    int outputs = 0;  // padded, a multiple of 16
    const void* panels = nullptr;
    const float* bias = nullptr;      // of each output, 0 if there is none
    const float* scales = nullptr;    // int8: of each output
    const int32_t* starts = nullptr;  // int8: initial values of sums, which make up for the offset of activations
};

// out = rows * weights + bias (+ residual), or some of its columns. Rows may have any count and distance.
struct Product {
    const void* rows = nullptr;
    long row_stride = 0;                // elements
    const float* row_scales = nullptr;  // int8: of each row
    int count = 0;
    const Packed* weights = nullptr;
    const float* residual = nullptr;  // as far apart as out
    float* out = nullptr;
    long out_stride = 0;
    const Packed* next = nullptr;  // weights that this thread probably multiplies next, to prefetch
    int first = 0;                 // column of this part of the product: a whole panel's
    int end = 1 << 30;             // behind the part's last column
    int next_first = 0;            // column of `next`
};

// How products are computed in one precision.
struct Scheme {
    int panel;         // columns of a panel
    int group;         // adjacent inputs
    int weight_bytes;  // of a packed weight
    int row_bytes;     // of one element of a row
    int offset;        // int8: offset added to activations when they are stored
    void (*multiply)(const Product&);
    // A row of floats as products read it, given its largest magnitude, and its scale; null: floats as they are.
    void (*prepare)(const float* x, int count, float largest, void* out, float* scale);
};

// The last, GELU to 5e-4 of max(1, |x|), is for products of bytes, whose steps are ten times as wide.
enum class Activation { gelu, gelu_tanh, relu, silu, tanh, quick_gelu, mish, sigmoid, rough_gelu };

constexpr int EVERY = 1 << 24;

// The attention of one sentence: where its queries, keys and values lie, and where the result goes.
struct Attention {
    const float* queries;  // of the first token and head; the others follow
    const float* keys;
    const float* values;
    long stride;               // floats from a token to the next, in all three
    int tokens, heads, width;  // width of a head
    int group;                 // query heads that share a key-value head
    int before, behind;        // tokens that a token attends to before and after itself; EVERY: all
    float divisor;             // of scores
    const float* bias;         // added to scores: of the first head, query and key; or null
    long head_step, key_step;  // to the bias of the next head, or key; the next query's is beside it
    float* out;                // heads side by side
    long out_stride;
    float* work;  // attention_work(...) floats
};

// Floats of temporary memory that attention needs, for any instruction set.
inline long attention_work(int tokens, int width) {
    const long padded = (width + 15) / 16 * 16;
    return 16 * padded + 16L * (tokens + 1) + 16 * padded + 2L * (tokens + 1) * padded + 64;
}

// Attention in 16 bits, for models with int8 products, which round more anyway: only where it is faster than floats.
inline bool in_pairs(const Attention& a) { return a.tokens > 32 && a.tokens <= 1 << 16 && a.width % 16 == 0; }

constexpr float ONE_EXPONENT = 12.0F;  // a weight of 1 is stored as 2^12
constexpr int KEY_BLOCK = 256;         // keys whose weighted values are summed in integers

// The rounding of one head of one sentence, given the largest magnitudes of its queries, keys and values.
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

// Rows of a table of words, added up in their order.
struct WordSum {
    const void* words;    // the table: floats, or bytes with scales
    const float* scales;  // of each row; null: floats
    long columns;         // 16 or more
    const int32_t* ids;   // of the rows
    long count, known;    // ids to add up; ids that can be read, so that later rows can be prefetched
    float total;          // divides the sum
    float* out;
};

// The factor for a row with this largest magnitude before it is rounded to eight bits.
inline float steps_of(float largest) { return largest > 1e-30F ? 127.0F / largest : 0.0F; }

// A row and a query, both counted in their block, and their score.
struct Hit {
    int32_t row, query;
    float score;
};

// A few rows of a corpus, and packed queries that they are compared with: panels of columns, in each the inputs in
// groups (of bits: words), in each group column by column.
struct ScanBlock {
    const void* const* rows;  // as the kernel reads them; the last is repeated up to a multiple of ScanKernel::rows
    const float* factors;     // a factor for each row's scores; null for bits
    int count;                // of rows, without repetitions
    int inputs;               // of a row: a multiple of the group, or words of 64 bits
    const void* queries;
    int columns;                 // queries, padded to a multiple of the lanes
    const float* query_factors;  // a factor for each query's scores; null for bits
    const int32_t* starts;       // int8: where a query's sums start, because rows are stored above zero
    const float* floors;         // a query's score passes unless it is at most this: NaN passes, and all pass a NaN
    const int64_t* farthest;     // bits: a query's distance passes if it is at most this
    Hit* hits;                   // count * columns of them
};

// How rows of one type are compared with queries. For bits, a hit's score is minus the distance.
struct ScanKernel {
    int lanes;                                            // columns of a vector
    int vectors;                                          // most of a panel
    int rows;                                             // computed at once
    int group;                                            // adjacent inputs
    int weight_bytes;                                     // of a packed input of a query
    int row_bytes;                                        // of an input of a row, as the kernel reads it
    int offset;                                           // int8: offset added to a row's inputs
    size_t (*scan)(const ScanBlock&);                     // how many hits there are
    void (*widen)(const void* stored, int count, void*);  // int8: converts a row to the form that the kernel reads
};

// Queries are shared out between as few panels as can be, all of nearly one width: the first vector of each.
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
    // (x - mean) / sqrt(variance + eps) * weight + bias of the first `width` of `stride` floats, zero behind them;
    // weight and bias are padded with zeros. In place or not. These four return the largest magnitude.
    float (*layer_norm)(const float* x, float* out, int width, int stride, const float* weight, const float* bias,
                        float eps);
    // The same for x / sqrt(mean of squares + eps) * weight.
    float (*rms_norm)(const float* x, float* out, int width, int stride, const float* weight, float eps);
    float (*activate)(float* x, int count, Activation);
    float (*gate)(float* x, const float* gate, int count, Activation);  // x = activation(x) * gate
    float (*largest)(const float* x, int count);
    void (*attend)(const Attention&);
    void (*attend_rounded)(const Attention&);  // for models in eight bits: the same, or faster with rounding
    void (*sum_words)(const WordSum&);
    ScanKernels scan;
};

// The kernels of that name, or the best that this processor has where the name is null; throws where it has none such.
const Kernels& kernels_named(const char* name);
// The names of all kernels that this processor can run, best first, separated by spaces.
const char* kernels_here();

}  // namespace likewise
