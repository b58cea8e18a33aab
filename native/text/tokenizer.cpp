#include "tokenizer.h"

#include <algorithm>
#include <cstring>

#include "../failure.h"
#include "unicode.h"

namespace likewise::text {

using namespace unicode;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first byte of eight must be the lowest");

// A word of at most 22 bytes: the bytes, padded with zeros, and their number.
struct ShortWord {
    uint64_t first, second, third;

    static constexpr size_t LONGEST = 22, PADDING = 16;  // readable bytes after a word

    ShortWord(uint64_t eight, size_t bytes) : first(eight), second(0), third(uint64_t{bytes} << 48) {}
    ShortWord(const char* word, size_t bytes)
        : first(load(word, bytes)),
          second(bytes > 8 ? load(word + 8, bytes - 8) : 0),
          third((bytes > 16 ? load(word + 16, bytes - 16) : 0) | uint64_t{bytes} << 48) {}

    size_t hash() const {
        uint64_t mixed = first * 0x9E3779B97F4A7C15U ^ second * 0xBF58476D1CE4E5B9U ^ third * 0x94D049BB133111EBU;
        mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15U;
        return static_cast<size_t>(mixed >> 40);
    }

private:
    static uint64_t load(const char* at, size_t bytes) {
        uint64_t word;
        std::memcpy(&word, at, 8);
        return bytes >= 8 ? word : word & ((uint64_t{1} << 8 * bytes) - 1);
    }
};

// A cache of the ids of recent words: a hash selects two slots, of which the first holds the more recent word.
class WordCache {
public:
    static constexpr size_t MOST_IDS = 10;
    struct alignas(64) Slot {
        ShortWord word{uint64_t{0}, 0};  // with the number of ids in its last byte
        int32_t ids[MOST_IDS];
        size_t count() const { return static_cast<size_t>(word.third >> 56); }
    };

    // The slot that holds the word, or null.
    const Slot* find(const ShortWord& word) const {
        const Slot* slot = &slots_[word.hash() % SLOTS];
        if (holds(*slot, word)) return slot;
        slot = &slots_[word.hash() % SLOTS ^ 1];
        return holds(*slot, word) ? slot : nullptr;
    }

    void add(const ShortWord& word, const std::vector<Piece>& pieces) {
        if (pieces.size() > MOST_IDS) return;
        Slot& slot = slots_[word.hash() % SLOTS];
        slots_[word.hash() % SLOTS ^ 1] = slot;
        slot.word = word;
        slot.word.third |= uint64_t{pieces.size()} << 56;
        for (size_t i = 0; i < pieces.size(); i++) slot.ids[i] = pieces[i].id;
    }

private:
    static constexpr size_t SLOTS = 1 << 14;
    std::vector<Slot> slots_ = std::vector<Slot>(SLOTS);

    static bool holds(const Slot& slot, const ShortWord& word) {
        return slot.word.first == word.first && slot.word.second == word.second && (slot.word.third ^ word.third) << 8 == 0;
    }
};

// Eight bytes of a text: the number of leading ASCII letters and digits, and the bytes in lower case.
struct EightBytes {
    uint64_t lowered;
    size_t letters;

    EightBytes(const unsigned char* at, bool lowercase) {
        uint64_t bytes;
        std::memcpy(&bytes, at, 8);
        const uint64_t low = bytes & ~HIGH, alphabetic = between(low | EACH * 0x20, 'a', 'z');
        const uint64_t others = ((alphabetic | between(low, '0', '9')) & ~bytes & HIGH) ^ HIGH;
        lowered = lowercase ? bytes | (alphabetic & HIGH) >> 2 : bytes;
        letters = others ? static_cast<size_t>(__builtin_ctzll(others)) / 8 : 8;
    }

