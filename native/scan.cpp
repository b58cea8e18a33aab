// Validates a scan and distributes it over threads, which take chunks of rows; then merges their selections.
#include "scan.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <vector>

#include "failure.h"
#include "pool.h"
#include "selection.h"

namespace likewise {
namespace {

constexpr int64_t MOST_CHUNK = 2048, LEAST_CHUNK = SCAN_BLOCK;  // rows that a thread takes at a time
constexpr int64_t MOST_QUERIES = 1 << 20, MOST_WIDTH = 1 << 20;
constexpr int64_t MOST_INT8_WIDTH = (1 << 17) - 1;  // a sum of this many products of two bytes fits in 32 bits
constexpr int MOST_THREADS = 1024;
constexpr int64_t CHUNKS_PER_THREAD = 8;

void check(const lw_scan& s) {
    if (s.type != LW_FP32 && s.type != LW_FP16 && s.type != LW_INT8 && s.type != LW_BITS) {
        fail(LW_BAD_INPUT, "vectors of type ", s.type, " are not scanned");
    }
    if (s.rows < 0 || s.queries < 0 || s.queries > MOST_QUERIES || s.width < 1 || s.width > MOST_WIDTH) {
        fail(LW_BAD_INPUT, "there is no such scan: ", s.rows, " rows, ", s.queries, " queries, width ", s.width);
    }
    if (s.type == LW_INT8 && s.width > MOST_INT8_WIDTH) {
        fail(LW_BAD_INPUT, "vectors have ", s.width, " dimensions; in int8, expected at most ", MOST_INT8_WIDTH,
             ", whose scores are exact. Scan them in float32 or float16");
    }
    if ((s.rows > 0 && s.corpus == nullptr) || (s.queries > 0 && s.query_vectors == nullptr)) {
        fail(LW_BAD_INPUT, "there are no vectors");
    }
    if (s.threads < 1 || s.threads > MOST_THREADS) fail(LW_BAD_INPUT, "threads are ", s.threads, "; wanted 1 to 1024");
}

// The state that the threads of a scan share.
struct ScanShared {
    const Kernels& kernels;
    const ScanKernel& kernel;
    const lw_scan& scan;
    const PackedQueries queries;
    SharedWork work{};
};

// One thread's part: gathers and compares rows, and passes hits to the selection.
template <class Selection>
class ScanWork {
public:
    ScanWork(ScanShared& shared, Selection& selection)
        : shared_(shared),
          scan_(shared.scan),
          selection_(selection),
          rows_(shared.kernels, shared.kernel, shared.scan),
          floors_(shared.queries.columns, INFINITY),
          farthest_(shared.queries.columns, -1),
          hits_(static_cast<size_t>(shared.queries.columns) * SCAN_BLOCK) {
        for (int query = 0; query < scan_.queries; query++) lift(query);
    }

    void run(int64_t first, int64_t end) {
        for (int64_t row = first; row < end; row++) {
            if (scan_.mask && ((scan_.mask[row / 8] >> (row % 8)) & 1) == 0) continue;
            add(row);
        }
        if (rows_.count > 0) compare();
    }

    void run(const int64_t* listed, int64_t count) {
        for (int64_t i = 0; i < count; i++) add(listed[i]);
        if (rows_.count > 0) compare();
    }

private:
    void add(int64_t row) {
        rows_.add(row);
        if (rows_.full()) compare();
    }

    // The hits of each query are in row order.
    void compare() {
        rows_.pad();
        const PackedQueries& q = shared_.queries;
        const ScanBlock block = {rows_.rows,     rows_.factors,    rows_.count,      inputs_of(shared_.kernel, scan_),
                                 q.data(),       q.columns,        q.factors.data(), q.starts.data(),
                                 floors_.data(), farthest_.data(), hits_.data()};
        const size_t count = shared_.kernel.scan(block);
        for (size_t i = 0; i < count; i++) {
            if (hits_[i].query < scan_.queries) take(hits_[i]);
        }
        rows_.count = 0;
    }

    void take(const Hit& hit) {
        float score = scan_.type == LW_BITS ? static_cast<float>(scan_.width) + 2.0F * hit.score : hit.score;
        if (scan_.cosine && score > scan_.near) score = rows_.near_one(hit.row, hit.query);
        if (scan_.cosine) score = std::max(score, -1.0F);
        if (std::isnan(score)) fail(LW_BAD_INPUT, "a score is not a number");
        if (selection_.take(hit.query, rows_.numbers[hit.row], score)) lift(hit.query);
    }

