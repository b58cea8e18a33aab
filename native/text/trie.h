// A vocabulary as a trie over bytes: the pieces that a text begins with, shortest first.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::text {

class Trie {
public:
    // Of equal pieces the last one counts; empty ones are left out. Longer ones than LONGEST are refused: from each
    // byte of a text a walk may take as many steps.
    explicit Trie(std::vector<std::pair<std::string_view, int32_t>> pieces);

    static constexpr uint32_t ROOT = 0, NONE = UINT32_MAX;
    static constexpr size_t LONGEST = 1024;  // bytes

    uint32_t child(uint32_t node, unsigned char byte) const {
        if (node == ROOT) return first_bytes_[byte];
        const Node& at = nodes_[node];
        uint32_t low = at.first, high = at.first + at.children;
        while (high - low > 4) {
            const uint32_t middle = (low + high) / 2;
            (nodes_[middle].label <= byte ? low : high) = middle;
        }
        while (low < high && nodes_[low].label != byte) low++;
        return low < high ? low : NONE;
    }

    int32_t id(uint32_t node) const { return nodes_[node].id; }  // -1 where no piece ends

    // The id of a piece, or -1.
    int32_t find(std::string_view piece) const {
        uint32_t node = ROOT;
        for (const char c : piece) {
            node = child(node, static_cast<unsigned char>(c));
            if (node == NONE) return -1;
        }
        return nodes_[node].id;
    }

    // The node that a piece leads to, or NONE.
    uint32_t walk(std::string_view piece) const {
        uint32_t node = ROOT;
        for (const char c : piece)
            if (node != NONE) node = child(node, static_cast<unsigned char>(c));
        return node;
    }

private:
    struct Node {
        uint32_t first;  // of its children, which are neighbours in the order of their bytes
        int32_t id;
        uint16_t children;
        unsigned char label;
    };
    std::vector<Node> nodes_;
    std::array<uint32_t, 256> first_bytes_;
};

}  // namespace likewise::text
