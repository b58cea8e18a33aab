// Pre-tokenizers: split normalized text into the words that a word model reads one by one.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "normalizer.h"

namespace likewise::text {

// Part of a text: its characters, and the ranges that are words, in order.
struct Words {
    Characters characters;
    std::vector<std::pair<uint32_t, uint32_t>> ranges;
};

class PreTokenizer {
public:
    virtual ~PreTokenizer() = default;
    virtual void apply(Words&) const = 0;
};

struct PreTokenizerNeeds {
    bool byte_level = false;  // whether the word model must work on bytes
    bool spans = false;       // whether the characters must have spans
};

// The pre-tokenizer in tokenizer.json, or null. Throws LW_BAD_DESCRIPTION if it is not supported.
std::unique_ptr<PreTokenizer> read_pre_tokenizer(const json::Value&, PreTokenizerNeeds&);

}  // namespace likewise::text
