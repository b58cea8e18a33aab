// One thread's selection of a scan's results.
#include "selection.h"

#include <algorithm>
#include <cmath>

namespace likewise {

Best::Best(int64_t queries, int64_t k)
    : k_(k), room_(std::max<size_t>(2 * k, 32)), kept_(queries), floors_(queries, NAN) {}

int64_t Best::farthest(int query, int width) const {
    const float floor = floors_[query];  // an integer, like all scores of bits
    return std::isnan(floor) ? INT64_MAX : static_cast<int64_t>(std::ceil((width - floor) / 2.0)) - 1;
}

bool Best::take(int query, int64_t row, float score) {
    if (score <= floors_[query]) return false;
    std::vector<Scored>& kept = kept_[query];
    kept.push_back({score, row});
    if (kept.size() < room_) return false;
    cut(query);
    return true;
}

void Best::cut(int query) {
    std::vector<Scored>& kept = kept_[query];
    if (kept.size() <= k_) return;
    std::nth_element(kept.begin(), kept.begin() + (k_ - 1), kept.end());
    kept.resize(k_);
    floors_[query] = kept.back().score;
}

void Best::join(const Best& other) {
    for (size_t query = 0; query < kept_.size(); query++) {
        kept_[query].insert(kept_[query].end(), other.kept_[query].begin(), other.kept_[query].end());
    }
}

void Best::write(const lw_best& out) {
    for (size_t query = 0; query < kept_.size(); query++) {
        std::vector<Scored>& kept = kept_[query];
        std::sort(kept.begin(), kept.end());
        out.counts[query] = static_cast<int64_t>(std::min(kept.size(), k_));
        for (int64_t i = 0; i < out.counts[query]; i++) {
            out.rows[query * k_ + i] = kept[i].row;
            out.scores[query * k_ + i] = kept[i].score;
        }
    }
}

Above::Above(int64_t, const lw_above& request, std::atomic<int64_t>& found)
    : request_(request), found_(found), floor_(std::nextafter(request.threshold, -INFINITY)) {}

int64_t Above::farthest(int, int width) const {
    const double limit = std::floor((width - static_cast<double>(request_.threshold)) / 2.0);
    return static_cast<int64_t>(std::max(-1.0, std::min<double>(width, limit)));
}

bool Above::take(int query, int64_t row, float score) {
    if (!(score >= request_.threshold) || (request_.later && row <= request_.first + query)) return false;
    if (found_++ < request_.room) pairs_.push_back({query, row, score});
    return false;
}

void Above::join(const Above& other) { pairs_.insert(pairs_.end(), other.pairs_.begin(), other.pairs_.end()); }

void Above::write(const lw_above& out) {
    std::sort(pairs_.begin(), pairs_.end(),
              [](const Pair& a, const Pair& b) { return a.query != b.query ? a.query < b.query : a.row < b.row; });
    for (size_t i = 0; i < pairs_.size(); i++) {
        out.query_numbers[i] = pairs_[i].query;
        out.rows[i] = pairs_[i].row;
        out.scores[i] = pairs_[i].score;
    }
}

}  // namespace likewise
