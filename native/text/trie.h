// A vocabulary as a trie over bytes, which finds the pieces that a text starts with, shortest first.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::text {

// A double array (Aoe 1989): a node's child for a byte is at `base ^ byte` if the node there has it as its parent, so
// each step is a single lookup without a search.
class Trie {
public:
    // Of equal pieces, the last one counts; empty pieces are ignored. Pieces longer than LONGEST are rejected, because
    // a walk from each byte of a text may take that many steps.
    explicit Trie(std::vector<std::pair<std::string_view, int32_t>> pieces);

    static constexpr uint32_t ROOT = 0, NONE = UINT32_MAX;
    static constexpr size_t LONGEST = 1024;  // bytes

    uint32_t child(uint32_t node, unsigned char byte) const {
        const uint32_t at = nodes_[node].base ^ byte;
        return nodes_[at].parent == node ? at : NONE;
    }

    int32_t id(uint32_t node) const { return nodes_[node].id; }  // -1 if no piece ends here

    // The id of a piece, or -1.
    int32_t find(std::string_view piece) const {
        const uint32_t node = walk(piece);
        return node == NONE ? -1 : nodes_[node].id;
    }

    // The node at the end of a piece, or NONE.
    uint32_t walk(std::string_view piece) const {
        uint32_t node = ROOT;
        for (const char c : piece)
            if (node != NONE) node = child(node, static_cast<unsigned char>(c));
        return node;
    }

private:
    static constexpr uint32_t NO_PARENT = NONE - 1;  // the parent of the root
    struct Node {
        uint32_t base = 0;
        uint32_t parent = NONE;  // NONE: a free place
        int32_t id = -1;
    };
    std::vector<Node> nodes_;  // blocks of 256 places, so that every `base ^ byte` is in range
    std::vector<uint32_t> free_;  // during construction: possibly free places in the last blocks

    uint32_t place(uint32_t parent, const std::vector<unsigned char>& labels);
    bool fits(uint32_t base, const std::vector<unsigned char>& labels) const;
    void add_block();
};

}  // namespace likewise::text