    // For fewer than eight remaining bytes: only the first.
    static EightBytes one(unsigned char byte, bool lowercase) {
        const unsigned char bytes[8] = {byte};
        return EightBytes(bytes, lowercase);
    }

private:
    static constexpr uint64_t EACH = 0x0101010101010101U, HIGH = EACH * 0x80;
    // Sets the highest bit of each byte in the range; no input byte may have its highest bit set.
    static uint64_t between(uint64_t bytes, unsigned char least, unsigned char most) {
        return (bytes + EACH * (0x80U - least)) & ~(bytes + EACH * (0x7FU - most));
    }
};

constexpr size_t KEPT_BYTES = 1 << 16;  // of a workspace's buffers for words and ids, kept between calls

struct Workspace {
    WordCache cache;
    std::vector<char> word = std::vector<char>(1024);
    std::vector<Piece> pieces;
    std::vector<int32_t> ids = std::vector<int32_t>(1024);  // ids of a text
};

namespace {

constexpr char32_t SPACE_LETTER = 0x120;  // represents a space in byte-level vocabularies

bool is_space(char32_t c) { return has(c, SPACE); }

enum Class : uint8_t { LETTERS, BLANK, ALONE, GONE, WIDE };

// How BERT's normalizer and pre-tokenizer handle each ASCII byte; WIDE starts a non-ASCII character.
std::array<uint8_t, 256> byte_classes(bool clean) {
    std::array<uint8_t, 256> classes;
    classes.fill(WIDE);
    for (char32_t c = 0; c < 0x80; c++) {
        const uint16_t flags = properties(c).flags;
        classes[c] = clean && (flags & REMOVED) ? GONE
                     : flags & SPACE              ? BLANK
                     : flags & PUNCTUATION        ? ALONE
                                                  : LETTERS;
    }
    return classes;
}

}  // namespace

void AddedTokens::sort() {
    std::stable_sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) {
        return a.content[0] != b.content[0] ? a.content[0] < b.content[0] : a.content.size() > b.content.size();
    });
    for (size_t i = MOST_ALIKE; i < tokens_.size(); i++)
        if (tokens_[i].content[0] == tokens_[i - MOST_ALIKE].content[0])
            refuse("more than ", MOST_ALIKE, " added tokens with the same first character are not supported");
    for (const AddedToken& token : tokens_) {
        char bytes[4];
        unicode::encode(token.content[0], bytes);
        first_bytes_[static_cast<unsigned char>(bytes[0])] = true;
    }
}

const AddedToken* AddedTokens::at(const std::u32string& characters, size_t place) const {
    auto token = std::lower_bound(tokens_.begin(), tokens_.end(), characters[place],
                                  [](const AddedToken& one, char32_t c) { return one.content[0] < c; });
    for (; token != tokens_.end() && token->content[0] == characters[place]; ++token)
        if (characters.compare(place, token->content.size(), token->content) == 0) return &*token;
    return nullptr;
}

template <class Text, class Token>
void AddedTokens::split(const std::u32string& characters, Text text, Token found) const {
    size_t done = 0, at = 0;
    while (!tokens_.empty() && at < characters.size()) {
        const AddedToken* token = this->at(characters, at);
        if (!token) {
            at++;
            continue;
        }
        size_t start = at, stop = at + token->content.size();
        at = stop;
        const bool inside = (start > 0 && has(characters[start - 1], WORD)) ||
                            (stop < characters.size() && has(characters[stop], WORD));
        if (token->single_word && inside) continue;
        while (token->left_strip && start > done && is_space(characters[start - 1])) start--;
        while (token->right_strip && stop < characters.size() && is_space(characters[stop])) stop++;
        start = std::max(start, done);
        if (done < start) text(done, start);
        found(token->id, start, stop);
        done = std::max(done, stop);
    }
    if (done < characters.size()) text(done, characters.size());
}

// One call of encode: its workspace, and the current text.
class Tokenizer::Call {
public:
    Call(const Tokenizer& tokenizer, Tokens& out, bool spans)
        : tokenizer_(tokenizer),
          out_(out),
          spanned_(spans),
          tracks_(spans || tokenizer.needs_.spans),
          workspace_(tokenizer.spares_.borrow()) {}

