// Rows of a sentence to one vector.
#include <algorithm>
#include <cmath>

#include "chunk.h"

namespace likewise {
namespace {

void largest_rows(const float* rows, long stride, int tokens, int width, float* out) {
    std::copy_n(rows, width, out);
    for (int token = 1; token < tokens; token++) {
        const float* row = rows + token * stride;
        for (int i = 0; i < width; i++) out[i] = std::max(out[i], row[i]);
    }
}

// Each row `first + slope * its number` times, divided by `total`.
void weighted_rows(const float* rows, long stride, int tokens, int width, float first, float slope, float total,
                   float* out) {
    std::fill_n(out, width, 0.0F);
    for (int token = 0; token < tokens; token++) {
        const float* row = rows + token * stride;
        const float weight = first + slope * static_cast<float>(token);
        for (int i = 0; i < width; i++) out[i] += weight * row[i];
    }
    for (int i = 0; i < width; i++) out[i] /= total;
}

float sum_of_places(int first, int count) { return static_cast<float>((2.0 * first + count - 1.0) * count / 2.0); }

}  // namespace

void reduce(const float* rows, long stride, int tokens, int skip, int width, int reductions, float* out) {
    rows += skip * stride;
    const int kept = tokens - skip;
    const float count = static_cast<float>(kept);
    for (int bit = LW_CLS; bit <= LW_LAST; bit *= 2) {
        if ((reductions & bit) == 0) continue;
        switch (bit) {
            case LW_CLS: std::copy_n(rows, width, out); break;
            case LW_MAX: largest_rows(rows, stride, kept, width, out); break;
            case LW_MEAN: weighted_rows(rows, stride, kept, width, 1.0F, 0.0F, count, out); break;
            case LW_MEAN_SQRT_LEN: weighted_rows(rows, stride, kept, width, 1.0F, 0.0F, std::sqrt(count), out); break;
            case LW_WEIGHTED_MEAN:  // a token keeps the place that it has in the whole sentence
                weighted_rows(rows, stride, kept, width, static_cast<float>(skip + 1), 1.0F,
                              sum_of_places(skip + 1, kept), out);
                break;
            case LW_LAST: std::copy_n(rows + (kept - 1) * stride, width, out); break;
            default: break;
        }
        out += width;
    }
}

}  // namespace likewise
