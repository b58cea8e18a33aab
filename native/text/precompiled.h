// SentencePiece's compiled normalizer: a trie of characters and what replaces them (the rule nmt_nfkc, say).
#pragma once

#include <memory>
#include <string_view>

#include "normalizer.h"

namespace likewise::text {

// The normalizer of a charsmap in Base64, as tokenizer.json has it.
std::unique_ptr<Normalizer> read_precompiled(std::string_view base64);

}  // namespace likewise::text