    ~Call() {
        if (workspace_->word.size() + workspace_->ids.size() <= KEPT_BYTES)
            tokenizer_.spares_.give_back(std::move(workspace_));
    }

    void text(const unsigned char* at, const unsigned char* end) {
        word_number_ = 0;
        count_ = 0;
        const bool one_pass = tokenizer_.is_bert_ && !spanned_ && tokenizer_.normalized_.empty();
        if (!one_pass || may_hold_added(at, end) || !bert(at, end)) general(at, end);
        out_.ids.insert(out_.ids.end(), workspace_->ids.begin(), workspace_->ids.begin() + static_cast<long>(count_));
        out_.ends.push_back(static_cast<int64_t>(out_.ids.size()));
    }

private:
    const Tokenizer& tokenizer_;
    Tokens& out_;
    const bool spanned_, tracks_;  // whether spans are requested; whether they are tracked
    std::unique_ptr<Workspace> workspace_;
    int32_t word_number_ = 0;
    size_t count_ = 0;                   // ids of the text
    size_t bytes_ = 0, characters_ = 0;  // in the current word

    bool may_hold_added(const unsigned char* at, const unsigned char* end) const {
        if (tokenizer_.raw_.empty()) return false;
        return std::any_of(at, end, [&](unsigned char byte) { return tokenizer_.raw_.may_begin_with(byte); });
    }

    // The fast path for BERT's pipeline: characters go straight into the current word. Does nothing and returns
    // false if combining marks that are kept would have to be reordered.
    bool bert(const unsigned char* at, const unsigned char* end) {
        const size_t long_words = out_.long_words.size();
        bytes_ = characters_ = 0;
        while (at < end) {
            const unsigned char byte = *at;
            const uint8_t kind = tokenizer_.byte_classes_[byte];
            if (kind == LETTERS) {
                at = letters(at, end);
            } else if (kind == WIDE) {
                if (!wide(decode(at, end))) {
                    count_ = 0;
                    out_.long_words.resize(long_words);
                    return false;
                }
            } else {
                at++;
                if (kind == GONE) continue;
                finish();
                if (kind == ALONE) alone(byte);
            }
        }
        finish();
        return true;
    }

    // Reads some bytes of a word, eight at once if that many are left; returns the next position to read.
    const unsigned char* letters(const unsigned char* at, const unsigned char* end) {
        const bool lowercase = tokenizer_.bert_.lowercase;
        const EightBytes eight = end - at < 8 ? EightBytes::one(*at, lowercase) : EightBytes(at, lowercase);
        const size_t count = std::max<size_t>(eight.letters, 1);  // a control character may be a letter
        if (bytes_ == 0 && count < 8 && tokenizer_.reads_short_words_ && ends_word(at + count, end)) {
            short_word(eight.lowered & ((uint64_t{1} << 8 * count) - 1), count);
            return at + count;
        }
        std::memcpy(&workspace_->word[bytes_], &eight.lowered, 8);
        bytes_ += count;
        characters_ += count;
        if (bytes_ + ROOM > workspace_->word.size()) grow();
        return at + count;
    }

    bool ends_word(const unsigned char* at, const unsigned char* end) const {
        const uint8_t kind = at < end ? tokenizer_.byte_classes_[*at] : uint8_t{BLANK};
        return kind == BLANK || kind == ALONE;
    }

    bool wide(char32_t c) {
        const BertOptions& options = tokenizer_.bert_;
        const uint16_t flags = properties(c).flags;
        if (options.clean && (flags & REMOVED)) return true;
        if (options.clean && (flags & SPACE)) return finish(), true;
        const bool apart = options.chinese && (flags & CHINESE);
        if (apart) finish();
        const bool kept = options.strip_accents ? without_accents(c) : lowered(c);
        if (apart) finish();
        return kept;
    }

