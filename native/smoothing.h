// Smoothing (Xiao et al. 2023): factors that make the inputs of an int8 matmul similar in size before quantization.
#pragma once

#include <deque>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

// A description with input scales for the int8 matmuls of queries, keys and values, and of feed-forward inputs.
// A few words of the vocabulary are encoded; input channels that become large in one of these matmuls are scaled down
// there, and their weights scaled up. Weights that are stored in int8 are not changed.
class Smoothed {
public:
    Smoothed(const lw_description&, const Kernels&);
    const lw_description& description() const { return description_; }

private:
    void add(std::vector<lw_linear*> layers, std::vector<float> inputs);

    lw_description description_;
    std::vector<lw_block> blocks_;
    std::deque<std::vector<float>> scales_;
};

}  // namespace likewise
