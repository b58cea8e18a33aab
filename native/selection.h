// What is kept of a scan by one thread: the best rows of each query, or all above a threshold.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "likewise_native.h"

namespace likewise {

struct Scored {
    float score;
    int64_t row;
    // A total order: of equal scores the earlier row comes first, so that the best are the same whoever found them.
    bool operator<(const Scored& other) const { return score != other.score ? score > other.score : row < other.row; }
};

// The k best of each query. `floor` is a score that is needed, NaN while every score is taken.
class Best {
public:
    Best(int64_t queries, int64_t k);
    float floor(int query) const { return floors_[query]; }
    // Of bits: the distance that a row must not exceed to be above the floor.
    int64_t farthest(int query, int width) const;
    // Whether the floor is another now. Rows come in their order, so that of equal scores the later is not needed.
    bool take(int query, int64_t row, float score);
    void join(const Best& other);
    // Best first into the request's arrays.
    void write(const lw_best&);

private:
    void cut(int query);
    const size_t k_, room_;
    std::vector<std::vector<Scored>> kept_;
    std::vector<float> floors_;
};

// All that are at least the threshold, up to a number that all threads share.
class Above {
public:
    Above(int64_t queries, const lw_above&, std::atomic<int64_t>& found);
    float floor(int) const { return floor_; }
    int64_t farthest(int, int width) const;
    bool take(int query, int64_t row, float score);
    void join(const Above& other);
    // By query and row into the request's arrays.
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
