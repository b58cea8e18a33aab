#include "precompiled.h"

#include <cstring>

#include "../failure.h"
#include "unicode.h"

namespace likewise::text {

using namespace unicode;

namespace {

// The file holds the size of a double-array trie (darts-clone layout), the trie, and null-terminated texts.
class Precompiled : public Normalizer {
public:
    explicit Precompiled(const std::string& bytes) {
        uint32_t size = 0;
        if (bytes.size() >= 4) std::memcpy(&size, bytes.data(), 4);
        if (bytes.size() < 8 || size % 4 || size == 0 || size > bytes.size() - 4)
            refuse("the precompiled normalizer is cut off");
        units_.resize(size / 4);
        std::memcpy(units_.data(), bytes.data() + 4, size);
        texts_ = bytes.substr(4 + size) + '\0';
    }

    // A grapheme of fewer than 6 bytes is looked up as a whole, and the shortest match replaces all of it. Longer
    // graphemes are processed character by character. The models were trained this way.
    void apply(Characters& characters) const override {
        std::vector<Change> changes;
        changes.reserve(characters.text.size());
        bool changed = false;
        const std::u32string& text = characters.text;
        for (size_t at = 0; at < text.size();) {
            const size_t end = grapheme_end(text, at);
            changed |= replace(text, at, end, changes);
            at = end;
        }
        if (changed) characters.apply(changes);
    }

private:
    std::vector<uint32_t> units_;
    std::string texts_;

    // Sufficient here, because all other graphemes of several characters have 6 bytes or more (UAX #29, GB3 to GB9b).
    static size_t grapheme_end(const std::u32string& text, size_t at) {
        size_t end = at + 1;
        if (text[at] == U'\r' && end < text.size() && text[end] == U'\n') return end + 1;
        while (end < text.size() && has(text[end - 1], PREPENDS) && !has(text[end], CONTROL)) end++;
        while (end < text.size() && !has(text[end - 1], CONTROL) && has(text[end], EXTENDS)) end++;
        return end;
    }

    bool replace(const std::u32string& text, size_t at, size_t end, std::vector<Change>& changes) const {
        char bytes[8];
        int size = 0;
        for (size_t i = at; i < end && size < 6; i++) {
            if (i > at && size + 4 > 8) size = 6;
            if (size < 6) size += encode(text[i], bytes + size);
        }
        if (size < 6) {
            if (const char* found = find(bytes, size)) {
                put(found, static_cast<int>(end - at), changes);
                return true;
            }
            if (end == at + 1) {
                changes.push_back({text[at], 0});
                return false;
            }
        }
        bool changed = false;
        for (size_t i = at; i < end; i++) {
            const char* found = find(bytes, encode(text[i], bytes));
            if (found)
                put(found, 1, changes);
            else
                changes.push_back({text[i], 0});
            changed |= found != nullptr;
        }
        return changed;
    }

    static void put(const char* found, int replaced, std::vector<Change>& changes) {
        const std::u32string letters = decoded(found, std::strlen(found));
        const int more = static_cast<int>(letters.size()) - replaced;
        for (size_t i = 0; i < letters.size(); i++)
            changes.push_back({letters[i], static_cast<int>(letters.size() - i) <= more ? 1 : 0});
        if (more < 0 && !changes.empty()) changes.back().change += more;
    }

    // The replacement for the shortest prefix in the trie; null if no prefix matches.
    const char* find(const char* bytes, int size) const {
        const auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & (1U << 9)) >> 6); };
        size_t place = offset(units_[0]);
        for (int i = 0; i < size && bytes[i]; i++) {
            const auto byte = static_cast<unsigned char>(bytes[i]);
            place ^= byte;
            if (place >= units_.size() || (units_[place] & (1U << 31 | 0xFF)) != byte) return nullptr;
            const uint32_t unit = units_[place];
            place ^= offset(unit);
            if ((unit >> 8 & 1) == 0) continue;
            const size_t value = place < units_.size() ? units_[place] & ~(1U << 31) : texts_.size();
            return value < texts_.size() ? texts_.data() + value : nullptr;
        }
        return nullptr;
    }
};

std::string from_base64(std::string_view text) {
    static constexpr std::string_view DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    while (!text.empty() && text.back() == '=') text.remove_suffix(1);
    std::string out;
    uint32_t bits = 0;
    int count = 0;
    for (const char c : text) {
        const size_t digit = DIGITS.find(c);
        if (digit == std::string_view::npos) refuse("the precompiled normalizer is no Base64");
        bits = bits << 6 | static_cast<uint32_t>(digit);
        count += 6;
        if (count < 8) continue;
        count -= 8;
        out += static_cast<char>(bits >> count);
    }
    return out;
}

}  // namespace

std::unique_ptr<Normalizer> read_precompiled(std::string_view base64) {
    return std::make_unique<Precompiled>(from_base64(base64));
}

}  // namespace likewise::text
