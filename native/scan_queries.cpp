// Queries packed into panels, and rows gathered into blocks.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"
#include "scan.h"

namespace likewise {
namespace {

constexpr float SMALL = 1e-30F, LARGE = 1e30F;  // squared lengths between these are exact up to rounding
constexpr double LARGEST = 1e46;                // dot products with queries of length up to 1e15 are below 1e38

constexpr size_t rounded_up(size_t count, size_t multiple) { return (count + multiple - 1) / multiple * multiple; }

}  // namespace

const ScanKernel& kernel_of(const Kernels& kernels, const lw_scan& s) {
    return s.type == LW_INT8 ? kernels.scan.int8 : s.type == LW_BITS ? kernels.scan.bits : kernels.scan.fp32;
}

int inputs_of(const ScanKernel& kernel, const lw_scan& s) {
    const int elements = s.type == LW_BITS ? (s.width + 63) / 64 : s.width;
    return static_cast<int>(rounded_up(elements, kernel.group));
}

int64_t query_bytes(const lw_scan& s) {
    return s.type == LW_BITS ? (s.width + 7) / 8 : s.type == LW_INT8 ? s.width : 4L * s.width;
}

PackedQueries::PackedQueries(const ScanKernel& kernel, const lw_scan& s) : inputs_(inputs_of(kernel, s)) {
    columns = static_cast<int>(rounded_up(s.queries, kernel.lanes));
    packed_.resize(static_cast<size_t>(columns) * inputs_ * kernel.weight_bytes);
    factors.resize(columns, 1.0F);
    starts.resize(columns, 0);
    if (s.query_scales) std::copy(s.query_scales, s.query_scales + s.queries, factors.begin());
    const int vectors = columns / kernel.lanes, panels = panels_of(vectors, kernel.vectors);
    for (int panel = 0; panel < panels; panel++) {
        const int first = panel_start(vectors, panels, panel) * kernel.lanes;
        const int next = panel_start(vectors, panels, panel + 1) * kernel.lanes;
        for (int query = first; query < std::min<int64_t>(next, s.queries); query++) {
            place(kernel, s, query, first, next - first);
        }
    }
}

// Packs a query into the panel of this width that starts at this column.
void PackedQueries::place(const ScanKernel& kernel, const lw_scan& s, int query, int column, int width) {
    const size_t size = kernel.weight_bytes, group = size * kernel.group, stored = query_bytes(s);
    std::vector<uint8_t> row(size * inputs_);
    std::memcpy(row.data(), static_cast<const uint8_t*>(s.query_vectors) + stored * query, stored);
    uint8_t* to = packed_.data() + size * inputs_ * column + group * (query - column);
    for (size_t at = 0; at < row.size(); at += group, to += group * width) std::memcpy(to, row.data() + at, group);
    if (kernel.offset == 0) return;
    int sum = 0;
    for (const uint8_t byte : row) sum += static_cast<int8_t>(byte);
    starts[query] = -kernel.offset * sum;
}

ScanRows::ScanRows(const Kernels& kernels, const ScanKernel& kernel, const lw_scan& s)
    : kernels_(kernels),
      kernel_(kernel),
      scan_(s),
      place_bytes_(rounded_up(static_cast<size_t>(inputs_of(kernel, s)) * kernel.row_bytes, 64)),
      widened_(place_bytes_ * SCAN_BLOCK) {}

void ScanRows::add(int64_t row) {
    const uint8_t* stored = static_cast<const uint8_t*>(scan_.corpus) + row * scan_.row_bytes;
    numbers[count] = row;
    if (scan_.type == LW_FP32) return add_floats(row, reinterpret_cast<const float*>(stored));
    if (scan_.type == LW_FP16) {
        kernels_.scan.from_fp16(stored, scan_.width, reinterpret_cast<float*>(place()));
        return add_floats(row, reinterpret_cast<const float*>(place()));
    }
    if (scan_.type == LW_INT8) {
        kernel_.widen(stored, scan_.width, place());
        rows[count] = place();
    } else {
        const size_t bytes = (scan_.width + 7) / 8;
        if (bytes % 8 != 0) std::memcpy(place(), stored, bytes);  // behind it are zeros
        rows[count] = bytes % 8 != 0 ? place() : stored;
    }
    factors[count++] = scan_.scales ? scan_.scales[row] : 1.0F;
}

void ScanRows::add_floats(int64_t row, const float* x) {
    const float squares = kernels_.scan.squares(x, scan_.width);
    if (!(squares > SMALL && squares < LARGE)) return add_far(row, x);
    rows[count] = x;
    factors[count++] = scan_.cosine ? 1.0F / std::sqrt(squares) : 1.0F;
}

// Adds a row that is zero or not finite, or whose squares overflow or underflow in floats.
void ScanRows::add_far(int64_t row, const float* x) {
    double squares = 0.0;
    for (int i = 0; i < scan_.width; i++) squares += static_cast<double>(x[i]) * x[i];
    if (!std::isfinite(squares)) fail(LW_BAD_INPUT, "row ", row, " is not finite");
    if (!scan_.cosine && squares > LARGEST) fail(LW_BAD_INPUT, "row ", row, " is so long that its scores may overflow");
    if (scan_.cosine && squares > 0.0) {
        const double length = std::sqrt(squares);
        float* scaled = reinterpret_cast<float*>(place());
        for (int i = 0; i < scan_.width; i++) scaled[i] = static_cast<float>(x[i] / length);
        x = scaled;
    }
    rows[count] = x;
    factors[count++] = 1.0F;
}

void ScanRows::pad() {
    for (int i = count; i < SCAN_BLOCK && i % kernel_.rows != 0; i++) {
        rows[i] = rows[count - 1];
        factors[i] = factors[count - 1];
    }
}

float ScanRows::near_one(int row, int query) const {
    const float* x = static_cast<const float*>(rows[row]);
    const float* q = static_cast<const float*>(scan_.query_vectors) + static_cast<int64_t>(query) * scan_.width;
    double length = 0.0, squares = 0.0;
    for (int i = 0; i < scan_.width; i++) length += static_cast<double>(x[i]) * x[i];
    length = std::sqrt(length);
    for (int i = 0; i < scan_.width; i++) {
        const double difference = q[i] - x[i] / length;
        squares += difference * difference;
    }
    return static_cast<float>(1.0 - squares / 2.0);
}

}  // namespace likewise
