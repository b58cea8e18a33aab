#include "normalizer.h"

#include <algorithm>
#include <array>

#include "../failure.h"
#include "precompiled.h"
#include "unicode.h"

namespace likewise::text {

using namespace unicode;

void Characters::apply(const std::vector<Change>& changes, size_t removed_first) {
    if (spanned) {
        std::vector<Span> moved;
        moved.reserve(changes.size());
        size_t at = removed_first;
        for (const auto& [character, change] : changes) {
            const size_t from = change > 0 ? at - 1 : at;
            moved.push_back(change > 0 && at == 0 ? Span{0, 0} : spans.at(from));
            if (change <= 0) at += 1 + static_cast<size_t>(-change);
        }
        spans = std::move(moved);
    }
    text.clear();
    for (const Change& one : changes) text += one.character;
}

void Characters::prepend(char32_t c) {
    if (text.empty()) return;
    text.insert(text.begin(), c);
    if (spanned) spans.insert(spans.begin(), spans.front());
}

namespace {

template <class Keep>
void filter(Characters& characters, Keep keep) {
    size_t kept = 0;
    for (size_t i = 0; i < characters.text.size(); i++) {
        if (!keep(characters.text[i])) continue;
        characters.text[kept] = characters.text[i];
        if (characters.spanned) characters.spans[kept] = characters.spans[i];
        kept++;
    }
    characters.text.resize(kept);
    if (characters.spanned) characters.spans.resize(kept);
}

void lowercase(Characters& characters) {
    if (characters.text.find(DOTTED_I) == std::u32string::npos) {
        for (char32_t& c : characters.text) c = lower(c);
        return;
    }
    std::vector<Change> changes;
    for (const char32_t c : characters.text) {
        changes.push_back({c == DOTTED_I ? U'i' : lower(c), 0});
        if (c == DOTTED_I) changes.push_back({DOT_ABOVE, 1});
    }
    characters.apply(changes);
}

// Sorts the marks after a starter by class; marks of the same class keep their order (UAX #15, D109).
void reorder(std::vector<Change>& changes) {
    const auto mark = [](const Change& one) { return properties(one.character).combining; };
    for (auto at = changes.begin(); at != changes.end();) {
        if (!mark(*at)) {
            ++at;
            continue;
        }
        auto end = at;
        while (end != changes.end() && mark(*end)) ++end;
        std::stable_sort(at, end, [&](const Change& a, const Change& b) { return mark(a) < mark(b); });
        at = end;
    }
}

std::vector<Change> decomposed(const std::u32string& text, bool compatible) {
    std::vector<Change> changes;
    changes.reserve(text.size());
    for (const char32_t c : text) {
        char32_t letters[3];
        const int count = hangul_letters(c, letters);
        for (int i = 0; i < count; i++) changes.push_back({letters[i], i > 0});
        if (count) continue;
        const Parts parts = decomposition(c, compatible);
        for (int i = 0; i < parts.count; i++) changes.push_back({parts.first[i], i > 0});
        if (!parts.count) changes.push_back({c, 0});
    }
    reorder(changes);
    return changes;
}

// Canonical composition (UAX #15, D117): a starter absorbs each mark not blocked by one of the same or a higher class.
std::vector<Change> recomposed(const std::vector<Change>& parts) {
    std::vector<Change> out;
    size_t starter = SIZE_MAX;
    int last_class = -1;  // of the marks kept after the starter
    for (const Change& part : parts) {
        const int order = properties(part.character).combining;
        const bool blocked = last_class >= order && last_class != -1;
        const char32_t joined =
            starter == SIZE_MAX || blocked ? 0 : composed(out[starter].character, part.character);
        if (joined) {
            out[starter] = {joined, out[starter].change + part.change - 1};
            continue;
        }
        if (order == 0) starter = out.size();
        last_class = order == 0 ? -1 : order;
        out.push_back(part);
    }
    return out;
}

class Form : public Normalizer {
public:
    Form(bool compatible, bool compose) : compatible_(compatible), compose_(compose) {}
    void apply(Characters& characters) const override {
        const auto plain = [](char32_t c) { return c < 0x80; };
        if (std::all_of(characters.text.begin(), characters.text.end(), plain)) return;
        const std::vector<Change> parts = decomposed(characters.text, compatible_);
        characters.apply(compose_ ? recomposed(parts) : parts);
    }

private:
    bool compatible_, compose_;
};

class Bert : public Normalizer {
public:
    explicit Bert(BertOptions options) : options_(options) {}
    void apply(Characters& characters) const override {
        if (options_.clean) {
            filter(characters, [](char32_t c) { return !has(c, REMOVED); });
            for (char32_t& c : characters.text)
                if (has(c, SPACE)) c = U' ';
        }
        if (options_.chinese) pad_chinese(characters);
        if (options_.strip_accents) {
            Form(false, false).apply(characters);
            filter(characters, [](char32_t c) { return !has(c, NONSPACING); });
        }
        if (options_.lowercase) lowercase(characters);
    }

private:
    BertOptions options_;

