// Threads that wait for work between calls, because starting a thread costs as much as encoding a short sentence.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <vector>

namespace likewise {

class Pool {
public:
    Pool();
    // Stops its threads, which must belong to this process (see `here`).
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    // Runs work, which must not throw, in the calling thread and up to `helpers` other threads; returns
    // when all are done. Any number of threads may call this at once.
    void run(size_t helpers, const std::function<void()>& work);
    // Whether its threads run in this process: a fork copies the pool without threads, and its locks are unreliable.
    bool here() const;

private:
    struct Job {
        const std::function<void()>& work;
        size_t wanted;       // helpers that may still join
        size_t running = 0;  // helpers
        std::condition_variable done{};
    };
    void grow(size_t count);
    void wait_for_jobs();
    void help(Job&, std::unique_lock<std::mutex>&);

    const long process_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::list<Job*> jobs_;  // jobs that want helpers
    std::vector<std::thread> threads_;
    size_t demand_ = 0;  // helpers wanted by all calls
    bool ends_ = false;
};

// The state that a call's threads share: the next piece of work, and the first failure.
struct SharedWork {
    std::atomic<int64_t> next{0};
    std::mutex guard{};
    std::exception_ptr failure{};
    // Keeps the exception for the caller, and stops handing out the `end` pieces.
    void fail(int64_t end) {
        next = end;
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
    }
    // Runs the work on `threads` threads, including this one; rethrows the kept exception.
    template <class Owner>
    void run(Owner pool, int64_t threads, const std::function<void()>& work) {
        threads > 1 ? pool().run(threads - 1, work) : work();
        if (failure) std::rethrow_exception(failure);
    }
};

// An owner's pool, created at the first call, and created again in a forked process.
Pool& pool_of(std::atomic<Pool*>& owned);
// The pool for work without a model. It is never destroyed: its threads may still run while the process exits.
Pool& process_pool();

}  // namespace likewise
