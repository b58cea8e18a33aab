// Small models of seven kinds with weights from a generator, and the hash of what they compute through the C
// interface: the same on every processor, in every precision, for as long as LW_ARITHMETIC is.
#pragma once

#include <cmath>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <string>
#include <vector>

#include "../likewise_native.h"

namespace synthetic {

// Numbers between -1 and 1 (Knuth's linear congruential generator); every step is exact.
class Numbers {
public:
    uint32_t next() {
        state_ = state_ * 6364136223846793005U + 1442695040888963407U;
        return static_cast<uint32_t>(state_ >> 32U);
    }
    float number() { return static_cast<float>(static_cast<int32_t>(next()) >> 8) / 8388608.0F; }

private:
    uint64_t state_ = 1;
};

constexpr int VOCABULARY = 100, LONGEST = 320, DEPTH = 2, HEADS = 2, INNER = 100;
constexpr int LENGTHS[] = {1, 2, 5, 16, 17, 33, 64, 300};
enum Family { BERT, MODERN, RELATIVE, ROTARY, SLOPES, DISTANCES, T5, FAMILIES };

class Model {
public:
    Model(Family family, int precision) {
        const bool modern = family == MODERN, relative = family == RELATIVE, apart = family == DISTANCES;
        const int width = modern ? 96 : relative ? 40 : 64, word_width = relative ? 24 : width;
        d_.version = LW_VERSION;
        d_.precision = precision;
        d_.vocabulary = VOCABULARY;
        d_.width = width;
        d_.word_width = word_width;
        d_.depth = d_.block_count = DEPTH;
        d_.heads = HEADS;
        d_.inner = INNER;
        d_.longest = LONGEST;
        d_.activation = relative ? LW_GELU_TANH : family == ROTARY ? LW_SILU : family == T5 ? LW_RELU : LW_GELU;
        d_.pre_norm = modern || family == T5;
        d_.gated = family == ROTARY ? 2 : modern || family == SLOPES;
        d_.alibi = family == SLOPES;
        d_.rms = family == T5;
        d_.divisor = family == T5 ? 1.0F : apart ? std::sqrt(96.0F) : 0.0F;
        d_.farthest = apart ? LONGEST / 2 : 0;
        d_.eps = 1e-5F;
        d_.words = tensor(VOCABULARY, word_width, 1.0F);
        if (family == BERT || relative) d_.positions = tensor(LONGEST, word_width, 0.3F);
        if (relative || family == T5) d_.relative = tensor(32, HEADS, 1.0F);
        if (apart) d_.distances = tensor(40, width, 0.5F);
        if (apart) d_.distance_norm = norm(width);
        if (relative) d_.widen = linear(width, word_width);
        d_.norm = norm(word_width);
        if (modern || family == T5) d_.last_norm = norm(width);
        for (lw_block& block : blocks_) {
            block.query = linear(apart ? width : 3 * width, width);
            if (apart) block.key = linear(width, width);
            if (apart) block.value = linear(width, width);
            block.out = linear(width, width);
            block.up = linear(modern || family == ROTARY ? 2 * INNER : INNER, width);
            if (family == SLOPES) block.gate = linear(INNER, width);
            block.down = linear(width, INNER);
            block.norm1 = norm(width);
            block.norm2 = norm(width);
            block.reach = -1;
            if (family == ROTARY) block.theta = 1000.0F;
            if (family == ROTARY) block.stretch = 1.3F;
        }
        if (modern) {
            blocks_[0].theta = 10000.0F;
            blocks_[0].reach = 12;
            blocks_[1].theta = 160000.0F;
        }
        d_.blocks = blocks_;
    }

    // All layers and reductions of sentences of these lengths, one layer and one sentence after the other.
    // With several threads, these compute all sentences together.
    std::vector<float> run(const char* instructions, int threads) {
        char message[200];
        lw_model* model = lw_create(&d_, instructions, nullptr, message, sizeof message);
        if (model == nullptr) throw std::runtime_error(message);
        const int sentences = static_cast<int>(sizeof LENGTHS / sizeof *LENGTHS);
        std::vector<int32_t> ids;
        for (const int length : LENGTHS) {
            for (int i = 0; i < length; i++) ids.push_back(static_cast<int32_t>(numbers_.next() % VOCABULARY));
        }
        const size_t layers = (DEPTH + 1) * ids.size() * d_.width, pooled = sentences * 6U * d_.width;
        std::vector<float> out(layers + pooled);
        lw_request r{};
        r.ids = ids.data();
        r.lengths = LENGTHS;
        r.tokens = static_cast<int64_t>(ids.size());
        r.sentences = sentences;
        r.threads = threads;
        r.chunk_tokens = threads > 1 ? static_cast<int32_t>(r.tokens) : 0;
        r.last_layer = DEPTH;
        r.reductions = LW_CLS | LW_MAX | LW_MEAN | LW_MEAN_SQRT_LEN | LW_WEIGHTED_MEAN | LW_LAST;
        r.layers = out.data();
        r.pooled = out.data() + layers;
        const int32_t code = lw_run(model, &r, message, sizeof message);
        lw_free(model);
        if (code != LW_OK) throw std::runtime_error(message);
        return out;
    }

private:
    lw_tensor tensor(int rows, int columns, float scale, float middle = 0.0F) {
        std::vector<float>& values = values_.emplace_back(static_cast<size_t>(rows) * columns);
        for (float& value : values) value = middle + scale * numbers_.number();
        return {values.data(), nullptr, rows, columns, LW_FP32};
    }
    lw_linear linear(int outputs, int inputs) {
        const float scale = 2.0F / std::sqrt(static_cast<float>(inputs));
        return {tensor(outputs, inputs, scale), tensor(1, outputs, 0.2F), nullptr};
    }
    lw_linear norm(int width) { return {tensor(1, width, 0.3F, 1.0F), tensor(1, width, 0.2F), nullptr}; }

    Numbers numbers_;
    std::deque<std::vector<float>> values_;
    lw_block blocks_[DEPTH]{};
    lw_description d_{};
};

// FNV-1a of the bytes of all families' results, in an lw_precision.
inline uint64_t hash(const char* instructions, int precision, int threads = 1) {
    uint64_t found = 14695981039346656037U;
    for (int family = 0; family < FAMILIES; family++) {
        for (const float number : Model(static_cast<Family>(family), precision).run(instructions, threads)) {
            uint32_t bits;
            std::memcpy(&bits, &number, 4);
            for (unsigned shift = 0; shift < 32; shift += 8) found = (found ^ (bits >> shift & 255U)) * 1099511628211U;
        }
    }
    return found;
}

// Of LW_ARITHMETIC 2, by lw_precision.
constexpr uint64_t HASHES[] = {0x41eef632f9923e6e, 0xbc4af8fbf29cd794, 0x83304e4214949fc7};

}  // namespace synthetic
