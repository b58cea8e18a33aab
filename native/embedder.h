// A complete model loaded from a folder: it maps texts to vectors.
#pragma once

#include <memory>
#include <string>

#include "files.h"
#include "folder.h"
#include "heads.h"
#include "model.h"
#include "stored_weights.h"
#include "text/tokenizer.h"

namespace likewise {

class Embedder {
public:
    Embedder(std::unique_ptr<Files> files, const lw_options& options, const Kernels& kernels);
    ~Embedder();
    int dimension() const { return heads_->width(); }
    // Throws Failure; the contents of `vectors` and `losses` are then undefined.
    void encode(const lw_texts& texts, float* vectors, lw_losses* losses) const;

private:
    class Block;
    std::unique_ptr<Files> files_;  // the word embedding table is read in place
    std::unique_ptr<StoredWeights> weights_;
    Folder folder_;
    Frame frame_;
    std::unique_ptr<Model> model_;
    std::unique_ptr<Heads> heads_;
    std::unique_ptr<text::Tokenizer> tokenizer_;
    int64_t limit_ = 0;  // maximum tokens of a text, not counting special tokens

    void read_model(const lw_options& options, const Kernels& kernels);
    void read_tokenizer(int32_t asked);
    void read_heads(int32_t truncate_dim, const Kernels& kernels);
    std::string prompt_of(const lw_texts& texts) const;
    int32_t hidden_tokens(const std::string& prompt) const;
    int32_t tokens_of(const std::string& prompt) const;
    void check_room_after(const std::string& prompt) const;
};

}  // namespace likewise