    bool without_accents(char32_t c) {
        char32_t letters[3];
        const int count = hangul_letters(c, letters);
        for (int i = 0; i < count; i++) put(letters[i]);
        if (count) return true;
        const Parts parts = decomposition(c, false);
        if (!parts.count) return bare(c);
        for (int i = 0; i < parts.count; i++)
            if (!bare(parts.first[i])) return false;
        return true;
    }

    bool bare(char32_t c) {
        const CodePoint& known = properties(c);
        if (known.flags & NONSPACING) return true;
        return !known.combining && lowered(c);
    }

    bool lowered(char32_t c) {
        const bool dotted = tokenizer_.bert_.lowercase && c == DOTTED_I;
        put(dotted ? U'i' : tokenizer_.bert_.lowercase ? lower(c) : c);
        if (dotted) put(DOT_ABOVE);
        return true;
    }

    void put(char32_t c) {
        const uint16_t flags = properties(c).flags;
        if (flags & SPACE) return finish();
        if (flags & PUNCTUATION) {
            finish();
            return alone(c);
        }
        bytes_ += static_cast<size_t>(unicode::encode(c, &workspace_->word[bytes_]));
        characters_++;
        if (bytes_ + ROOM > workspace_->word.size()) grow();
    }

    static constexpr size_t ROOM = ShortWord::PADDING + 8;  // after a word that is being read

    void grow() { workspace_->word.resize(workspace_->word.size() * 2); }

    void alone(char32_t c) {
        bytes_ = static_cast<size_t>(unicode::encode(c, workspace_->word.data()));
        characters_ = 1;
        finish();
    }

    // Appends the ids of the current word, if it is not empty.
    void finish() {
        if (bytes_ == 0) return;
        if (tokenizer_.model_->overlong(characters_))
            out_.long_words.push_back({static_cast<int64_t>(out_.ends.size()), position(),
                                       static_cast<int64_t>(characters_)});
        word(workspace_->word.data(), bytes_);
        bytes_ = characters_ = 0;
    }

    int64_t position() const { return static_cast<int64_t>(count_); }

    // Appends the ids of a word, which must be followed by PADDING readable bytes.
    void word(const char* word, size_t bytes) {
        if (bytes > ShortWord::LONGEST) return split(word, bytes);
        const ShortWord key(word, bytes);
        if (known(key)) return;
        split(word, bytes);
        workspace_->cache.add(key, workspace_->pieces);
    }

    void short_word(uint64_t eight, size_t bytes) {
        const ShortWord key(eight, bytes);
        if (known(key)) return;
        char* word = workspace_->word.data();
        std::memcpy(word, &eight, 8);
        split(word, bytes);
        workspace_->cache.add(key, workspace_->pieces);
    }

    // Appends a word's ids if the cache holds them.
    bool known(const ShortWord& word) {
        const WordCache::Slot* slot = workspace_->cache.find(word);
        if (!slot) return false;
        int32_t* to = room();
        std::memcpy(to, slot->ids, 4 * sizeof(int32_t));  // most words have fewer; copying a constant size is faster
        if (slot->count() > 4) std::memcpy(to, slot->ids, sizeof slot->ids);
        count_ += slot->count();
        return true;
    }

    void split(const char* word, size_t bytes) {
        std::vector<Piece>& pieces = workspace_->pieces;
        pieces.clear();
        tokenizer_.model_->encode({word, bytes}, pieces);
        for (const Piece& piece : pieces) push(piece.id);
    }

    void push(int32_t id) {
        *room() = id;
        count_++;
    }

    // Room for the next ids, as many as a slot holds.
    int32_t* room() {
        std::vector<int32_t>& ids = workspace_->ids;
        if (count_ + WordCache::MOST_IDS > ids.size()) ids.resize(2 * ids.size());
        return ids.data() + count_;
    }

