// Compares few queries with rows of bytes, along the inputs, because most of a panel of 16 columns would be padding.
// Integer sums are exact, so scores have the same bits as with panels.
#pragma once

constexpr int FEW = 4;         // maximum queries; with more, panels are faster
constexpr int LONGEST = 4096;  // maximum inputs of a query that is copied out of its panel
constexpr int VECTOR = 64;     // bytes

// A query's bytes from the only panel, made contiguous, and padded with zeros to whole vectors.
inline int unpack_query(const ScanBlock& b, int column, int8_t* out) {
    const int8_t* from = static_cast<const int8_t*>(b.queries) + 4 * column;
    const int groups = b.inputs / 4, vectors = (b.inputs + VECTOR - 1) / VECTOR;
    std::memset(out + (vectors - 1) * VECTOR, 0, VECTOR);
    for (int group = 0; group < groups; group++) std::memcpy(out + 4 * group, from + 4 * WIDTH * group, 4);
    return vectors;
}

// Memory after a row, up to whole vectors, is readable and is multiplied by zero.
inline uint32_t dot_bytes(const uint8_t* row, const int8_t* query, int vectors) {
    __m512i sum = _mm512_setzero_si512();
    for (int i = 0; i < vectors; i++) {
        sum = _mm512_dpbusd_epi32(sum, _mm512_loadu_si512(row + i * VECTOR), _mm512_loadu_si512(query + i * VECTOR));
    }
    return static_cast<uint32_t>(_mm512_reduce_add_epi32(sum));
}

inline Hit* scan_query(const ScanBlock& b, int column, Hit* hits) {
    alignas(VECTOR) int8_t query[LONGEST];
    const int vectors = unpack_query(b, column, query);
    const auto start = static_cast<uint32_t>(b.starts[column]);
    for (int row = 0; row < b.count; row++) {
        const auto bytes = static_cast<const uint8_t*>(b.rows[row]);
        const auto sum = static_cast<int32_t>(start + dot_bytes(bytes, query, vectors));
        const float score = static_cast<float>(sum) * b.factors[row] * b.query_factors[column];
        if (!(score <= b.floors[column])) *hits++ = {row, column, score};
    }
    return hits;
}

// A column with an infinite floor is padding, or a query that rejects every row.
inline size_t scan_bytes(const ScanBlock& b) {
    if (b.columns != WIDTH || b.inputs > LONGEST) return scan<ScanTile<ScanInt8>>(b);
    int few[FEW], count = 0;
    for (int column = 0; column < WIDTH; column++) {
        if (b.floors[column] == INFINITY) continue;
        if (count == FEW) return scan<ScanTile<ScanInt8>>(b);
        few[count++] = column;
    }
    Hit* hits = b.hits;
    for (int i = 0; i < count; i++) hits = scan_query(b, few[i], hits);
    return static_cast<size_t>(hits - b.hits);
}
