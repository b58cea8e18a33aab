// A chunk: whole sentences that pass through the layers together, few enough for their data to stay in the cache.
#pragma once

#include "likewise_native.h"
#include "model.h"
#include "team.h"
#include "workspace.h"

namespace likewise {

// The sentences starting at `sentence`, whose tokens start at `token` in the request.
struct Span {
    int64_t sentence, sentences, token;
    int tokens;
};

// Whether only the mean of word embeddings is requested, which needs no memory for hidden states.
bool sums_words(const Model&, const lw_request&);
// The number of reductions selected by these bits.
int reduction_count(int32_t reductions);

class Chunk {
public:
    Chunk(const Model&, const lw_request&, const Heads*, const Span&, Workspace&, Stopwatch&, Team&);
    // Runs them through the layers and writes the requested results.
    void run();

private:
    // Rows as matmuls read them: the floats themselves, or memory for quantized rows, each with a scale.
    struct Rows {
        const float* floats;
        uint8_t* rounded;  // null if matmuls read floats
        float* scales;
        long stride;                     // elements
        const Weights* reader = nullptr;  // the weights of the matmul that reads them, if known
        Rows from(int row, int row_bytes) const;
        // The same rows, for a matmul with these weights.
        Rows before(const Weights& weights) const { return {floats, rounded, scales, stride, &weights}; }
    };

    void run_layers();
    bool mean_of_words();
    int skipped(int64_t sentence) const;
    void embed();
    void read_words(int token, float* row);
    void layer(const Block&, const Block* next);
    void attend(const Block&);
    Attention attention_of(const Block&, size_t token, int tokens);
    const float* biases_of(const Block&, const Attention&, int head);
    void rotate(const Block&);
    const float* angles(const Block&, int places);
    void finish(const Block&, const Block* next, int row, int count);
    void add(const Weights&, const Norm&, const Rows&, int count, float* x, const Weights* next);
    void norm_heads(const Block&);
    void norm(const Norm&, const float* from, float* to, int row, int count, const Rows&);
    float activate(float* row);
    Rows rows_of(const float* x, int stride, int inputs, int count, Buffer<uint8_t>&, Buffer<float>& scales);
    // `scaled`: memory for a row.
    void round(const Rows&, int row, const float* x, float largest, float* scaled);
    void round_all(const Rows&, const float* x, int stride);
    template <class RowWork>
    void each_row(int count, const RowWork&);
    int panels_of(const Packed&) const;
    int parts_of(const Packed&) const;
    int column_of(const Packed&, int part) const;
    void multiply(const Weights&, const Rows&, int count, const float* residual, float* out, long stride,
                  const Weights* next);
    void write_layer(int layer);
    void pool();

    const Model& model_;
    const lw_request& request_;
    const Heads* heads_;
    const Span span_;
    Workspace& work_;
    Stopwatch& watch_;
    Team& team_;
    float* pooled_ = nullptr;  // of the chunk's sentences
    float *x_, *joined_, *context_, *attended_;  // attended_ is context_ if the heads add up to the hidden size
    Rows rows_, context_rows_;  // inputs of queries, keys and values; the attention output
};

}  // namespace likewise