    static void pad_chinese(Characters& characters) {
        std::vector<Change> changes;
        for (const char32_t c : characters.text) {
            if (has(c, CHINESE)) {
                changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
            } else {
                changes.push_back({c, 0});
            }
        }
        if (changes.size() > characters.text.size()) characters.apply(changes);
    }
};

class Lowercase : public Normalizer {
public:
    void apply(Characters& characters) const override { lowercase(characters); }
};

class StripAccents : public Normalizer {
public:
    void apply(Characters& characters) const override {
        filter(characters, [](char32_t c) { return !has(c, MARK); });
    }
};

class Nmt : public Normalizer {
public:
    void apply(Characters& characters) const override {
        filter(characters, [](char32_t c) { return !has(c, NMT_REMOVED); });
        for (char32_t& c : characters.text)
            if (has(c, NMT_SPACE)) c = U' ';
    }
};

class Strip : public Normalizer {
public:
    Strip(bool left, bool right) : left_(left), right_(right) {}
    void apply(Characters& characters) const override {
        std::u32string& text = characters.text;
        size_t start = 0, stop = text.size();
        while (left_ && start < stop && has(text[start], SPACE)) start++;
        while (right_ && stop > start && has(text[stop - 1], SPACE)) stop--;
        text = text.substr(start, stop - start);
        if (!characters.spanned) return;
        characters.spans.resize(stop);
        characters.spans.erase(characters.spans.begin(), characters.spans.begin() + static_cast<ptrdiff_t>(start));
    }

private:
    bool left_, right_;
};

class Prepend : public Normalizer {
public:
    explicit Prepend(std::u32string text) : text_(std::move(text)) {}
    void apply(Characters& characters) const override {
        for (auto c = text_.rbegin(); c != text_.rend(); ++c) characters.prepend(*c);
    }

private:
    std::u32string text_;
};

// Replaces every occurrence of a text, or of two or more spaces, with another text.
class Replace : public Normalizer {
public:
    Replace(std::u32string searched, bool repeated, std::u32string content)
        : searched_(std::move(searched)), repeated_(repeated), content_(std::move(content)) {}
    void apply(Characters& characters) const override {
        const std::u32string text = std::move(characters.text);
        const std::vector<Span> spans = std::move(characters.spans);
        characters.text.clear();
        characters.spans.clear();
        for (size_t at = 0; at < text.size();) {
            size_t length = text.compare(at, searched_.size(), searched_) ? 0 : searched_.size();
            while (repeated_ && length && at + length < text.size() && text[at + length] == searched_.back()) length++;
            characters.text.append(length ? content_ : text.substr(at, 1));
            if (characters.spanned)
                characters.spans.insert(characters.spans.end(), length ? content_.size() : 1,
                                        spans[at + std::max<size_t>(length, 1) - 1]);
            at += std::max<size_t>(length, 1);
        }
    }

private:
    std::u32string searched_;
    bool repeated_;
    std::u32string content_;
};

std::u32string wide(std::string_view text) { return decoded(text.data(), text.size()); }

std::unique_ptr<Normalizer> replacement(const json::Value& value) {
    const json::Value pattern = value.member("pattern");
    const std::u32string content = wide(value.text_of("content"));
    if (!pattern.member("String").is_null()) {
        const std::u32string searched = wide(pattern.text_of("String"));
        if (searched.empty()) refuse("a Replace normalizer searches for an empty text");
        return std::make_unique<Replace>(searched, false, content);
    }
    const std::string_view regex = pattern.text_of("Regex");
    if (regex == " {2,}") return std::make_unique<Replace>(U"  ", true, content);
    refuse("the Replace pattern '" + std::string(regex.substr(0, 80)) + "' is not supported");
}

std::unique_ptr<Normalizer> steps(const json::Value& list) {
    std::vector<std::unique_ptr<Normalizer>> made;
    for (const json::Value one : list)
        if (auto step = read_normalizer(one)) made.push_back(std::move(step));
    return std::make_unique<Steps<Normalizer, Characters>>(std::move(made));
}

}  // namespace

BertOptions bert_options(const json::Value& value) {
    const bool lower = value.flag("lowercase", true);
    return {value.flag("clean_text", true), value.flag("handle_chinese_chars", true),
            value.flag("strip_accents", lower), lower};
}

std::unique_ptr<Normalizer> read_normalizer(const json::Value& value) {
    if (value.is_null()) return nullptr;
    const std::string_view type = value.text_of("type");
    if (type == "Sequence") return steps(value.member("normalizers"));
    if (type == "BertNormalizer") return std::make_unique<Bert>(bert_options(value));
    if (type == "NFD") return std::make_unique<Form>(false, false);
    if (type == "NFC") return std::make_unique<Form>(false, true);
    if (type == "NFKD") return std::make_unique<Form>(true, false);
    if (type == "NFKC") return std::make_unique<Form>(true, true);
    if (type == "Lowercase") return std::make_unique<Lowercase>();
    if (type == "StripAccents") return std::make_unique<StripAccents>();
    if (type == "Nmt") return std::make_unique<Nmt>();
    if (type == "Strip")
        return std::make_unique<Strip>(value.flag("strip_left", true), value.flag("strip_right", true));
    if (type == "Prepend") return std::make_unique<Prepend>(wide(value.text_of("prepend")));
    if (type == "Replace") return replacement(value);
    if (type == "Precompiled") return read_precompiled(value.text_of("precompiled_charsmap"));
    refuse("the normalizer " + std::string(type.substr(0, 80)) + " is not supported");
}

}  // namespace likewise::text
