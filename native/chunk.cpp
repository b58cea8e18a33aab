// Sentences through the layers: embeddings, then blocks of attention and network, rows in groups that stay in cache.
#include "chunk.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "failure.h"

namespace likewise {
namespace {

constexpr int GROUP = 96;  // rows at most that go from attention to the end of a block together

void add_row(float* x, const float* more, int count) {
    for (int i = 0; i < count; i++) x[i] += more[i];
}

// Turns each pair (x[i], x[i + width / 2]) of a head by its token's angle (Su et al. 2021, in halves).
void rotate_head(float* x, const float* cosines, const float* sines, int half) {
    for (int i = 0; i < half; i++) {
        const float left = x[i], right = x[i + half];
        x[i] = left * cosines[i] - right * sines[i];
        x[i + half] = right * cosines[i] + left * sines[i];
    }
}

}  // namespace

Chunk::Chunk(const Model& model, const lw_request& request, const Span& span, int64_t all_tokens, Workspace& work,
             Stopwatch& watch)
    : model_(model), request_(request), span_(span), all_tokens_(all_tokens), work_(work), watch_(watch) {
    const size_t tokens = span.tokens;
    x_ = work.states.of(tokens * model.stride);
    joined_ = work.joined.of((tokens + LANES) * 3 * model.stride + LANES);  // attention reads whole vectors of rows
    context_ = work.context.of(tokens * model.stride);
    largest_ = work.largest.of(tokens);
}

void Chunk::run() {
    embed();
    write_layer(0);
    for (int i = 0; i < request_.last_layer; i++) {
        layer(model_.blocks[model_.order[i]],
              i + 1 < request_.last_layer ? &model_.blocks[model_.order[i + 1]] : nullptr);
        const bool last = i + 1 == model_.depth;
        if (last && model_.last_norm.present()) norm(model_.last_norm, x_, x_, 0, span_.tokens);
        write_layer(i + 1);
    }
    if (request_.pooled) pool();
    watch_.lap(Work::rest);
}

void Chunk::read_words(int token, float* row) {
    const int id = request_.ids[span_.token + token];
    read_row(model_.words, id, row);
    std::fill(row + model_.word_width, row + model_.word_stride, 0.0F);
    if (!all_finite(row, model_.word_width)) {
        throw Failure(BAD_WEIGHTS, "the vector of word " + std::to_string(id) +
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
            if (model_.norm.present()) {
                largest_[token] =
                    model_.kernels.layer_norm(row, row, model_.word_width, stride, model_.norm.weight.data(),
                                              model_.norm.bias.data(), model_.eps);
            } else {
                largest_[token] = model_.kernels.largest(row, stride);
            }
        }
    }
    watch_.lap(Work::embeddings);
    if (!widens) return;
    multiply(model_.widen, rows_of(words, stride, stride, 0, span_.tokens, false), span_.tokens, nullptr, x_,
             model_.stride, nullptr);
    for (int row = 0; row < span_.tokens; row++) {
        largest_[row] = model_.kernels.largest(x_ + static_cast<size_t>(row) * model_.stride, model_.stride);
    }
}

void Chunk::norm(const Norm& norm, const float* from, float* to, int row, int count) {
    for (int i = row; i < row + count; i++) {
        const size_t at = static_cast<size_t>(i) * model_.stride;
        if (norm.present()) {
            largest_[i] = model_.kernels.layer_norm(from + at, to + at, model_.width, model_.stride, norm.weight.data(),
                                                    norm.bias.data(), model_.eps);
        } else {
            if (from != to) std::memcpy(to + at, from + at, model_.stride * sizeof(float));
            largest_[i] = model_.kernels.largest(to + at, model_.stride);
        }
    }
    watch_.lap(Work::norms);
}

// Rows as the scheme's products read them; `largest_` holds their largest magnitudes.
Chunk::Rows Chunk::rows_of(const float* x, int stride, int inputs, int row, int count, bool wide) {
    const Scheme& scheme = model_.scheme;
    if (scheme.prepare == nullptr) return {x, stride, nullptr};
    uint8_t* rows = (wide ? work_.wide_rows : work_.rows).of(static_cast<size_t>(count) * inputs * scheme.row_bytes);
    float* scales = (wide ? work_.wide_scales : work_.scales).of(count);
    for (int i = 0; i < count; i++) {
        uint8_t* to = rows + static_cast<size_t>(i) * inputs * scheme.row_bytes;
        scheme.prepare(x + static_cast<size_t>(i) * stride, inputs, largest_[row + i], to, scales + i);
    }
    watch_.lap(Work::rounding);
    return {rows, inputs, scales};
}

void Chunk::multiply(const Weights& weights, const Rows& rows, int count, const float* residual, float* out,
                     long stride, const Weights* next) {
    model_.scheme.multiply({rows.data, rows.stride, rows.scales, count, &weights.packed(), residual, out, stride,
                            next ? &next->packed() : nullptr});
    watch_.lap(Work::products);
}

void Chunk::layer(const Block& block, const Block* next) {
    const float* from = x_;
    if (model_.pre_norm) {
        norm(block.norm1, x_, context_, 0, span_.tokens);
        from = context_;
    }
    const Rows rows = rows_of(from, model_.stride, model_.stride, 0, span_.tokens, false);
    multiply(block.qkv, rows, span_.tokens, nullptr, joined_, 3L * model_.stride, &block.out);
    if (block.theta > 0.0F) rotate(block);
    attend(block);
    const int groups = (span_.tokens + GROUP - 1) / GROUP, size = (span_.tokens + groups - 1) / groups;
    for (int row = 0; row < span_.tokens; row += size) finish(block, next, row, std::min(size, span_.tokens - row));
}

void Chunk::rotate(const Block& block) {
    const int half = model_.head_width() / 2;
    const int32_t* lengths = request_.lengths + span_.sentence;
    const int most = *std::max_element(lengths, lengths + span_.sentences);
    float* angles = work_.angles.of(2 * static_cast<size_t>(most) * half);
    for (int place = 0; place < most; place++) {
        float* at = angles + 2 * static_cast<size_t>(place) * half;
        for (int i = 0; i < half; i++) {
            const float speed = std::pow(block.theta, -static_cast<float>(2 * i) / static_cast<float>(2 * half));
            at[i] = std::cos(static_cast<float>(place) * speed);
            at[i + half] = std::sin(static_cast<float>(place) * speed);
        }
    }
    float* row = joined_;
    for (int64_t sentence = 0; sentence < span_.sentences; sentence++) {
        for (int place = 0; place < lengths[sentence]; place++, row += 3L * model_.stride) {
            const float* at = angles + 2 * static_cast<size_t>(place) * half;
            for (int head = 0; head < model_.heads; head++) {
                rotate_head(row + 2 * head * half, at, at + half, half);
                rotate_head(row + model_.stride + 2 * head * half, at, at + half, half);
            }
        }
    }
    watch_.lap(Work::attention);
}

void Chunk::attend(const Block& block) {
    const int32_t* lengths = request_.lengths + span_.sentence;
    const int most = *std::max_element(lengths, lengths + span_.sentences), stride = model_.stride;
    float* work = work_.attention.of(attention_work(most, model_.head_width()));
    const float* relative = model_.relative.empty() ? nullptr : model_.relative.data();
    size_t token = 0;
    for (int64_t sentence = 0; sentence < span_.sentences; token += lengths[sentence++]) {
        const float* joined = joined_ + token * 3 * stride;
        float* out = context_ + token * stride;
        model_.kernels.attend({joined, joined + stride, joined + 2 * stride, 3L * stride, lengths[sentence],
                               model_.heads, model_.head_width(), block.reach, relative, model_.longest, out, stride,
                               work});
        for (int i = 0; i < lengths[sentence]; i++) {
            float* row = out + static_cast<size_t>(i) * stride;
            std::fill(row + model_.width, row + stride, 0.0F);
            if (model_.scheme.prepare) largest_[token + i] = model_.kernels.largest(row, stride);
        }
    }
    watch_.lap(Work::attention);
}

// From attention's result to the end of the block, for some rows.
void Chunk::finish(const Block& block, const Block* next, int row, int count) {
    const int stride = model_.stride, inner = model_.inner_stride, wide_stride = model_.gated ? 2 * inner : inner;
    float* x = x_ + static_cast<size_t>(row) * stride;
    float* context = context_ + static_cast<size_t>(row) * stride;
    const bool last = row + count == span_.tokens;
    float* wide = work_.wide.of(static_cast<size_t>(std::min(GROUP, span_.tokens)) * wide_stride);
    multiply(block.out, rows_of(context, stride, stride, row, count, true), count, x, x, stride, &block.up);
    norm(model_.pre_norm ? block.norm2 : block.norm1, x_, model_.pre_norm ? context_ : x_, row, count);
    const Rows rows = rows_of(model_.pre_norm ? context : x, stride, stride, row, count, true);
    multiply(block.up, rows, count, nullptr, wide, wide_stride, &block.down);
    for (int i = 0; i < count; i++) {
        float* at = wide + static_cast<size_t>(i) * wide_stride;
        largest_[row + i] = model_.gated ? model_.kernels.gate(at, at + inner, inner, model_.activation)
                                         : model_.kernels.activate(at, inner, model_.activation);
    }
    watch_.lap(Work::activations);
    multiply(block.down, rows_of(wide, wide_stride, inner, row, count, true), count, x, x, stride,
             last ? (next ? &next->qkv : nullptr) : &block.out);
    if (!model_.pre_norm) norm(block.norm2, x_, x_, row, count);
}

void Chunk::write_layer(int layer) {
    if (request_.layers == nullptr || layer < request_.first_layer) return;
    const int64_t width = model_.width;
    float* to = request_.layers + ((layer - request_.first_layer) * all_tokens_ + span_.token) * width;
    for (int row = 0; row < span_.tokens; row++) {
        std::memcpy(to + row * width, x_ + static_cast<size_t>(row) * model_.stride, width * sizeof(float));
    }
}

void Chunk::pool() {
    int parts = 0;
    for (int bit = LW_CLS; bit <= LW_LAST; bit *= 2) parts += (request_.reductions & bit) != 0;
    size_t token = 0;
    for (int64_t i = span_.sentence; i < span_.sentence + span_.sentences; token += request_.lengths[i++]) {
        const int skip = request_.skips ? std::min(request_.skips[i], request_.lengths[i] - 1) : 0;
        reduce(x_ + token * model_.stride, model_.stride, request_.lengths[i], skip, model_.width, request_.reductions,
               request_.pooled + i * parts * model_.width);
    }
}

}  // namespace likewise
