#include "pre_tokenizer.h"

#include <algorithm>

#include "../failure.h"
#include "unicode.h"

namespace likewise::text {

using namespace unicode;

namespace {

using Text = std::u32string;

// Replaces each range by its parts: `split` receives a range and calls `put` for each part.
template <class Split>
void split_ranges(Words& words, Split split) {
    std::vector<std::pair<uint32_t, uint32_t>> parts;
    const auto put = [&](size_t start, size_t stop) {
        if (start < stop) parts.emplace_back(static_cast<uint32_t>(start), static_cast<uint32_t>(stop));
    };
    for (const auto& [start, stop] : words.ranges) split(start, stop, put);
    words.ranges = std::move(parts);
}

// Inserts a character before each range that `wants` it, with the span of the range's first character.
template <class Wants>
void prepend_to_ranges(Words& words, char32_t c, Wants wants) {
    Characters out;
    out.spanned = words.characters.spanned;
    out.text.reserve(words.characters.text.size() + words.ranges.size());
    for (auto& [start, stop] : words.ranges) {
        const auto begin = static_cast<uint32_t>(out.text.size());
        const bool put = start < stop && wants(start);
        if (put) out.text += c;
        out.text.append(words.characters.text, start, stop - start);
        if (out.spanned) {
            const Span* spans = words.characters.spans.data();
            if (put) out.spans.push_back(spans[start]);
            out.spans.insert(out.spans.end(), spans + start, spans + stop);
        }
        start = begin;
        stop = static_cast<uint32_t>(out.text.size());
    }
    words.characters = std::move(out);
}

// Splits at white space, which is dropped, and makes each punctuation mark a word.
class BertWords : public PreTokenizer {
public:
    BertWords(uint16_t separators, uint16_t alone) : separators_(separators), alone_(alone) {}
    void apply(Words& words) const override {
        const Text& text = words.characters.text;
        split_ranges(words, [&](size_t start, size_t stop, auto put) {
            size_t begin = start;
            for (size_t i = start; i < stop; i++) {
                const uint16_t flags = properties(text[i]).flags;
                if (!(flags & (separators_ | alone_))) continue;
                put(begin, i);
                if (!(flags & separators_)) put(i, i + 1);
                begin = i + 1;
            }
            put(begin, stop);
        });
    }

private:
    uint16_t separators_, alone_;
};

// Words of letters, digits and underscores, and runs of any other characters except white space.
class WhitespaceWords : public PreTokenizer {
public:
    void apply(Words& words) const override {
        const Text& text = words.characters.text;
        split_ranges(words, [&](size_t start, size_t stop, auto put) {
            for (size_t i = start; i < stop;) {
                const size_t begin = i;
                const bool word = has(text[i], WORD);
                if (has(text[i], SPACE)) {
                    i++;
                    continue;
                }
                while (i < stop && !has(text[i], SPACE) && has(text[i], WORD) == word) i++;
                put(begin, i);
            }
        });
    }
};

// As in SentencePiece: spaces become a marker, and each word starts with the marker.
class Metaspace : public PreTokenizer {
public:
    Metaspace(char32_t mark, bool prepend, bool only_first, bool split)
        : mark_(mark), prepend_(prepend), only_first_(only_first), split_(split) {}
    void apply(Words& words) const override {
        Text& text = words.characters.text;
        std::replace(text.begin(), text.end(), U' ', mark_);
        if (prepend_)
            prepend_to_ranges(words, mark_, [&](size_t start) {
                return text[start] != mark_ && (!only_first_ || words.characters.spans[start].start == 0);
            });
        if (!split_) return;
        split_ranges(words, [&](size_t start, size_t stop, auto put) {
            size_t begin = start;
            for (size_t i = start + 1; i < stop; i++)
                if (words.characters.text[i] == mark_) {
                    put(begin, i);
                    begin = i;
                }
            put(begin, stop);
        });
    }

private:
    char32_t mark_;
    bool prepend_, only_first_, split_;
};

class PrefixSpace : public PreTokenizer {
public:
    void apply(Words& words) const override {
        const Text& text = words.characters.text;
        prepend_to_ranges(words, U' ', [&](size_t start) { return text[start] != U' '; });
    }
};

size_t letters(const Text& text, size_t at, size_t stop) {
    while (at < stop && has(text[at], LETTER)) at++;
    return at;
}

size_t numbers(const Text& text, size_t at, size_t stop) {
    while (at < stop && has(text[at], NUMBER)) at++;
    return at;
}

size_t others(const Text& text, size_t at, size_t stop) {
    while (at < stop && !has(text[at], LETTER | NUMBER | SPACE)) at++;
    return at;
}

// The end of 's, 't, 're, 've, 'm, 'll or 'd, or `at` if none of them follows. ſ is an s in either case.
size_t contraction(const Text& text, size_t at, size_t stop, bool any_case) {
    if (text[at] != U'\'' || at + 1 == stop) return at;
    const auto letter = [&](size_t i) -> char32_t {
        if (i >= stop) return 0;
        if (any_case && text[i] == 0x17F) return U's';
        return any_case && text[i] >= U'A' && text[i] <= U'Z' ? text[i] + 32 : text[i];
    };
    const char32_t one = letter(at + 1), two = letter(at + 2);
    if (one == U's' || one == U't' || one == U'm' || one == U'd') return at + 2;
    return ((one == U'r' || one == U'v') && two == U'e') || (one == U'l' && two == U'l') ? at + 3 : at;
}

// A run of white space: all of it at the end of the text, otherwise without its last character, which may start a word.
size_t spaces(const Text& text, size_t at, size_t stop) {
    size_t end = at;
    while (end < stop && has(text[end], SPACE)) end++;
    return end == stop || end == at + 1 ? end : end - 1;
}

// '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
size_t gpt2_word(const Text& text, size_t at, size_t stop) {
    if (const size_t end = contraction(text, at, stop, false); end > at) return end;
    const size_t body = text[at] == U' ' && at + 1 < stop && !has(text[at + 1], SPACE) ? at + 1 : at;
    if (has(text[body], LETTER)) return letters(text, body, stop);
    if (has(text[body], NUMBER)) return numbers(text, body, stop);
    return has(text[body], SPACE) ? spaces(text, at, stop) : others(text, body, stop);
}

bool is_newline(char32_t c) { return c == U'\r' || c == U'\n'; }

// Splits like cl100k, with at most `digits` digits per word; the patterns are in PATTERNS below.
template <int digits>
size_t cl100k_word(const Text& text, size_t at, size_t stop) {
    if (const size_t end = contraction(text, at, stop, true); end > at) return end;
    if (has(text[at], LETTER)) return letters(text, at, stop);
    if (has(text[at], NUMBER)) return std::min(numbers(text, at, stop), at + digits);
    if (!is_newline(text[at]) && at + 1 < stop && has(text[at + 1], LETTER)) return letters(text, at + 1, stop);
    size_t end = others(text, text[at] == U' ' ? at + 1 : at, stop);
    if (end > at + (text[at] == U' ')) {
        while (end < stop && is_newline(text[end])) end++;
        return end;
    }
    size_t after_newline = at;
    for (end = at; end < stop && has(text[end], SPACE); end++)
        if (is_newline(text[end])) after_newline = end + 1;
    return after_newline > at ? after_newline : spaces(text, at, stop);
}

// A run of letters, marks and digits, or a single other character; white space is not a word.
size_t word_or_mark(const Text& text, size_t at, size_t stop) {
    if (has(text[at], SPACE)) return at;
    size_t end = at;
    while (end < stop && has(text[end], LETTER | NUMBER | MARK)) end++;
    return std::max(end, at + 1);
}

using Match = size_t (*)(const Text&, size_t at, size_t stop);

struct Pattern {
    std::string_view regex;
    Match match;
};

constexpr std::string_view GPT2 =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr Pattern PATTERNS[] = {
    {GPT2, gpt2_word},
    {R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", gpt2_word},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     cl100k_word<3>},
    {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
     cl100k_word<1>},
    {R"([\p{L}\p{M}\p{N}]+|[^\s\p{L}\p{M}\p{N}])", word_or_mark},
};

class Split : public PreTokenizer {
public:
    Split(Match match, bool keep_between) : match_(match), keep_between_(keep_between) {}
    void apply(Words& words) const override {
        const Text& text = words.characters.text;
        split_ranges(words, [&](size_t start, size_t stop, auto put) {
            size_t between = start;
            for (size_t i = start; i < stop;) {
                const size_t end = match_(text, i, stop);
                if (end == i) {
                    i++;
                    continue;
                }
                if (keep_between_) put(between, i);
                put(i, end);
                between = i = end;
            }
            if (keep_between_) put(between, stop);
        });
    }

private:
    Match match_;
    bool keep_between_;
};

std::unique_ptr<PreTokenizer> split(const json::Value& value) {
    const std::string_view regex = value.member("pattern").text_of("Regex"), behavior = value.text_of("behavior");
    const bool invert = value.flag("invert", false);
    const auto known = std::find_if(std::begin(PATTERNS), std::end(PATTERNS),
                                    [&](const Pattern& pattern) { return pattern.regex == regex; });
    if (known == std::end(PATTERNS)) refuse("the Split pattern '", regex.substr(0, 120), "' is not supported");
    if (behavior == "Isolated" && !invert) return std::make_unique<Split>(known->match, true);
    if (behavior == "Removed" && invert) return std::make_unique<Split>(known->match, false);
    refuse("a Split pre-tokenizer with the behavior " + std::string(behavior.substr(0, 40)), " is not supported");
}

std::unique_ptr<PreTokenizer> metaspace(const json::Value& value, PreTokenizerNeeds& needs) {
    const std::string_view mark = value.text_of("replacement");
    const Text wide = decoded(mark.data(), mark.size());
    if (wide.size() != 1) refuse("a Metaspace replacement of more than one character", " is not supported");
    const json::Value scheme = value.member("prepend_scheme");
    const std::string_view prepend = !scheme.is_null()                       ? scheme.text("prepend_scheme")
                                     : value.flag("add_prefix_space", true) ? "always"
                                                                             : "never";
    if (prepend != "always" && prepend != "first" && prepend != "never")
        refuse("the Metaspace prepend_scheme " + std::string(prepend.substr(0, 40)), " is not supported");
    needs.spans |= prepend == "first";
    return std::make_unique<Metaspace>(wide[0], prepend != "never", prepend == "first", value.flag("split", true));
}

std::unique_ptr<PreTokenizer> steps(std::vector<std::unique_ptr<PreTokenizer>> made) {
    return std::make_unique<Steps<PreTokenizer, Words>>(std::move(made));
}

}  // namespace

std::unique_ptr<PreTokenizer> read_pre_tokenizer(const json::Value& value, PreTokenizerNeeds& needs) {
    if (value.is_null()) return nullptr;
    const std::string_view type = value.text_of("type");
    std::vector<std::unique_ptr<PreTokenizer>> made;
    if (type == "Sequence") {
        for (const json::Value one : value.member("pretokenizers"))
            if (auto step = read_pre_tokenizer(one, needs)) made.push_back(std::move(step));
        return steps(std::move(made));
    }
    if (type == "BertPreTokenizer") return std::make_unique<BertWords>(SPACE, PUNCTUATION);
    if (type == "WhitespaceSplit") return std::make_unique<BertWords>(SPACE, 0);
    if (type == "Whitespace") return std::make_unique<WhitespaceWords>();
    if (type == "Metaspace") return metaspace(value, needs);
    if (type == "Split") return split(value);
    if (type != "ByteLevel") refuse("the pre-tokenizer " + std::string(type.substr(0, 80)), " is not supported");
    needs.byte_level = true;
    if (value.flag("add_prefix_space", true)) made.push_back(std::make_unique<PrefixSpace>());
    if (value.flag("use_regex", true)) made.push_back(std::make_unique<Split>(gpt2_word, true));
    return steps(std::move(made));
}

}  // namespace likewise::text
