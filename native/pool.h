// Threads that wait for work between calls: making one anew for each call costs as much as a short sentence.
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
    // Ends its threads, which must be those of this process (see `here`).
    ~Pool();
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;
    // Runs work, which may not throw, in the calling thread and in `helpers` others as far as there are any; returns
    // when all are done. Any number of threads may call it at once.
    void run(size_t helpers, const std::function<void()>& work);
    // Whether its threads are in this process: a fork has a copy of it, but neither its threads nor a lock to trust.
    bool here() const;

private:
    struct Job {
        const std::function<void()>& work;
        size_t wanted;       // helpers that may still come
        size_t running = 0;  // helpers
        std::condition_variable done{};
    };
    void grow(size_t count);
    void wait_for_jobs();
    void help(Job&, std::unique_lock<std::mutex>&);

    const long process_;
    std::mutex guard_;
    std::condition_variable changed_;
    std::list<Job*> jobs_;  // that want helpers
    std::vector<std::thread> threads_;
    size_t demand_ = 0;  // helpers of all calls
    bool ends_ = false;
};

// What the threads of a call share: the next piece of work, and the first failure.
struct SharedWork {
    std::atomic<int64_t> next{0};
    std::mutex guard{};
    std::exception_ptr failure{};
    // Keeps what was thrown for the caller, and ends the work of `end` pieces.
    void fail(int64_t end) {
        next = end;
        const std::lock_guard<std::mutex> lock(guard);
        if (!failure) failure = std::current_exception();
    }
    // Runs the work in this thread and as many others of the pool as make `threads`; throws what was kept.
    template <class Owner>
    void run(Owner pool, int64_t threads, const std::function<void()>& work) {
        threads > 1 ? pool().run(threads - 1, work) : work();
        if (failure) std::rethrow_exception(failure);
    }
};

// The pool that an owner keeps, made at the first call, and again in a process that was forked.
Pool& pool_of(std::atomic<Pool*>& owned);
// The one for work that belongs to no model. It is never destroyed: threads may outlive what is when a process ends.
Pool& process_pool();

}  // namespace likewise
