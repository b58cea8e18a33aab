// Word models, which map a word to the ids of its pieces: WordPiece, byte-level BPE, Unigram, or one id per word.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace likewise::text {

struct Piece {
    int32_t id;
    uint32_t start, stop;  // in bytes of the word
};

class WordModel {
public:
    virtual ~WordModel() = default;
    // Writes the pieces of a non-empty word to `out`, which must be empty.
    virtual void encode(std::string_view word, std::vector<Piece>& out) const = 0;
    // Whether a word of this many characters is too long, so that it becomes a single unknown token.
    virtual bool overlong(size_t) const { return false; }
    int32_t unknown() const { return unknown_; }  // -1: no unknown token

protected:
    int32_t unknown_ = -1;
};

// Throws LW_BAD_DESCRIPTION if it is not supported. `byte_level`: a ByteLevel pre-tokenizer splits the words.
std::unique_ptr<WordModel> read_word_model(const json::Value&, bool byte_level);

}  // namespace likewise::text
