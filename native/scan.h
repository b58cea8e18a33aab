// Scanning: compares queries with every row of a corpus, for every type of stored vectors.
#pragma once

#include <vector>

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

constexpr int SCAN_BLOCK = 48;  // rows per block: a multiple of every kernel's number of rows

// The kernel that compares rows of this type; halves are converted to floats first.
const ScanKernel& kernel_of(const Kernels&, const lw_scan&);
// The number of inputs of a row as the kernel reads it, padded.
int inputs_of(const ScanKernel&, const lw_scan&);
// The size in bytes of a query as passed by the caller.
int64_t query_bytes(const lw_scan&);

// Queries as the kernels read them.
class PackedQueries {
public:
    PackedQueries(const ScanKernel&, const lw_scan&);
    int columns;                 // queries, padded
    std::vector<float> factors;  // per query
    std::vector<int32_t> starts;
    const void* data() const { return packed_.data(); }

private:
    void place(const ScanKernel&, const lw_scan&, int query, int column, int width);
    std::vector<uint8_t> packed_;
    int inputs_;
};

// Rows gathered until there are enough for a block.
class ScanRows {
public:
    ScanRows(const Kernels&, const ScanKernel&, const lw_scan&);
    // Adds a row; throws if a value is NaN or infinite.
    void add(int64_t row);
    bool full() const { return count == SCAN_BLOCK; }
    // Repeats the last row to fill the kernel's number of rows.
    void pad();
    // The corrected cosine of a row of this block and a query, if rounding hides the angle (scores near 1).
    float near_one(int row, int query) const;

    int count = 0;
    const void* rows[SCAN_BLOCK];
    float factors[SCAN_BLOCK];
    int64_t numbers[SCAN_BLOCK];  // the indices of the rows in the corpus

private:
    void add_floats(int64_t row, const float* x);
    void add_far(int64_t row, const float* x);
    uint8_t* place() { return widened_.data() + static_cast<size_t>(count) * place_bytes_; }

    const Kernels& kernels_;
    const ScanKernel& kernel_;
    const lw_scan& scan_;
    const size_t place_bytes_;
    std::vector<uint8_t> widened_;
};

// Finds the best rows of each query, best first; ties: the earlier row first.
void scan_best(const Kernels&, const lw_scan&, const lw_best&);
// Finds every row whose score is at least the threshold, ordered by query and row; returns their number.
int64_t scan_above(const Kernels&, const lw_scan&, const lw_above&);

}  // namespace likewise
