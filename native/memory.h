// Memory for packed weights: contiguous, in large pages if the system has them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace likewise {

// Matmuls read weights sequentially; with pages of 4 KiB, a tenth of that time goes into address translation.
class Arena {
public:
    // Returns zeroed memory aligned to 64 bytes, freed together with this object.
    uint8_t* of(size_t bytes) {
        bytes = (bytes + LINE - 1) / LINE * LINE;
        if (bytes > left_) {
            const size_t page = static_cast<size_t>(PAGE), size = std::max(BLOCK, (bytes + page - 1) / page * page);
            blocks_.emplace_back(static_cast<uint8_t*>(::operator new(size, PAGE)));
            next_ = blocks_.back().get();
            left_ = size;
#if defined(__linux__)
            madvise(next_, size, MADV_HUGEPAGE);  // if this fails, ordinary pages are used
#endif
        }
        uint8_t* found = next_;
        next_ += bytes;
        left_ -= bytes;
        std::memset(found, 0, bytes);
        return found;
    }

private:
    static constexpr size_t BLOCK = 8U << 20U;  // the smallest allocation: a few large pages
    static constexpr size_t LINE = 64;
    static constexpr std::align_val_t PAGE{2U << 20U};
    struct Free {
        void operator()(uint8_t* block) const { ::operator delete(block, PAGE); }
    };
    std::vector<std::unique_ptr<uint8_t, Free>> blocks_;
    uint8_t* next_ = nullptr;
    size_t left_ = 0;
};

}  // namespace likewise