    // The general path: applies the steps to characters, and tracks their spans if requested.
    void general(const unsigned char* at, const unsigned char* end) {
        const std::u32string text = decoded(reinterpret_cast<const char*>(at), static_cast<size_t>(end - at));
        tokenizer_.raw_.split(
            text,
            [&](size_t start, size_t stop) {
                Characters part{text.substr(start, stop - start), {}, tracks_};
                for (size_t i = start; tracks_ && i < stop; i++)
                    part.spans.push_back({static_cast<uint32_t>(i), static_cast<uint32_t>(i + 1)});
                if (tokenizer_.normalizer_) tokenizer_.normalizer_->apply(part);
                normalized(std::move(part));
            },
            [&](int32_t id, size_t start, size_t stop) {
                added(id, text, start, stop, {static_cast<uint32_t>(start), static_cast<uint32_t>(stop)});
            });
    }

    // Appends an added token, which covers text[start:stop].
    void added(int32_t id, const std::u32string& text, size_t start, size_t stop, Span span) {
        if (spanned_) {
            const auto blank = [&](size_t i) { return is_space(text[i]) || text[i] == SPACE_LETTER; };
            if (tokenizer_.trims_) trim(start, stop, blank, span);
            out_.spans.push_back(span);
            out_.words.push_back(word_number_);
        }
        push(id);
        word_number_++;
    }

    void normalized(Characters part) {
        if (tokenizer_.normalized_.empty()) return words(std::move(part));
        tokenizer_.normalized_.split(
            part.text,
            [&](size_t start, size_t stop) {
                Characters piece{part.text.substr(start, stop - start), {}, tracks_};
                if (tracks_) piece.spans.assign(part.spans.begin() + start, part.spans.begin() + stop);
                words(std::move(piece));
            },
            [&](int32_t id, size_t start, size_t stop) {
                const Span span = spanned_ ? Span{part.spans[start].start, part.spans[stop - 1].stop} : Span{};
                added(id, part.text, start, stop, span);
            });
    }

    void words(Characters part) {
        const auto size = static_cast<uint32_t>(part.text.size());
        Words words{std::move(part), {{0, size}}};
        if (tokenizer_.pre_tokenizer_) tokenizer_.pre_tokenizer_->apply(words);
        for (const auto& [start, stop] : words.ranges)
            if (start < stop) one_word(words.characters, start, stop);
    }

    void one_word(const Characters& characters, uint32_t start, uint32_t stop) {
        std::vector<char>& buffer = workspace_->word;
        if (buffer.size() < 4 * size_t{stop - start} + ShortWord::PADDING)
            buffer.resize(4 * size_t{stop - start} + ShortWord::PADDING);
        size_t bytes = 0;
        for (uint32_t i = start; i < stop; i++)
            bytes += static_cast<size_t>(unicode::encode(characters.text[i], &buffer[bytes]));
        if (tokenizer_.model_->overlong(stop - start))
            out_.long_words.push_back(
                {static_cast<int64_t>(out_.ends.size()), position(), static_cast<int64_t>(stop - start)});
        if (spanned_)
            spanned_word(characters, start, bytes);
        else
            word(buffer.data(), bytes);
        word_number_++;
    }

    void spanned_word(const Characters& characters, uint32_t start, size_t bytes) {
        std::vector<Piece>& pieces = workspace_->pieces;
        const char* word = workspace_->word.data();
        pieces.clear();
        tokenizer_.model_->encode({word, bytes}, pieces);
        uint32_t place = start, at = 0;  // the character that contains the byte `at`
        const auto character = [&](uint32_t byte) {
            for (; at < byte; at++) place += (word[at + 1] & 0xC0) != 0x80 || at + 1 == bytes;
            return place;
        };
        for (const Piece& piece : pieces) {
            const uint32_t first = character(piece.start), last = character(piece.stop - 1);
            Span span{characters.spans[first].start, characters.spans[last].stop};
            const auto blank = [&](size_t i) { return word[i] == ' '; };
            if (tokenizer_.trims_) trim(piece.start, piece.stop, blank, span);
            push(piece.id);
            out_.spans.push_back(span);
            out_.words.push_back(word_number_);
        }
    }

