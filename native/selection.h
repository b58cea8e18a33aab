// One thread's selection of a scan's results: the best rows of each query, or all rows above a threshold.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "likewise_native.h"

namespace likewise {

struct Scored {
    float score;
    int64_t row;
    // A total order: of equal scores, the earlier row comes first, so results do not depend on which thread found them.
    bool operator<(const Scored& other) const { return score != other.score ? score > other.score : row < other.row; }
};

// The k best of each query. A row needs a score above `floor`; NaN accepts every score.
class Best {
public:
    Best(int64_t queries, int64_t k);
    float floor(int query) const { return floors_[query]; }
    // For bits: the largest distance that is above the floor.
    int64_t farthest(int query, int width) const;
    // Returns whether the floor has changed. Rows come in order, so of equal scores the later one is not needed.
    bool take(int query, int64_t row, float score);
    void join(const Best& other);
    // Writes the results into the request's arrays, best first.
    void write(const lw_best&);

private:
    void cut(int query);
    const size_t k_, room_;
    std::vector<std::vector<Scored>> kept_;
    std::vector<float> floors_;
};

// All scores of at least the threshold, up to a total shared by all threads.
class Above {
public:
    Above(int64_t queries, const lw_above&, std::atomic<int64_t>& found);
    float floor(int) const { return floor_; }
    int64_t farthest(int, int width) const;
    bool take(int query, int64_t row, float score);
    void join(const Above& other);
    // Writes the results into the request's arrays, by query and row.
    void write(const lw_above&);

private:
    struct Pair {
        int64_t query, row;
        float score;
    };
    const lw_above& request_;
    std::atomic<int64_t>& found_;
    const float floor_;  // just below the threshold
    std::vector<Pair> pairs_;
};

}  // namespace likewise
