// A model ready to run: packed weights, norms and tables. It never changes once built, so threads may share it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kernels.h"
#include "likewise_native.h"
#include "pack.h"
#include "pool.h"
#include "spares.h"

namespace likewise {

struct Workspace;
class Heads;

struct Norm {
    std::vector<float> weight, bias;  // padded with zeros; empty: the identity
    bool present() const { return !weight.empty(); }
};

// Angles are place * theta^(-2 i / width) / stretch.
struct Rotation {
    float theta, stretch;
    bool operator==(const Rotation& other) const { return theta == other.theta && stretch == other.stretch; }
};

struct Block {
    Weights qkv, out, up, down;
    Norm norm1, norm2, query_norm, key_norm, out_norm, down_norm;
    bool rotates;
    size_t rotation = 0;  // index in the model's list
    int reach;
    std::vector<Weights> distance_queries, distance_keys;  // per head: queries and keys of distances
};

class Model {
public:
    // Int8 matmuls are smoothed unless their weights are stored in int8.
    Model(const lw_description&, const Kernels&);
    static Model without_smoothing(const lw_description& d, const Kernels& kernels) { return {d, kernels, nullptr}; }
    ~Model();

    Kernels kernels;
    Scheme scheme;  // of matmuls, in the requested precision
    int vocabulary, width, word_width, depth, heads, inner, longest, first_position;
    int key_heads, head_width;
    int stride, word_stride, inner_stride, query_stride, key_stride;  // padded; the last two cover all heads
    Activation activation;
    bool pre_norm, gated, gates_first;
    bool rms, causal, one_more;
    float eps, divisor, word_scale;
    lw_tensor words;  // the caller's memory
    int segment_kinds;
    std::vector<float> positions, segments;  // [rows][word_stride]; empty if absent
    std::vector<float> relative;             // [head][2 * longest], scaled for powers of two; empty if absent
    std::vector<int> distance_rows;  // [2 * longest], by query - key; empty without distance embeddings
    int distance_stride = 0;         // their number, padded
    Norm norm, last_norm;
    Arena arena;  // owns the memory of what follows
    Weights widen;
    std::vector<Rotation> rotations;  // the distinct rotations of all blocks
    std::vector<Block> blocks;
    std::vector<int> order;  // of blocks

    size_t bytes() const;
    // Normalizes a row and returns its largest magnitude.
    float norm_row(const Norm& norm, const float* from, float* to, int width, int stride) const {
        return rms ? kernels.rms_norm(from, to, width, stride, norm.weight.data(), eps)
                   : kernels.layer_norm(from, to, width, stride, norm.weight.data(), norm.bias.data(), eps);
    }
    int joined_stride() const { return query_stride + 2 * key_stride; }
    // Memory for a chunk, reused by the next call, because mapping it again costs more than encoding a short sentence.
    std::unique_ptr<Workspace> borrow() const;
    void give_back(std::unique_ptr<Workspace>) const;
    Pool& pool() const;

private:
    Model(const lw_description&, const Kernels&, std::nullptr_t);
    void read_embeddings(const lw_description&);
    void read_relative(const lw_tensor&);
    void fill_alibi();
    template <class Bias>
    void fill_relative(Bias bias);
    void read_distances(const lw_description&);
    void project_distances(const lw_linear&, std::vector<Weights>& to);
    Block read_block(const lw_block&);
    Norm read_norm(const lw_linear&, int width, const char* what) const;
    std::vector<float> distances_;  // [rows][stride], normalized; only while the model is built
    size_t rotation_of(const Rotation&);

    mutable Spares<Workspace> spares_;
    mutable std::atomic<Pool*> pool_{nullptr};
};

// Validates the description; throws Failure if a number or a pointer in it is wrong.
const lw_description& checked(const lw_description&);
// How matmuls are computed in an lw_precision.
const Scheme& scheme_of(const Kernels&, int precision);
// Throws Failure if the request is wrong; the results are then undefined. `heads`: those of the request, or null.
void run(const Model&, const lw_request&, const Heads* heads);

}  // namespace likewise
