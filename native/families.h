// Encoders by model_type: how to read their sizes from config.json, and the names of their weights.
#pragma once

#include <string>
#include <vector>

#include "files.h"
#include "likewise_native.h"
#include "stored_weights.h"

namespace likewise {

// The input of lw_create, and the memory that it points to.
struct Encoder {
    lw_description description{};
    std::vector<lw_block> blocks;
    std::vector<int32_t> order;
};

// Reads the encoder in a folder (a path that ends with a slash, or is empty); throws LW_BAD_DESCRIPTION.
Encoder read_encoder(const json::Value& config, StoredWeights& weights, int32_t precision);

}  // namespace likewise
