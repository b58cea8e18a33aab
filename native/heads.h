// What follows the pooling: linear maps with activations, layer norms, truncation, the scaling to length 1.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"
#include "model.h"
#include "workspace.h"

namespace likewise {

class Heads {
public:
    // Builds the heads for vectors of this width; throws Failure.
    Heads(const lw_head* heads, int32_t count, int32_t width, const Kernels&);
    int width() const { return width_; }  // of the results
    int inputs() const { return inputs_; }
    // Maps rows of vectors to rows of results. A row's result depends on that row alone.
    void run(const float* rows, int64_t count, float* out, HeadRows& work) const;

private:
    struct Head {
        int32_t kind, activation;
        int inputs, outputs;
        Weights weights;
        Norm norm;
    };
    const Kernels kernels_;
    int inputs_, width_;
    Arena arena_;
    std::vector<Head> heads_;

    void add(const lw_head&);
    const float* padded_rows(const float* rows, int count, HeadRows&) const;
    void apply(const Head&, const float* rows, float* out, int count) const;
};

}  // namespace likewise
