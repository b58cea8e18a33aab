// Memory that a call borrows and returns, so that the next call does not have to allocate it again.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace likewise {

// No locks: after a fork, a lock held by another thread would stay locked forever.
template <class T>
class Spares {
public:
    ~Spares() {
        for (std::atomic<T*>& place : places_) delete place.load();
    }
    std::unique_ptr<T> borrow() {
        for (std::atomic<T*>& place : places_) {
            if (T* found = place.exchange(nullptr)) return std::unique_ptr<T>(found);
        }
        return std::make_unique<T>();
    }
    void give_back(std::unique_ptr<T> spare) {
        for (std::atomic<T*>& place : places_) {
            T* none = nullptr;
            if (place.compare_exchange_strong(none, spare.get())) {
                spare.release();
                return;
            }
        }
    }

private:
    std::array<std::atomic<T*>, 64> places_{};
};

}  // namespace likewise
