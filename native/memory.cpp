// Memory of packed weights: side by side in large pages, where the system gives them.
#include "memory.h"

#include <algorithm>
#include <cstring>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace likewise {
namespace {

constexpr size_t BLOCK = 8U << 20U;  // the least that is asked of the system: a few large pages
constexpr size_t LINE = 64;

}  // namespace

uint8_t* Arena::of(size_t bytes) {
    bytes = (bytes + LINE - 1) / LINE * LINE;
    if (bytes > left_) {
        const size_t page = static_cast<size_t>(PAGE), size = std::max(BLOCK, (bytes + page - 1) / page * page);
        blocks_.emplace_back(static_cast<uint8_t*>(::operator new(size, PAGE)));
        next_ = blocks_.back().get();
        left_ = size;
#if defined(__linux__)
        madvise(next_, size, MADV_HUGEPAGE);  // refused, it is memory all the same
#endif
    }
    uint8_t* found = next_;
    next_ += bytes;
    left_ -= bytes;
    std::memset(found, 0, bytes);
    return found;
}

}  // namespace likewise
