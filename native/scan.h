// Scanning: queries against every row of a corpus, in whatever type its vectors are stored.
#pragma once

#include <vector>

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

constexpr int SCAN_BLOCK = 48;  // rows at a time: a multiple of every kernel's number of rows

// Which kernel compares rows of this type; halves are widened first.
const ScanKernel& kernel_of(const Kernels&, const lw_scan&);
// Inputs of a row as the kernel reads it, padded.
int inputs_of(const ScanKernel&, const lw_scan&);
// Bytes of a query as passed by the caller.
int64_t query_bytes(const lw_scan&);

// Queries as the kernels read them.
class PackedQueries {
public:
    PackedQueries(const ScanKernel&, const lw_scan&);
    int columns;                 // queries, padded
    std::vector<float> factors;  // of each
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
    // Throws if it has a number that is NaN or infinite.
    void add(int64_t row);
    bool full() const { return count == SCAN_BLOCK; }
    // Repeats the last row to fill the kernel's number of rows.
    void pad();
    // The corrected cosine of a row of this block and a query, if rounding hides the angle (scores near 1).
    float near_one(int row, int query) const;

    int count = 0;
    const void* rows[SCAN_BLOCK];
    float factors[SCAN_BLOCK];
    int64_t numbers[SCAN_BLOCK];  // the rows' positions in the corpus

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

// The best rows of each query, best first; ties: the earlier row.
void scan_best(const Kernels&, const lw_scan&, const lw_best&);
// Every row whose score is at least the threshold, by query and row; returns how many there are.
int64_t scan_above(const Kernels&, const lw_scan&, const lw_above&);

}  // namespace likewise
