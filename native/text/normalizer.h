// Normalizers: steps that change a text's characters before it is split, and track where each character came from.
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

// A character and its origin: 1 if it was inserted after the previous one, 0 if it replaces one character, -n if it
// replaces one character and the n characters after that were removed.
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
    void prepend(char32_t c);  // gets the span of the first character
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

// The normalizer in tokenizer.json, or null if it defines none. Throws LW_BAD_DESCRIPTION for unsupported kinds.
std::unique_ptr<Normalizer> read_normalizer(const json::Value&);

BertOptions bert_options(const json::Value&);

}  // namespace likewise::text
