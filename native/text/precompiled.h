// SentencePiece's compiled normalizer: a trie that maps characters to replacements (such as the rule nmt_nfkc).
#pragma once

#include <memory>
#include <string_view>

#include "normalizer.h"

namespace likewise::text {

// The normalizer for a Base64 charsmap, as stored in tokenizer.json.
std::unique_ptr<Normalizer> read_precompiled(std::string_view base64);

}  // namespace likewise::text
