// The memory that a thread needs to pass a chunk of sentences through the layers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

namespace likewise {

// Memory that only grows, so that the next chunk can reuse it.
template <class T>
class Buffer {
public:
    T* of(size_t count) {
        if (memory_.size() < count) memory_.resize(count);
        return memory_.data();
    }
    size_t bytes() const { return memory_.size() * sizeof(T); }

private:
    std::vector<T> memory_;
};

// Rows passing through the heads.
struct HeadRows {
    Buffer<float> inputs, steps[2];
    size_t bytes() const { return inputs.bytes() + steps[0].bytes() + steps[1].bytes(); }
};

class Weights;
// The largest magnitude of each input channel in matmuls with these weights.
using Largest = std::map<const Weights*, std::vector<float>>;

struct Workspace {
    Buffer<float> states, joined, context, attended, added, wide, attention, words, scaled, pooled;
    HeadRows heads;
    Buffer<float> seen_by_queries, seen_by_keys, biases;  // scores of distances, and their sums for each pair of tokens
    std::vector<std::vector<float>> angles;  // cached cosines and sines by theta and position
    Buffer<uint8_t> rows, context_rows, wide_rows;  // as matmuls read them
    Buffer<float> scales, context_scales, wide_scales;
    Largest* largest = nullptr;  // where to record magnitudes, or null

    size_t bytes() const {
        size_t turned = 0;
        for (const std::vector<float>& table : angles) turned += table.size() * sizeof(float);
        return turned + states.bytes() + joined.bytes() + context.bytes() + attended.bytes() + added.bytes() +
               wide.bytes() + attention.bytes() + words.bytes() + scaled.bytes() + pooled.bytes() + seen_by_queries.bytes() + seen_by_keys.bytes() +
               biases.bytes() + heads.bytes() + rows.bytes() + context_rows.bytes() + wide_rows.bytes() +
               scales.bytes() + context_scales.bytes() + wide_scales.bytes();
    }
};

enum class Work { embeddings, products, attention, activations, norms, rounding, rest };

// Time by kind of work, measured only if requested.
class Stopwatch {
public:
    explicit Stopwatch(bool runs) : runs_(runs) {
        if (runs_) last_ = std::chrono::steady_clock::now();
    }
    void lap(Work kind) {
        if (!runs_) return;
        const auto now = std::chrono::steady_clock::now();
        seconds[static_cast<int>(kind)] += std::chrono::duration<double>(now - last_).count();
        last_ = now;
    }
    double seconds[7] = {};

private:
    bool runs_;
    std::chrono::steady_clock::time_point last_;
};

}  // namespace likewise
