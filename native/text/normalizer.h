// Normalizers: the steps that change a text's characters before it is split, and where in the text each came from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "json.h"

namespace likewise::text {

struct Span {
    uint32_t start, stop;  // in characters of the text
};

// A character and how it came about: 1 where it was added behind the one before, 0 where it stands for one character,
// -n where it stands for one and the n that follow were removed.
struct Change {
    char32_t character;
    int change;
};

// A part of a text while it is being normalized. Spans are kept only if requested.
struct Characters {
    std::u32string text;
    std::vector<Span> spans;
    bool spanned = false;

    void apply(const std::vector<Change>& changes, size_t removed_first = 0);
    void prepend(char32_t c);  // with the span of the first character
};

class Normalizer {
public:
    virtual ~Normalizer() = default;
    virtual void apply(Characters&) const = 0;
};

// Several steps in sequence.
template <class Step, class Subject>
class Steps : public Step {
public:
    explicit Steps(std::vector<std::unique_ptr<Step>> steps) : steps_(std::move(steps)) {}
    void apply(Subject& subject) const override {
        for (const auto& step : steps_) step->apply(subject);
    }

private:
    std::vector<std::unique_ptr<Step>> steps_;
};

struct BertOptions {
    bool clean, chinese, strip_accents, lowercase;
};

// The normalizer of tokenizer.json; null if there is none. Throws LW_BAD_DESCRIPTION for a kind that is not supported.
std::unique_ptr<Normalizer> read_normalizer(const json::Value&);

BertOptions bert_options(const json::Value&);

}  // namespace likewise::text
