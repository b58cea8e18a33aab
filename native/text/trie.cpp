#include "trie.h"

#include <algorithm>

#include "../failure.h"

namespace likewise::text {

Trie::Trie(std::vector<std::pair<std::string_view, int32_t>> pieces) {
    for (const auto& piece : pieces)
        if (piece.first.size() > LONGEST) refuse("a token of ", piece.first.size(), " bytes is not supported");
    std::stable_sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    struct Range {
        uint32_t begin, end, depth;  // the pieces that share the node's bytes
    };
    std::vector<Range> ranges{{0, static_cast<uint32_t>(pieces.size()), 0}};
    nodes_.push_back({0, -1, 0, 0});
    for (size_t node = 0; node < nodes_.size(); node++) {
        auto [at, end, depth] = ranges[node];
        for (; at < end && pieces[at].first.size() == depth; at++)
            if (depth) nodes_[node].id = pieces[at].second;
        nodes_[node].first = static_cast<uint32_t>(nodes_.size());
        while (at < end) {
            const char label = pieces[at].first[depth];
            const uint32_t begin = at;
            while (at < end && pieces[at].first[depth] == label) at++;
            nodes_.push_back({0, -1, 0, static_cast<unsigned char>(label)});
            ranges.push_back({begin, at, depth + 1});
            nodes_[node].children++;
        }
    }
    first_bytes_.fill(NONE);
    const uint32_t first = nodes_[ROOT].first;
    for (uint32_t child = first; child < first + nodes_[ROOT].children; child++)
        first_bytes_[nodes_[child].label] = child;
    nodes_.shrink_to_fit();
}

}  // namespace likewise::text
