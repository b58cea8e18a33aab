#include "smoothing.h"

#include <algorithm>
#include <cmath>

#include "chunk.h"
#include "model.h"
#include "pack.h"

namespace likewise {
namespace {

constexpr int WORDS = 16;         // evenly spaced in the vocabulary; more words, or real sentences, are no better
constexpr float LEAST = 0.01F;    // relative to the largest channel: the minimum, to avoid extreme scales

bool takes_scales(const lw_linear& layer) { return layer.weight.type != LW_INT8 && layer.input_scales == nullptr; }

bool any_takes_scales(const lw_description& d) {
    const auto takes = [](const lw_block& b) { return takes_scales(b.query) || takes_scales(b.up); };
    return d.precision == LW_AS_INT8 && std::any_of(d.blocks, d.blocks + d.block_count, takes);
}

// The largest magnitude in each input channel of each matmul while a few words are encoded.
Largest largest_inputs(const Model& model) {
    const int count = std::min(WORDS, model.longest);
    std::vector<int32_t> ids;
    for (int64_t i = 0; i < count; i++)
        ids.push_back(static_cast<int32_t>(i * (model.vocabulary - 1) / std::max(1, count - 1)));
    lw_request request{};
    request.ids = ids.data();
    request.lengths = &count;
    request.tokens = count;
    request.sentences = 1;
    request.last_layer = model.depth;
    Largest found;
    Workspace work;
    work.largest = &found;
    Stopwatch watch(false);
    Team alone(1);
    Chunk(model, request, nullptr, {0, 1, 0, count}, work, watch, alone).run();
    return found;
}

// Returns false if all values are 0 or any value is not finite.
bool raise_small(std::vector<float>& sizes) {
    const float most = *std::max_element(sizes.begin(), sizes.end());
    if (!(most > 0.0F) || !all_finite(sizes.data(), static_cast<int>(sizes.size()))) return false;
    for (float& size : sizes) size = std::max(size, most * LEAST);
    return true;
}

}  // namespace

Smoothed::Smoothed(const lw_description& d, const Kernels& kernels) : description_(checked(d)) {
    if (!any_takes_scales(d)) return;
    const Model plain = Model::without_smoothing(d, kernels);
    Largest found = largest_inputs(plain);
    blocks_.assign(d.blocks, d.blocks + d.block_count);
    for (size_t i = 0; i < blocks_.size(); i++) {
        lw_block& block = blocks_[i];
        add({&block.query, &block.key, &block.value}, found[&plain.blocks[i].qkv]);
        add({&block.up, &block.gate}, found[&plain.blocks[i].up]);
    }
    description_.blocks = blocks_.data();
}

// The scales √(weights / inputs) for layers that read the same inputs.
void Smoothed::add(std::vector<lw_linear*> layers, std::vector<float> inputs) {
    const auto absent = [](const lw_linear* layer) { return layer->weight.data == nullptr; };
    layers.erase(std::remove_if(layers.begin(), layers.end(), absent), layers.end());
    if (inputs.empty() || !std::all_of(layers.begin(), layers.end(), [](auto layer) { return takes_scales(*layer); })) return;
    const int64_t columns = layers.front()->weight.columns;
    inputs.resize(columns);  // without padding
    std::vector<float> weights(columns, 0.0F), row(columns);
    for (const lw_linear* layer : layers) {
        for (int64_t i = 0; i < layer->weight.rows; i++) {
            read_row(layer->weight, i, row.data());
            for (int64_t j = 0; j < columns; j++) weights[j] = std::max(weights[j], std::fabs(row[j]));
        }
    }
    if (!raise_small(inputs) || !raise_small(weights)) return;
    for (int64_t j = 0; j < columns; j++) weights[j] = std::sqrt(weights[j] / inputs[j]);
    scales_.push_back(std::move(weights));
    for (lw_linear* layer : layers) layer->input_scales = scales_.back().data();
}

}  // namespace likewise
