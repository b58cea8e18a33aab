#include "trie.h"

#include <algorithm>

#include "../failure.h"

namespace likewise::text {

namespace {

constexpr size_t BLOCK = 256;
constexpr size_t TRIES = 64;  // free places to try for a node's children before adding a block

}  // namespace

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
    for (const auto& piece : pieces)
        if (piece.first.size() > LONGEST) refuse("a token of ", piece.first.size(), " bytes is not supported");
    std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    struct Range {
        uint32_t node, begin, end, depth;  // the range of pieces that share the node's bytes
    };
    add_block();
    free_.pop_back();  // the root's place
    nodes_[ROOT].parent = NO_PARENT;
    std::vector<Range> ranges{{ROOT, 0, static_cast<uint32_t>(pieces.size()), 0}};
    std::vector<unsigned char> labels;
    std::vector<uint32_t> begins;
    while (!ranges.empty()) {  // one subtree at a time, so that the nodes of a word are close together
        auto [node, at, end, depth] = ranges.back();
        ranges.pop_back();
        for (; at < end && pieces[at].first.size() == depth; at++)
            if (depth) nodes_[node].id = pieces[at].second;
        labels.clear();
        begins.clear();
        while (at < end) {
            const auto label = static_cast<unsigned char>(pieces[at].first[depth]);
            labels.push_back(label);
            begins.push_back(at);
            while (at < end && static_cast<unsigned char>(pieces[at].first[depth]) == label) at++;
        }
        if (labels.empty()) continue;
        begins.push_back(end);
        const uint32_t base = place(node, labels);
        for (size_t i = 0; i < labels.size(); i++)
            ranges.push_back({base ^ labels[i], begins[i], begins[i + 1], depth + 1});
    }
    nodes_.shrink_to_fit();
    free_ = {};
}

// Finds room for a node's children: among the free places added last, or in a new block.
uint32_t Trie::place(uint32_t parent, const std::vector<unsigned char>& labels) {
    uint32_t base = NONE;
    size_t tried = 0;
    for (size_t i = free_.size(); i > 0 && tried < TRIES && base == NONE; i--) {
        const uint32_t at = free_[i - 1];
        if (nodes_[at].parent != NONE) {  // has been taken since
            free_.erase(free_.begin() + static_cast<long>(i - 1));
            continue;
        }
        tried++;
        if (fits(at ^ labels[0], labels)) base = at ^ labels[0];
    }
    if (base == NONE) {
        base = static_cast<uint32_t>(nodes_.size());
        add_block();
    }
    nodes_[parent].base = base;
    for (const unsigned char label : labels) nodes_[base ^ label].parent = parent;
    return base;
}

bool Trie::fits(uint32_t base, const std::vector<unsigned char>& labels) const {
    return std::all_of(labels.begin(), labels.end(), [&](unsigned char label) { return nodes_[base ^ label].parent == NONE; });
}

void Trie::add_block() {
    const auto first = static_cast<uint32_t>(nodes_.size());
    nodes_.resize(first + BLOCK);
    for (uint32_t at = first + BLOCK; at > first; at--) free_.push_back(at - 1);
}

}  // namespace likewise::text
