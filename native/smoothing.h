// Smoothing (Xiao et al. 2023): factors that make the inputs of an int8 product alike in size before they are rounded.
#pragma once

#include <deque>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

// A description whose int8 products of queries, keys and values, and of the network's first layer, have input scales:
// a few words of the vocabulary pass through the model, and a channel that becomes large in one of these products is
// made smaller there, and its weights larger. Weights that are stored in int8 stay as they are.
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
