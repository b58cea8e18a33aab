#include "word_models.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <queue>
#include <unordered_map>

#include "../failure.h"
#include "trie.h"
#include "unicode.h"

namespace likewise::text {

namespace {

using Pieces = std::vector<std::pair<std::string_view, int32_t>>;

Pieces read_vocabulary(const json::Value& value) {
    if (value.kind() != json::Kind::OBJECT) refuse("the tokenizer's vocabulary is no object of tokens and ids");
    Pieces pieces;
    for (auto at = value.begin(); at != value.end(); ++at) {
        const std::string_view piece = (*at).text("a token");
        ++at;
        pieces.emplace_back(piece, (*at).integer("a token's id"));
    }
    return pieces;
}

int character_bytes(char first) {
    const auto byte = static_cast<unsigned char>(first);
    return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

size_t characters(std::string_view text) {
    return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

// WordPiece: repeatedly takes the longest matching piece; all pieces but a word's first have a prefix (Wu et al. 2016).
class WordPiece : public WordModel {
public:
    explicit WordPiece(const json::Value& value) : trie_(read_vocabulary(value.member("vocab"))) {
        following_ = trie_.walk(value.text_of("continuing_subword_prefix"));
        longest_ = static_cast<size_t>(value.member("max_input_chars_per_word").integer("max_input_chars_per_word"));
        unknown_ = trie_.find(value.text_of("unk_token"));
        if (unknown_ < 0) refuse("the unknown token of the tokenizer's WordPiece model is not in its vocabulary");
    }

    bool overlong(size_t length) const override { return length > longest_; }

    void encode(std::string_view word, std::vector<Piece>& out) const override {
        if (word.size() > longest_ && characters(word) > longest_) return unknown(word, out);
        for (uint32_t at = 0; at < word.size();) {
            uint32_t node = at ? following_ : Trie::ROOT, stop = 0;
            int32_t id = -1;
            for (uint32_t i = at; i < word.size() && node != Trie::NONE;) {
                node = trie_.child(node, static_cast<unsigned char>(word[i++]));
                if (node == Trie::NONE || trie_.id(node) < 0) continue;
                id = trie_.id(node);
                stop = i;
            }
            if (id < 0) return unknown(word, out);
            out.push_back({id, at, stop});
            at = stop;
        }
    }

private:
    Trie trie_;
    uint32_t following_;
    size_t longest_;

    void unknown(std::string_view word, std::vector<Piece>& out) const {
        out.assign(1, {unknown_, 0, static_cast<uint32_t>(word.size())});
    }
};

class WordLevel : public WordModel {
public:
    explicit WordLevel(const json::Value& value) : trie_(read_vocabulary(value.member("vocab"))) {
        unknown_ = trie_.find(value.text_of("unk_token"));
        if (unknown_ < 0) refuse("the unknown token of the tokenizer's WordLevel model is not in its vocabulary");
    }

    void encode(std::string_view word, std::vector<Piece>& out) const override {
        const int32_t id = trie_.find(word);
        out.push_back({id < 0 ? unknown_ : id, 0, static_cast<uint32_t>(word.size())});
    }

private:
    Trie trie_;
};

// The characters that represent bytes in a byte-level vocabulary, mostly the bytes themselves (Radford et al. 2019).
class ByteLetters {
public:
    ByteLetters() {
        bytes_.fill(-1);
        char32_t next = 256;
        for (int byte = 0; byte < 256; byte++) {
            const bool shown = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
            bytes_[shown ? static_cast<char32_t>(byte) : next++] = static_cast<int16_t>(byte);
        }
    }

    // The bytes of a piece; returns false if a character represents no byte.
    bool decode(std::string_view piece, std::string& out) const {
        out.clear();
        for (const char32_t c : unicode::decoded(piece.data(), piece.size())) {
            if (c >= bytes_.size() || bytes_[c] < 0) return false;
            out += static_cast<char>(bytes_[c]);
        }
        return true;
    }

private:
    std::array<int16_t, 512> bytes_;
};

// Byte-level BPE: adjacent pairs are merged in the order in which they were learned (Sennrich et al. 2016).
class BytePairs : public WordModel {
public:
    explicit BytePairs(const json::Value& value) {
        for (const char* option : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (const json::Value set = value.member(option); !set.is_null() && !set.text(option).empty())
                refuse(std::string("BPE with ") + option + " is not supported");
        if (value.flag("byte_fallback", false)) refuse("BPE with byte_fallback is not supported");
        if (const json::Value dropout = value.member("dropout"); !dropout.is_null() && dropout.number("dropout") != 0)
            refuse("the tokenizer drops merges at random (dropout), so no text has one vector");
        whole_ = value.flag("ignore_merges", false);
        const ByteLetters letters;
        std::unordered_map<std::string_view, int32_t> ids;
        const json::Value vocabulary = value.member("vocab");
        std::string bytes;
        first_.fill(-1);
        for (const auto& [piece, id] : read_vocabulary(vocabulary)) {
            ids[piece] = id;
            if (letters.decode(piece, bytes) && bytes.size() == 1) first_[static_cast<unsigned char>(bytes[0])] = id;
            if (whole_ && letters.decode(piece, bytes)) words_[bytes] = id;
        }
        read_merges(value.member("merges"), ids);
    }

    void encode(std::string_view word, std::vector<Piece>& out) const override {
        if (const auto known = whole_ ? words_.find(std::string(word)) : words_.end(); known != words_.end()) {
            out.push_back({known->second, 0, static_cast<uint32_t>(word.size())});
            return;
        }
        for (uint32_t i = 0; i < word.size(); i++)
            if (const int32_t id = first_[static_cast<unsigned char>(word[i])]; id >= 0) out.push_back({id, i, i + 1});
        if (out.size() <= FEW)
            merge_few(out);
        else
            merge_many(out);
    }

private:
    static constexpr size_t FEW = 40;  // up to this many pieces, each round examines every pair
    struct Merge {
        uint32_t rank = UINT32_MAX;
        int32_t id = 0;
    };
    struct PairHash {
        size_t operator()(uint64_t pair) const { return (pair * 0x9E3779B97F4A7C15U) >> 20; }
    };
    std::array<int32_t, 256> first_;
    std::unordered_map<uint64_t, Merge, PairHash> merges_;
    std::unordered_map<std::string, int32_t> words_;
    bool whole_;

    void read_merges(const json::Value& merges, const std::unordered_map<std::string_view, int32_t>& ids) {
        uint32_t rank = 0;
        std::string joined;
        for (const json::Value merge : merges) {
            std::string_view first, second;
            if (merge.kind() == json::Kind::ARRAY) {
                auto at = merge.begin();
                if (!(at != merge.end())) refuse("a merge of the tokenizer is empty");
                first = (*at).text("a merge");
                if (!(++at != merge.end())) refuse("a merge of the tokenizer has one part");
                second = (*at).text("a merge");
            } else {
                const std::string_view both = merge.text("a merge");
                const size_t space = both.find(' ');
                if (space == std::string_view::npos) refuse("a merge of the tokenizer has one part");
                first = both.substr(0, space);
                second = both.substr(space + 1);
            }
            joined.assign(first).append(second);
            const auto a = ids.find(first), b = ids.find(second), c = ids.find(joined);
            if (a == ids.end() || b == ids.end() || c == ids.end())
                refuse("the merge " + joined.substr(0, 80) + " of the tokenizer is not in its vocabulary");
            merges_.emplace(key(a->second, b->second), Merge{rank++, c->second});
        }
    }

    static uint64_t key(int32_t a, int32_t b) { return static_cast<uint64_t>(a) << 32 | static_cast<uint32_t>(b); }

    Merge merge_of(int32_t a, int32_t b) const {
        const auto found = merges_.find(key(a, b));
        return found == merges_.end() ? Merge{} : found->second;
    }

    void merge_few(std::vector<Piece>& out) const {
        if (out.size() < 2) return;
        std::array<Merge, FEW> ahead;  // the merge of each piece with the next one
        Piece* pieces = out.data();
        size_t left = out.size();
        for (size_t i = 0; i + 1 < left; i++) ahead[i] = merge_of(pieces[i].id, pieces[i + 1].id);
        while (left > 1) {
            size_t best = 0;
            for (size_t i = 1; i + 1 < left; i++)
                if (ahead[i].rank < ahead[best].rank) best = i;
            if (ahead[best].rank == UINT32_MAX) break;
            pieces[best] = {ahead[best].id, pieces[best].start, pieces[best + 1].stop};
            std::copy(pieces + best + 2, pieces + left, pieces + best + 1);
            std::copy(ahead.begin() + best + 1, ahead.begin() + left - 1, ahead.begin() + best);
            left--;
            if (best + 1 < left) ahead[best] = merge_of(pieces[best].id, pieces[best + 1].id);
            if (best > 0) ahead[best - 1] = merge_of(pieces[best - 1].id, pieces[best].id);
        }
        out.resize(left);
    }

    // The same with a heap: O(n log n) for a word of n bytes.
    void merge_many(std::vector<Piece>& out) const {
        const size_t count = out.size();
        Piece* pieces = out.data();
        std::vector<uint32_t> next(count), previous(count);
        using Candidate = std::pair<std::pair<uint32_t, uint32_t>, int32_t>;  // rank, place; id
        std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap;
        const auto consider = [&](uint32_t at) {
            if (next[at] >= count) return;
            const Merge merge = merge_of(pieces[at].id, pieces[next[at]].id);
            if (merge.rank != UINT32_MAX) heap.push({{merge.rank, at}, merge.id});
        };
        for (uint32_t i = 0; i < count; i++) {
            next[i] = i + 1;
            previous[i] = i - 1;  // for the first: the largest number
        }
        for (uint32_t i = 0; i < count; i++) consider(i);
        while (!heap.empty()) {
            const auto [place, id] = heap.top();
            heap.pop();
            const auto [rank, at] = place;
            if (pieces[at].id < 0 || next[at] >= count) continue;
            const Merge now = merge_of(pieces[at].id, pieces[next[at]].id);
            if (now.rank != rank || now.id != id) continue;  // one of the two has been merged in the meantime
            const uint32_t gone = next[at];
            pieces[at] = {id, pieces[at].start, pieces[gone].stop};
            pieces[gone].id = -1;
            next[at] = next[gone];
            if (next[at] < count) previous[next[at]] = at;
            consider(at);
            if (previous[at] < count) consider(previous[at]);
        }
        const auto end = std::remove_if(out.begin(), out.end(), [](const Piece& piece) { return piece.id < 0; });
        out.erase(end, out.end());
    }
};

// The most probable segmentation into pieces (Kudo 2018), by Viterbi's algorithm.
class Unigram : public WordModel {
public:
    explicit Unigram(const json::Value& value) : trie_(read(value.member("vocab"))) {
        if (value.flag("byte_fallback", false)) refuse("Unigram with byte_fallback is not supported");
        const json::Value unknown = value.member("unk_id");
        if (unknown.is_null()) refuse("a Unigram model without an unknown token is not supported");
        unknown_ = unknown.integer("unk_id");
        if (static_cast<size_t>(unknown_) >= scores_.size()) refuse("the unknown token's id is not in the vocabulary");
        unknown_score_ = *std::min_element(scores_.begin(), scores_.end()) - 10.0;
    }

    void encode(std::string_view word, std::vector<Piece>& out) const override {
        struct Best {
            double score = -std::numeric_limits<double>::infinity();
            uint32_t start = UINT32_MAX;
            int32_t id = -1;
        };
        std::vector<Best> ends(word.size() + 1);
        ends[0].score = 0;
        const auto offer = [&](size_t start, size_t stop, double score, int32_t id) {
            const double sum = score + ends[start].score;
            if (ends[stop].start == UINT32_MAX || sum > ends[stop].score)
                ends[stop] = {sum, static_cast<uint32_t>(start), id};
        };
        for (size_t at = 0; at < word.size();) {
            const size_t one = at + static_cast<size_t>(character_bytes(word[at]));
            bool single = false;
            uint32_t node = Trie::ROOT;
            for (size_t i = at; i < word.size();) {
                node = trie_.child(node, static_cast<unsigned char>(word[i++]));
                if (node == Trie::NONE) break;
                if (trie_.id(node) < 0) continue;
                offer(at, i, scores_[static_cast<size_t>(trie_.id(node))], trie_.id(node));
                single |= i == one;
            }
            if (!single) offer(at, one, unknown_score_, unknown_);
            at = one;
        }
        for (size_t end = word.size(); end > 0; end = ends[end].start) {
            const Best& best = ends[end];
            if (best.id == unknown_ && !out.empty() && out.back().id == unknown_)
                out.back().start = best.start;  // adjacent unknown characters are one token
            else
                out.push_back({best.id, best.start, static_cast<uint32_t>(end)});
        }
        std::reverse(out.begin(), out.end());
    }

private:
    std::vector<double> scores_;
    Trie trie_;
    double unknown_score_;

    Pieces read(const json::Value& vocabulary) {
        Pieces pieces;
        for (const json::Value one : vocabulary) {
            auto at = one.begin();
            if (!(at != one.end())) refuse("a token of the vocabulary is no pair of a text and a score");
            const std::string_view piece = (*at).text("a token");
            if (!(++at != one.end())) refuse("a token of the vocabulary has no score");
            pieces.emplace_back(piece, static_cast<int32_t>(scores_.size()));
            scores_.push_back((*at).number("a token's score"));
        }
        if (pieces.empty()) refuse("the tokenizer's vocabulary is empty");
        return pieces;
    }
};

}  // namespace

std::unique_ptr<WordModel> read_word_model(const json::Value& value, bool byte_level) {
    const json::Value named = value.member("type");
    // older files have no type; it is inferred from their content
    const std::string_view type = !named.is_null()                     ? named.text("the model's type")
                                  : !value.member("merges").is_null()  ? "BPE"
                                  : !value.member("unk_id").is_null()  ? "Unigram"
                                  : !value.member("continuing_subword_prefix").is_null() ? "WordPiece"
                                                                                         : "WordLevel";
    if (type == "WordPiece") return std::make_unique<WordPiece>(value);
    if (type == "WordLevel") return std::make_unique<WordLevel>(value);
    if (type == "Unigram") return std::make_unique<Unigram>(value);
    if (type != "BPE") refuse("the tokenizer model " + std::string(type.substr(0, 80)) + " is not supported");
    if (!byte_level) refuse("BPE without a ByteLevel pre-tokenizer is not supported");
    return std::make_unique<BytePairs>(value);
}

}  // namespace likewise::text
