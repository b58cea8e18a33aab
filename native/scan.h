// Scanning: queries against every row of a corpus, in whatever type its vectors are stored.
#pragma once

#include "kernels.h"
#include "likewise_native.h"

namespace likewise {

// The best rows of each query, best first; of equal scores the earlier row.
void scan_best(const Kernels&, const lw_scan&, const lw_best&);
// Every row whose score is at least the threshold, by query and row; returns how many there are.
int64_t scan_above(const Kernels&, const lw_scan&, const lw_above&);

}  // namespace likewise
