// Memory of packed weights: side by side in large pages, where the system gives them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace likewise {

// Products read weights from one end to the other; in pages of 4 KiB a tenth of that time goes into finding the pages.
class Arena {
public:
    // Zeroed memory at a multiple of 64, which lives as long as this does.
    uint8_t* of(size_t bytes);

private:
    static constexpr std::align_val_t PAGE{2U << 20U};
    struct Free {
        void operator()(uint8_t* block) const { ::operator delete(block, PAGE); }
    };
    std::vector<std::unique_ptr<uint8_t, Free>> blocks_;
    uint8_t* next_ = nullptr;
    size_t left_ = 0;
};

}  // namespace likewise
