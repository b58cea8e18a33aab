// A tokenizer that maps texts to ids as described in tokenizer.json, with the same results as the tokenizers library.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../spares.h"
#include "normalizer.h"
#include "pre_tokenizer.h"
#include "word_models.h"

namespace likewise::text {

struct LongWord {
    int64_t text;      // the index of the text
    int64_t position;  // of the word's token in the text
    int64_t length;    // in characters
};

// The tokens of several texts, concatenated. Spans and words are filled only if requested.
struct Tokens {
    std::vector<int32_t> ids;
    std::vector<int64_t> ends;  // per text, in ids
    std::vector<LongWord> long_words;
    std::vector<Span> spans;
    std::vector<int32_t> words;  // the index, within its text, of the word that contains the token
};

struct AddedToken {
    std::u32string content;
    int32_t id;
    bool single_word, left_strip, right_strip;
};

// Added tokens by their first character, longest first.
class AddedTokens {
public:
    void add(AddedToken token) { tokens_.push_back(std::move(token)); }
    void sort();
    bool empty() const { return tokens_.empty(); }
    static constexpr size_t MOST_ALIKE = 256;  // added tokens with the same first character; each is compared
    bool may_begin_with(unsigned char byte) const { return first_bytes_[byte]; }  // the first byte in UTF-8

    // In order, calls `text(start, stop)` for each text between tokens and `token(id, start, stop)` for each token.
    template <class Text, class Token>
    void split(const std::u32string& characters, Text text, Token token) const;

private:
    std::vector<AddedToken> tokens_;
    std::array<bool, 256> first_bytes_{};
    const AddedToken* at(const std::u32string& characters, size_t place) const;
};

struct Workspace;

class Tokenizer {
public:
    explicit Tokenizer(std::string_view json);  // throws LW_BAD_DESCRIPTION
    ~Tokenizer();

    // The ids of texts, without the special tokens that a post-processor adds. `lengths` are in characters.
    void encode(const char* bytes, size_t size, const int64_t* lengths, int64_t count, bool spans, Tokens& out) const;

private:
    std::unique_ptr<Normalizer> normalizer_;
    std::unique_ptr<PreTokenizer> pre_tokenizer_;
    std::unique_ptr<WordModel> model_;
    AddedTokens raw_, normalized_;  // found before and after normalization
    BertOptions bert_{};
    bool is_bert_ = false;        // BERT's normalizer and pre-tokenizer, which run in one pass over the bytes
    std::array<uint8_t, 256> byte_classes_;  // how BERT's pipeline handles each byte
    bool reads_short_words_ = false;  // words of up to eight characters are never too long
    PreTokenizerNeeds needs_;
    bool prefix_space_ = false, trims_ = false;
    mutable Spares<Workspace> spares_;  // each with a cache of words

    class Call;
    void read_trimming(const json::Value& processor);
};

}  // namespace likewise::text