    // Excludes leading and trailing spaces from a token's span.
    template <class Blank>
    void trim(size_t start, size_t stop, Blank blank, Span& span) const {
        size_t first = start, last = stop;
        while (first < stop && blank(first)) first++;
        while (last > start && blank(last - 1)) last--;
        auto leading = static_cast<uint32_t>(first - start), trailing = static_cast<uint32_t>(stop - last);
        const bool put_there = leading == 1 && tokenizer_.prefix_space_ && (span.start == 0 || position() == 0);
        if (put_there) leading = 0;
        span.start = std::min(span.start + leading, span.stop);
        if (trailing && span.stop >= trailing) span.stop = std::max(span.stop - trailing, span.start);
    }
};

Tokenizer::Tokenizer(std::string_view source) {
    const json::Document document(source);
    const json::Value root = document.root();
    if (root.kind() != json::Kind::OBJECT) refuse("tokenizer.json is no JSON object");
    const json::Value normalizer = root.member("normalizer"), pre_tokenizer = root.member("pre_tokenizer");
    normalizer_ = read_normalizer(normalizer);
    pre_tokenizer_ = read_pre_tokenizer(pre_tokenizer, needs_);
    model_ = read_word_model(root.member("model"), needs_.byte_level);
    is_bert_ = !normalizer.is_null() && normalizer.text_of("type") == "BertNormalizer" && !pre_tokenizer.is_null() &&
               pre_tokenizer.text_of("type") == "BertPreTokenizer";
    if (is_bert_) bert_ = bert_options(normalizer);
    byte_classes_ = byte_classes(bert_.clean);
    reads_short_words_ = !model_->overlong(8);
    read_trimming(root.member("post_processor"));
    for (const json::Value one : root.member("added_tokens")) {
        const std::string_view content = one.text_of("content");
        AddedToken token{decoded(content.data(), content.size()), one.member("id").integer("id"),
                         one.flag("single_word", false), one.flag("lstrip", false), one.flag("rstrip", false)};
        if (token.content.empty()) continue;
        const bool normalized = one.flag("normalized", !one.flag("special", false));
        if (normalized && normalizer_) {
            Characters characters{token.content, {}, false};
            normalizer_->apply(characters);
            token.content = characters.text;
            if (token.content.empty()) continue;
        }
        (normalized ? normalized_ : raw_).add(std::move(token));
    }
    raw_.sort();
    normalized_.sort();
}

void Tokenizer::read_trimming(const json::Value& processor) {
    if (processor.is_null() || trims_) return;
    const std::string_view kind = processor.text_of("type");
    if (kind == "Sequence")
        for (const json::Value one : processor.member("processors")) read_trimming(one);
    if (kind != "ByteLevel" && kind != "RobertaProcessing") return;
    trims_ = processor.flag("trim_offsets", true);
    prefix_space_ = trims_ && processor.flag("add_prefix_space", true);
}

Tokenizer::~Tokenizer() = default;

namespace {

bool continues(unsigned char byte) { return (byte & 0xC0) == 0x80; }  // whether a byte continues a character

// The position after this many characters: skips as many bytes, then one more for each that continued a character.
const unsigned char* behind(const unsigned char* at, const unsigned char* end, int64_t characters) {
    while (characters > 0 && at < end) {
        const unsigned char* const stop = at + std::min<int64_t>(characters, end - at);
        characters = std::count_if(at, stop, continues);
        at = stop;
    }
    while (at < end && continues(*at)) at++;
    return at;
}

}  // namespace

void Tokenizer::encode(const char* bytes, size_t size, const int64_t* lengths, int64_t count, bool spans,
                       Tokens& out) const {
    Call call(*this, out, spans);
    const auto* at = reinterpret_cast<const unsigned char*>(bytes);
    const unsigned char* const end = at + size;
    for (int64_t i = 0; i < count; i++) {
        const unsigned char* const start = at;
        at = behind(at, end, lengths[i]);
        call.text(start, at);
    }
    if (at != end) fail(LW_BAD_INPUT, "the lengths of texts do not add up to the text");
}

}  // namespace likewise::text
