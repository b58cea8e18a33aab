// Threads that wait for work between calls.
#include "pool.h"

#include <exception>
#include <memory>

#if !defined(_WIN32)
#include <unistd.h>
#endif

namespace likewise {
namespace {

long this_process() {
#if defined(_WIN32)
    return 0;  // processes cannot fork there
#else
    return static_cast<long>(getpid());
#endif
}

}  // namespace

Pool::Pool() : process_(this_process()) {}

Pool::~Pool() {
    {
        const std::lock_guard<std::mutex> lock(guard_);
        ends_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

bool Pool::here() const { return process_ == this_process(); }

Pool& pool_of(std::atomic<Pool*>& owned) {
    Pool* found = owned.load();
    if (found && found->here()) return *found;
    auto made = std::make_unique<Pool>();
    if (owned.compare_exchange_strong(found, made.get())) return *made.release();
    return *found;  // another thread created it first
}

Pool& process_pool() {
    static std::atomic<Pool*> pool{nullptr};
    return pool_of(pool);
}

void Pool::run(size_t helpers, const std::function<void()>& work) {
    Job job{work, helpers};
    std::unique_lock<std::mutex> lock(guard_);
    demand_ += helpers;
    grow(demand_);
    if (helpers > 0) jobs_.push_back(&job);
    lock.unlock();
    changed_.notify_all();
    work();
    lock.lock();
    jobs_.remove(&job);  // a finished job needs no help
    job.done.wait(lock, [&] { return job.running == 0; });
    demand_ -= helpers;
}

// If no more threads can be started, the existing ones do the work.
void Pool::grow(size_t count) {
    try {
        while (threads_.size() < count) threads_.emplace_back([this] { wait_for_jobs(); });
    } catch (const std::exception&) {
    }
}

void Pool::wait_for_jobs() {
    std::unique_lock<std::mutex> lock(guard_);
    while (true) {
        changed_.wait(lock, [&] { return ends_ || !jobs_.empty(); });
        if (ends_) return;
        help(*jobs_.front(), lock);
    }
}

void Pool::help(Job& job, std::unique_lock<std::mutex>& lock) {
    job.running++;
    if (--job.wanted == 0) jobs_.pop_front();
    lock.unlock();
    job.work();
    lock.lock();
    if (--job.running == 0) job.done.notify_one();  // under the lock, because the job is destroyed when its call ends
}

}  // namespace likewise