    // The kernel's floor, given the selection's; scores near 1 pass, so that they can be corrected.
    void lift(int query) {
        const float floor = selection_.floor(query);
        floors_[query] = scan_.cosine && floor > scan_.near ? scan_.near : floor;
        farthest_[query] = selection_.farthest(query, scan_.width);
    }

    ScanShared& shared_;
    const lw_scan& scan_;
    Selection& selection_;
    ScanRows rows_;
    std::vector<float> floors_;
    std::vector<int64_t> farthest_;
    std::vector<Hit> hits_;
};

// Takes chunks until none are left. Failures are kept for the caller.
template <class Selection>
void take_rows(ScanShared& shared, Selection& selection, int64_t chunk) noexcept {
    try {
        ScanWork<Selection> work(shared, selection);
        for (int64_t first = shared.work.next.fetch_add(chunk); first < shared.scan.rows;
             first = shared.work.next.fetch_add(chunk)) {
            work.run(first, std::min(shared.scan.rows, first + chunk));
        }
    } catch (...) {
        shared.work.fail(std::max(shared.scan.rows, shared.scan.queries));
    }
}

// One selection per thread; all are merged into the first.
template <class Selection>
Selection selected(const Kernels& kernels, const lw_scan& s, const Selection& empty) {
    const ScanKernel& kernel = kernel_of(kernels, s);
    ScanShared shared{kernels, kernel, s, PackedQueries(kernel, s)};
    const int64_t share = s.rows / (s.threads * CHUNKS_PER_THREAD) / SCAN_BLOCK * SCAN_BLOCK;
    const int64_t chunk = std::min(MOST_CHUNK, std::max(LEAST_CHUNK, share));
    const int64_t threads = std::max<int64_t>(1, std::min<int64_t>(s.threads, (s.rows + chunk - 1) / chunk));
    std::vector<Selection> selections(threads, empty);
    std::atomic<size_t> arrived{0};
    const auto work = [&] {
        const size_t number = arrived++;
        if (number < selections.size()) take_rows(shared, selections[number], chunk);
    };
    shared.work.run(process_pool, threads, work);
    for (size_t i = 1; i < selections.size(); i++) selections[0].join(selections[i]);
    return std::move(selections[0]);
}

// Compares each query with the rows listed for it.
void take_queries(ScanShared& shared, const lw_best& out) noexcept {
    const int64_t bytes = query_bytes(shared.scan);
    try {
        for (int64_t query = shared.work.next++; query < shared.scan.queries; query = shared.work.next++) {
            lw_scan one = shared.scan;
            one.query_vectors = static_cast<const uint8_t*>(one.query_vectors) + query * bytes;
            if (one.query_scales) one.query_scales += query;
            one.queries = 1;
            ScanShared alone{shared.kernels, shared.kernel, one, PackedQueries(shared.kernel, one)};
            Best best(1, out.k);
            ScanWork<Best>(alone, best).run(out.listed + query * out.listed_count, out.listed_count);
            best.write({nullptr, 0, out.k, out.counts + query, out.rows + query * out.k, out.scores + query * out.k});
        }
    } catch (...) {
        shared.work.fail(std::max(shared.scan.rows, shared.scan.queries));
    }
}

void check_listed(const lw_scan& s, const lw_best& out) {
    for (int64_t i = 0; i < s.queries * out.listed_count; i++) {
        if (out.listed[i] < 0 || out.listed[i] >= s.rows ||
            (i % out.listed_count && out.listed[i] < out.listed[i - 1])) {
            fail(LW_BAD_INPUT, "row ", out.listed[i], " is listed; wanted ascending ones below ", s.rows);
        }
    }
}

}  // namespace

void scan_best(const Kernels& kernels, const lw_scan& s, const lw_best& out) {
    check(s);
    if (out.k < 1) fail(LW_BAD_INPUT, "k is ", out.k, "; wanted 1 or more");
    if (out.listed == nullptr) return selected(kernels, s, Best(s.queries, out.k)).write(out);
    check_listed(s, out);
    lw_scan none = s;
    none.queries = 0;
    const ScanKernel& kernel = kernel_of(kernels, s);
    ScanShared shared{kernels, kernel, s, PackedQueries(kernel, none)};
    shared.work.run(process_pool, std::min<int64_t>(s.threads, s.queries), [&] { take_queries(shared, out); });
}

int64_t scan_above(const Kernels& kernels, const lw_scan& s, const lw_above& out) {
    check(s);
    std::atomic<int64_t> found{0};
    Above pairs = selected(kernels, s, Above(s.queries, out, found));
    if (found <= out.room) pairs.write(out);
    return found;
}

}  // namespace likewise
