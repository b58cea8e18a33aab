// Threads that compute one chunk together: each takes the next part of a loop, such as some columns of a matmul.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

namespace likewise {

// Between loops the threads spin, because a loop takes microseconds. A thread that wakes up late, or is suspended
// between two parts, does not delay the others, which take its parts.
class Team {
public:
    explicit Team(int threads) : threads_(threads) {}
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // The number of parts for a loop of `most` indivisible steps: several per thread, because threads differ in speed.
    int parts(int most) const { return threads_ == 1 ? 1 : std::min(most, PARTS_OF_A_THREAD * threads_); }

    // The part that a thread takes after this one if all threads are equally fast; it may belong to the next loop.
    int next_part(int part) const { return part + threads_; }

    // Calls `part`, which must not throw, with 0 to `count` - 1, in this thread and in helping threads. Only the thread
    // that created the team may call this.
    template <class Part>
    void each(int count, const Part& part) {
        if (threads_ == 1 || count <= 1) {
            for (int i = 0; i < count; i++) part(i);
            return;
        }
        call_.store([](const void* body, int i) { (*static_cast<const Part*>(body))(i); }, std::memory_order_relaxed);
        body_.store(&part, std::memory_order_relaxed);
        left_.store(count, std::memory_order_relaxed);
        loop_++;
        state_.store(static_cast<uint64_t>(loop_) << 32 | static_cast<uint64_t>(count) << 16, std::memory_order_release);
        take();
        for (int spins = 0; left_.load(std::memory_order_acquire) > 0; spins++) rest(spins);
    }

    // Takes parts until the team is dismissed.
    void help() {
        for (int spins = 0; !dismissed_.load(std::memory_order_relaxed); spins++) {
            if (take()) spins = 0;
            rest(spins);
        }
    }

    void dismiss() { dismissed_.store(true, std::memory_order_relaxed); }

private:
    static constexpr int PARTS_OF_A_THREAD = 3;
    static constexpr int SPINS = 2000;  // before yielding the processor

    static void rest(int spins) {
        if (spins >= SPINS) return std::this_thread::yield();
#if defined(__x86_64__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("yield");
#endif
    }

    // Takes parts until none are left; returns whether it took one. The loop number, its number of parts and the next
    // part change atomically together, so no thread can take a part of a loop that has ended. A loop cannot end before
    // all its parts are taken, so `call_` and `body_` belong to it.
    bool take() {
        bool found = false;
        uint64_t state = state_.load(std::memory_order_acquire);
        while ((state & 0xFFFF) < (state >> 16 & 0xFFFF)) {
            const auto call = call_.load(std::memory_order_relaxed);
            const void* const body = body_.load(std::memory_order_relaxed);
            if (!state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire)) continue;
            call(body, static_cast<int>(state & 0xFFFF));
            left_.fetch_sub(1, std::memory_order_release);
            found = true;
            state = state_.load(std::memory_order_acquire);
        }
        return found;
    }

    const int threads_;
    uint32_t loop_ = 0;
    std::atomic<uint64_t> state_{0};  // the loop number (32 bits), its number of parts (16), the next part (16)
    std::atomic<void (*)(const void*, int)> call_{nullptr};
    std::atomic<const void*> body_{nullptr};
    std::atomic<int> left_{0};  // parts that are not finished
    std::atomic<bool> dismissed_{false};
};

}  // namespace likewise
