// Runs sentences through the layers: embeddings, then blocks, in groups of rows that fit in the cache.
#include "chunk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "failure.h"
#include "functions.h"
#include "heads.h"

namespace likewise {
namespace {

constexpr int GROUP = 64;  // maximum rows that pass together from attention to the end of a block
constexpr int ALONE = 32;  // up to this many tokens, distributing attention over threads does not pay off

void add_row(float* x, const float* more, int count) {
    for (int i = 0; i < count; i++) x[i] += more[i];
}

void record(std::vector<float>& largest, const float* x, int count) {
    largest.resize(count);
    for (int i = 0; i < count; i++) largest[i] = std::max(largest[i], std::fabs(x[i]));
}

// Rotates each pair (x[i], x[i + width / 2]) of a head by the token's angle (Su et al. 2021, in halves).
void rotate_head(float* x, const float* cosines, const float* sines, int half) {
    for (int i = 0; i < half; i++) {
        const float left = x[i], right = x[i + half];
        x[i] = left * cosines[i] - right * sines[i];
        x[i + half] = right * cosines[i] + left * sines[i];
    }
}

// Several groups of query heads, each with its key-value head.
Attention groups_of(const Attention& whole, int first, int count) {
    Attention some = whole;
    const long at = static_cast<long>(first) * whole.width;
    some.queries += at * whole.group;
    some.keys += at;
    some.values += at;
    some.out += at * whole.group;
    some.heads = count * whole.group;
    if (whole.bias) some.bias += whole.head_step * first * whole.group;
    return some;
}

// A single head, with a bias for each pair of tokens.
Attention one_head(const Attention& whole, int head, const float* biases) {
    Attention one = groups_of(whole, head, 1);
    one.bias = biases;
    one.key_step = padded(whole.tokens);
    return one;
}

void largest_rows(const float* rows, long stride, int tokens, int width, float* out) {
    std::copy_n(rows, width, out);
    for (int token = 1; token < tokens; token++) {
        const float* row = rows + token * stride;
        for (int i = 0; i < width; i++) out[i] = std::max(out[i], row[i]);
    }
}

// The weighted sum of rows, divided by `total`; row i has the weight `first + slope * i`.
void weighted_rows(const float* rows, long stride, int tokens, int width, float first, float slope, float total,
                   float* out) {
    std::fill_n(out, width, 0.0F);
    for (int token = 0; token < tokens; token++) {
        const float* row = rows + token * stride;
        const float weight = first + slope * static_cast<float>(token);
        for (int i = 0; i < width; i++) out[i] += weight * row[i];
    }
    for (int i = 0; i < width; i++) out[i] /= total;
}

float sum_of_places(int first, int count) { return static_cast<float>((2.0 * first + count - 1.0) * count / 2.0); }

// One sentence's reductions, concatenated in the order of lw_reduction.
void reduce(const float* rows, long stride, int tokens, int skip, int width, int reductions, float* out) {
    rows += skip * stride;
    const int kept = tokens - skip;
    const float count = static_cast<float>(kept);
    for (int bit = LW_CLS; bit <= LW_LAST; bit *= 2) {
        if ((reductions & bit) == 0) continue;
        switch (bit) {
            case LW_CLS: std::copy_n(rows, width, out); break;
            case LW_MAX: largest_rows(rows, stride, kept, width, out); break;
            case LW_MEAN: weighted_rows(rows, stride, kept, width, 1.0F, 0.0F, count, out); break;
            case LW_MEAN_SQRT_LEN: weighted_rows(rows, stride, kept, width, 1.0F, 0.0F, std::sqrt(count), out); break;
            case LW_WEIGHTED_MEAN:  // weights use a token's position in the whole sentence
                weighted_rows(rows, stride, kept, width, static_cast<float>(skip + 1), 1.0F,
                              sum_of_places(skip + 1, kept), out);
                break;
            case LW_LAST: std::copy_n(rows + (kept - 1) * stride, width, out); break;
            default: break;
        }
        out += width;
    }
}

}  // namespace

int reduction_count(int32_t reductions) { return __builtin_popcount(static_cast<unsigned>(reductions)); }

bool sums_words(const Model& m, const lw_request& request) {
    const bool rows = m.words.type == LW_FP32 || m.words.type == LW_INT8, wide = m.width >= LANES;
    const bool only_rows = m.positions.empty() && m.segments.empty() && !m.norm.present() && !m.widen.packed().panels;
    return rows && wide && only_rows && m.word_scale == 1.0F && request.last_layer == 0 && !request.layers &&
           request.reductions == LW_MEAN;
}

Chunk::Chunk(const Model& model, const lw_request& request, const Heads* heads, const Span& span, Workspace& work,
             Stopwatch& watch, Team& team)
    : model_(model), request_(request), heads_(heads), span_(span), work_(work), watch_(watch), team_(team) {
    if (request.pooled == nullptr) return;
    const size_t width = static_cast<size_t>(reduction_count(request.reductions)) * model.width;
    pooled_ = heads_ ? work.pooled.of(span.sentences * width) : request.pooled + span.sentence * width;
}

void Chunk::run() {
    if (!sums_words(model_, request_) || !mean_of_words()) run_layers();
    if (request_.pooled && heads_)
        heads_->run(pooled_, span_.sentences, request_.pooled + span_.sentence * heads_->width(), work_.heads);
    watch_.lap(Work::rest);
}

void Chunk::run_layers() {
    const size_t tokens = span_.tokens;
    const int stride = model_.stride;
    x_ = work_.states.of(tokens * stride);
    const int query_stride = model_.query_stride;
    joined_ = work_.joined.of((tokens + LANES) * model_.joined_stride() + LANES);  // attention reads whole vectors
    context_ = work_.context.of(tokens * stride);
    attended_ = query_stride == stride ? context_ : work_.attended.of(tokens * query_stride);
    rows_ = rows_of(model_.pre_norm ? context_ : x_, stride, stride, span_.tokens, work_.rows, work_.scales);
    context_rows_ = rows_of(attended_, query_stride, query_stride, span_.tokens, work_.context_rows, work_.context_scales);
    embed();
    write_layer(0);
    for (int i = 0; i < request_.last_layer; i++) {
        layer(model_.blocks[model_.order[i]],
              i + 1 < request_.last_layer ? &model_.blocks[model_.order[i + 1]] : nullptr);
        const bool last = i + 1 == model_.depth;
        if (last && model_.last_norm.present()) norm(model_.last_norm, x_, x_, 0, span_.tokens, {});
        write_layer(i + 1);
    }
    if (request_.pooled) pool();
}

// Bit-identical to `embed` and `pool`. Returns false if a result is not finite; the caller then reports the word.
bool Chunk::mean_of_words() {
    const int width = model_.width;
    int64_t token = span_.token;
    bool finite = true;
    for (int64_t i = span_.sentence; i < span_.sentence + span_.sentences; token += request_.lengths[i++]) {
        const int skip = skipped(i), kept = request_.lengths[i] - skip;
        const int32_t* ids = request_.ids + token + skip;
        float* out = pooled_ + (i - span_.sentence) * width;
        const auto known = static_cast<long>(request_.tokens - token - skip);  // of 32 bits in WebAssembly
        model_.kernels.sum_words({model_.words.data, model_.words.scales, width, ids, kept, known,
                                  static_cast<float>(kept), out});
        finite &= all_finite(out, width);
    }
    watch_.lap(Work::embeddings);
    return finite;
}

// The number of initial tokens of a sentence that reductions skip.
int Chunk::skipped(int64_t sentence) const {
    return request_.skips ? std::min(request_.skips[sentence], request_.lengths[sentence] - 1) : 0;
}

void Chunk::read_words(int token, float* row) {
    const int id = request_.ids[span_.token + token];
    read_row(model_.words, id, row);
    for (int i = 0; model_.word_scale != 1.0F && i < model_.word_width; i++) row[i] *= model_.word_scale;
    std::fill(row + model_.word_width, row + model_.word_stride, 0.0F);
    if (!all_finite(row, model_.word_width)) {
        fail(LW_BAD_WEIGHTS, "the vector of word ", id,
             " holds NaN or infinity; the file is damaged, or training diverged");
    }
    if (!model_.segments.empty()) {
        const int kind = request_.segments ? request_.segments[span_.token + token] : 0;
        add_row(row, model_.segments.data() + static_cast<size_t>(kind) * model_.word_stride, model_.word_stride);
    }
}

void Chunk::embed() {
    const bool widens = model_.widen.packed().panels != nullptr;
    const int stride = model_.word_stride;
    float* words = widens ? work_.words.of(static_cast<size_t>(span_.tokens) * stride) : x_;
    for (int64_t sentence = 0, token = 0; sentence < span_.sentences; sentence++) {
        const int length = request_.lengths[span_.sentence + sentence];
        for (int place = 0; place < length; place++, token++) {
            float* row = words + token * stride;
            read_words(static_cast<int>(token), row);
            if (!model_.positions.empty()) {
                const size_t at = static_cast<size_t>(model_.first_position) + place;
                add_row(row, model_.positions.data() + at * stride, stride);
            }
            if (model_.norm.present()) model_.norm_row(model_.norm, row, row, model_.word_width, stride);
        }
    }
    watch_.lap(Work::embeddings);
    if (widens) {
        const Rows rows = rows_of(words, stride, stride, span_.tokens, work_.wide_rows, work_.wide_scales);
        round_all(rows.before(model_.widen), words, stride);
        multiply(model_.widen, rows, span_.tokens, nullptr, x_, model_.stride, nullptr);
    }
    if (!model_.pre_norm && model_.depth) {
        round_all(rows_.before(model_.blocks[model_.order[0]].qkv), x_, model_.stride);
    }
}

// On all threads of the team, calls `work` with each row's index and with memory for the row as matmuls read it.
template <class RowWork>
void Chunk::each_row(int count, const RowWork& work) {
    const int parts = team_.parts(count);
    const int widest = std::max({model_.stride, model_.word_stride, model_.query_stride, model_.inner_stride});
    float* scaled = work_.scaled.of(static_cast<size_t>(parts) * widest);
    team_.each(parts, [&](int part) {
        float* of_part = scaled + static_cast<size_t>(part) * widest;
        for (int i = count * part / parts, end = count * (part + 1) / parts; i < end; i++) work(i, of_part);
    });
}

// Normalizes some rows; if a matmul reads them next, also quantizes them while they are in the cache.
void Chunk::norm(const Norm& norm, const float* from, float* to, int row, int count, const Rows& rows) {
    const int stride = model_.stride;
    each_row(count, [&](int i, float* scaled) {
        const size_t at = static_cast<size_t>(row + i) * stride;
        float largest = 0.0F;
        if (norm.present()) {
            largest = model_.norm_row(norm, from + at, to + at, model_.width, stride);
        } else {
            if (from != to) std::memcpy(to + at, from + at, stride * sizeof(float));
            if (rows.rounded) largest = model_.kernels.largest(to + at, stride);
        }
        round(rows, i, to + at, largest, scaled);
    });
    watch_.lap(Work::norms);
}

Chunk::Rows Chunk::Rows::from(int row, int row_bytes) const {
    if (rounded == nullptr) return {floats + row * stride, nullptr, nullptr, stride};
    return {nullptr, rounded + row * stride * row_bytes, scales + row, stride};
}

// The rows of x as the scheme's matmuls read them; unless they stay floats, they have yet to be quantized.
Chunk::Rows Chunk::rows_of(const float* x, int stride, int inputs, int count, Buffer<uint8_t>& rows,
                           Buffer<float>& scales) {
    if (model_.scheme.prepare == nullptr) return {x, nullptr, nullptr, stride};
    return {nullptr, rows.of(static_cast<size_t>(count) * inputs * model_.scheme.row_bytes), scales.of(count), inputs};
}

void Chunk::round(const Rows& rows, int row, const float* x, float largest, float* scaled) {
    if (rows.rounded == nullptr) return;
    const int inputs = static_cast<int>(rows.stride);
    uint8_t* to = rows.rounded + static_cast<size_t>(row) * inputs * model_.scheme.row_bytes;
    if (work_.largest && rows.reader) record((*work_.largest)[rows.reader], x, inputs);
    if (const float* factors = rows.reader ? rows.reader->input_scales() : nullptr) {
        for (int i = 0; i < inputs; i++) scaled[i] = x[i] * factors[i];
        x = scaled;
        largest = model_.kernels.largest(scaled, inputs);
    }
    model_.scheme.prepare(x, inputs, largest, to, rows.scales + row);
}

void Chunk::round_all(const Rows& rows, const float* x, int stride) {
    each_row(rows.rounded ? span_.tokens : 0, [&](int i, float* scaled) {
        const float* row = x + static_cast<size_t>(i) * stride;
        round(rows, i, row, model_.kernels.largest(row, stride), scaled);
    });
    watch_.lap(Work::rounding);
}

int Chunk::panels_of(const Packed& weights) const {
    return (weights.outputs + model_.scheme.panel - 1) / model_.scheme.panel;
}

int Chunk::parts_of(const Packed& weights) const { return team_.parts(panels_of(weights)); }

// The first column of a part of a matmul; past the last column if there is no such part.
int Chunk::column_of(const Packed& weights, int part) const {
    return panels_of(weights) * part / parts_of(weights) * model_.scheme.panel;
}

void Chunk::multiply(const Weights& weights, const Rows& rows, int count, const float* residual, float* out,
                     long stride, const Weights* next) {
    const void* data = rows.rounded ? static_cast<const void*>(rows.rounded) : rows.floats;
    const Packed *these = &weights.packed(), *those = next ? &next->packed() : nullptr;
    const int parts = parts_of(*these);
    team_.each(parts, [&](int part) {
        const int coming = team_.next_part(part);
        const bool here = coming < parts;
        const int column = here ? column_of(*these, coming) : those ? column_of(*those, coming - parts) : 0;
        model_.scheme.multiply({data, rows.stride, rows.scales, count, these, residual, out, stride,
                                here ? these : those, column_of(*these, part), column_of(*these, part + 1), column});
    });
    watch_.lap(Work::products);
}

// x += a layer's output for the rows; some models first normalize that output.
void Chunk::add(const Weights& layer, const Norm& norm, const Rows& rows, int count, float* x, const Weights* next) {
    const int stride = model_.stride;
    if (!norm.present()) return multiply(layer, rows, count, x, x, stride, next);
    float* added = work_.added.of(static_cast<size_t>(count) * stride);
    multiply(layer, rows, count, nullptr, added, stride, next);
    for (int i = 0; i < count; i++, added += stride, x += stride) {
        model_.norm_row(norm, added, added, model_.width, stride);
        add_row(x, added, stride);
    }
    watch_.lap(Work::norms);
}

void Chunk::layer(const Block& block, const Block* next) {
    if (model_.pre_norm) norm(block.norm1, x_, context_, 0, span_.tokens, rows_.before(block.qkv));
    multiply(block.qkv, rows_, span_.tokens, nullptr, joined_, model_.joined_stride(), &block.out);
    if (block.query_norm.present()) norm_heads(block);
    if (block.rotates) rotate(block);
    attend(block);
    const int groups = (span_.tokens + GROUP - 1) / GROUP, size = (span_.tokens + groups - 1) / groups;
    for (int row = 0; row < span_.tokens; row += size) finish(block, next, row, std::min(size, span_.tokens - row));
}

// The cosines and sines for at least this many positions, reused across layers and chunks.
const float* Chunk::angles(const Block& block, int places) {
    const int half = model_.head_width / 2;
    work_.angles.resize(model_.rotations.size());
    const Rotation& rotation = model_.rotations[block.rotation];
    std::vector<float>& table = work_.angles[block.rotation];
    const size_t known = table.size() / (2 * half), wanted = places;
    if (known < wanted) table.resize(2 * wanted * half);
    for (size_t place = known; place < wanted; place++) {
        float* at = table.data() + 2 * place * half;
        for (int i = 0; i < half; i++) {
            const float power = static_cast<float>(2 * i) / static_cast<float>(2 * half);
            const auto speed = static_cast<float>(exponential(-power * logarithm(rotation.theta)) / rotation.stretch);
            const Angle angle(static_cast<float>(place) * speed);
            at[i] = static_cast<float>(angle.cosine);
            at[i + half] = static_cast<float>(angle.sine);
        }
    }
    return table.data();
}

// Normalizes each head's queries and keys. Norms read whole vectors, so each head is copied and padded with zeros.
void Chunk::norm_heads(const Block& block) {
    const int width = model_.head_width, stride = padded(width);
    float* head = work_.scaled.of(stride);
    std::fill_n(head, stride, 0.0F);
    const auto norm = [&](const Norm& norm, float* at, int heads) {
        for (const float* end = at + heads * width; at < end; at += width) {
            std::copy_n(at, width, head);
            model_.norm_row(norm, head, head, width, stride);
            std::copy_n(head, width, at);
        }
    };
    float* row = joined_;
    for (int token = 0; token < span_.tokens; token++, row += model_.joined_stride()) {
        norm(block.query_norm, row, model_.heads);
        norm(block.key_norm, row + model_.query_stride, model_.key_heads);
    }
    watch_.lap(Work::norms);
}

void Chunk::rotate(const Block& block) {
    const int half = model_.head_width / 2;
    const int32_t* lengths = request_.lengths + span_.sentence;
    const float* angles = this->angles(block, *std::max_element(lengths, lengths + span_.sentences));
    float* row = joined_;
    for (int64_t sentence = 0; sentence < span_.sentences; sentence++) {
        for (int place = 0; place < lengths[sentence]; place++, row += model_.joined_stride()) {
            const float* at = angles + 2 * static_cast<size_t>(place) * half;
            float* keys = row + model_.query_stride;
            for (int head = 0; head < model_.heads; head++) rotate_head(row + 2 * head * half, at, at + half, half);
            for (int head = 0; head < model_.key_heads; head++) rotate_head(keys + 2 * head * half, at, at + half, half);
        }
    }
    watch_.lap(Work::attention);
}

void Chunk::attend(const Block& block) {
    const int32_t* lengths = request_.lengths + span_.sentence;
    const int most = *std::max_element(lengths, lengths + span_.sentences), stride = model_.query_stride;
    const int parts = team_.parts(most > ALONE && model_.head_width % LANES == 0 ? model_.key_heads : 1);
    const auto size = static_cast<long>(attention_work(most, model_.head_width));
    float* work = work_.attention.of(parts * size);
    const auto attend = model_.scheme.weight_bytes == 1 ? model_.kernels.attend_rounded : model_.kernels.attend;
    const Rows rows = context_rows_.before(block.out);
    size_t token = 0;
    for (int64_t sentence = 0; sentence < span_.sentences; token += lengths[sentence++]) {
        Attention whole = attention_of(block, token, lengths[sentence]);
        whole.work = work;
        float* out = whole.out;
        if (model_.distance_rows.empty()) {
            team_.each(parts, [&](int part) {
                const int first = model_.key_heads * part / parts, end = model_.key_heads * (part + 1) / parts;
                Attention some = groups_of(whole, first, end - first);
                some.work += part * size;
                attend(some);
            });
        } else {
            for (int head = 0; head < model_.heads; head++) attend(one_head(whole, head, biases_of(block, whole, head)));
        }
        each_row(lengths[sentence], [&](int i, float* scaled) {
            float* row = out + static_cast<size_t>(i) * stride;
            std::fill(row + model_.heads * model_.head_width, row + stride, 0.0F);
            if (rows.rounded)
                round(rows, static_cast<int>(token) + i, row, model_.kernels.largest(row, stride), scaled);
        });
    }
    watch_.lap(Work::attention);
}

Attention Chunk::attention_of(const Block& block, size_t token, int tokens) {
    const float* joined = joined_ + token * model_.joined_stride();
    Attention whole{};
    whole.queries = joined;
    whole.keys = joined + model_.query_stride;
    whole.values = whole.keys + model_.key_stride;
    whole.stride = model_.joined_stride();
    whole.tokens = tokens;
    whole.heads = model_.heads;
    whole.width = model_.head_width;
    whole.group = model_.heads / model_.key_heads;
    whole.before = block.reach < 0 ? EVERY : block.reach;
    whole.behind = model_.causal ? 0 : whole.before;
    whole.divisor = model_.divisor;
    whole.bias = model_.relative.empty() ? nullptr : model_.relative.data() + model_.longest;
    whole.head_step = 2L * model_.longest;
    whole.key_step = -1;
    whole.out = attended_ + token * model_.query_stride;
    whole.out_stride = model_.query_stride;
    return whole;
}

// For each pair of tokens, dot products of queries with distance keys, and of distance queries with keys (He 2021).
const float* Chunk::biases_of(const Block& block, const Attention& a, int head) {
    const long stride = model_.distance_stride, step = padded(a.tokens);
    const size_t scores = static_cast<size_t>(a.tokens) * stride;
    float *queries = work_.seen_by_queries.of(scores), *keys = work_.seen_by_keys.of(scores);
    float* biases = work_.biases.of(static_cast<size_t>(a.tokens) * step);
    const auto multiply = [&](const float* rows, const Weights& weights, float* out) {
        model_.kernels.fp32.multiply({rows + static_cast<size_t>(head) * a.width, a.stride, nullptr, a.tokens, &weights.packed(),
                                      nullptr, out, stride, nullptr});
    };
    multiply(a.queries, block.distance_keys[head], queries);
    multiply(a.keys, block.distance_queries[head], keys);
    const float factor = LOG2_E / a.divisor;
    for (int key = 0; key < a.tokens; key++) {
        const int* rows = model_.distance_rows.data() + model_.longest - key;
        float* to = biases + key * step;
        for (int query = 0; query < a.tokens; query++)
            to[query] = (queries[query * stride + rows[query]] + keys[key * stride + rows[query]]) * factor;
        std::fill(to + a.tokens, to + step, 0.0F);
    }
    return biases;
}

// The rest of the block after attention, for some rows.
void Chunk::finish(const Block& block, const Block* next, int row, int count) {
    const int stride = model_.stride, inner = model_.inner_stride, wide_stride = model_.gated ? 2 * inner : inner;
    const int row_bytes = model_.scheme.row_bytes;
    float* x = x_ + static_cast<size_t>(row) * stride;
    float* normed = model_.pre_norm ? context_ : x_;
    float* wide = work_.wide.of(static_cast<size_t>(count) * wide_stride);
    const bool last = row + count == span_.tokens;
    add(block.out, block.out_norm, context_rows_.from(row, row_bytes), count, x, &block.up);
    // The inputs of the queries, or the attention output, are no longer needed, so their memory is reused.
    const Rows rows = (model_.pre_norm ? rows_ : context_rows_).from(row, row_bytes);
    const Rows read = rows.rounded ? rows : Rows{normed + static_cast<size_t>(row) * stride, nullptr, nullptr, stride};
    norm(model_.pre_norm ? block.norm2 : block.norm1, x_, normed, row, count, read.before(block.up));
    multiply(block.up, read, count, nullptr, wide, wide_stride, &block.down);
    const Rows inner_rows =
        rows_of(wide, wide_stride, inner, count, work_.wide_rows, work_.wide_scales).before(block.down);
    each_row(count, [&](int i, float* scaled) {
        float* at = wide + static_cast<size_t>(i) * wide_stride;
        round(inner_rows, i, at, activate(at), scaled);
    });
    watch_.lap(Work::activations);
    add(block.down, block.down_norm, inner_rows, count, x, last ? (next ? &next->qkv : nullptr) : &block.out);
    if (!model_.pre_norm)
        norm(block.norm2, x_, x_, row, count, next ? rows_.from(row, row_bytes).before(next->qkv) : Rows{});
}

float Chunk::activate(float* row) {
    const int inner = model_.inner_stride;
    return model_.gated ? model_.kernels.gate(row, row + inner, inner, model_.activation)
                        : model_.kernels.activate(row, inner, model_.activation);
}

void Chunk::write_layer(int layer) {
    if (request_.layers == nullptr || layer < request_.first_layer) return;
    const int64_t width = model_.width;
    float* to = request_.layers + ((layer - request_.first_layer) * request_.tokens + span_.token) * width;
    for (int row = 0; row < span_.tokens; row++) {
        std::memcpy(to + row * width, x_ + static_cast<size_t>(row) * model_.stride, width * sizeof(float));
    }
}

void Chunk::pool() {
    const int width = reduction_count(request_.reductions) * model_.width;
    size_t token = 0;
    for (int64_t i = span_.sentence; i < span_.sentence + span_.sentences; token += request_.lengths[i++]) {
        reduce(x_ + token * model_.stride, model_.stride, request_.lengths[i], skipped(i), model_.width,
               request_.reductions, pooled_ + (i - span_.sentence) * width);
    }
}

}  // namespace likewise
