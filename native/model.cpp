// Validates the description of a model and builds the model.
#include "model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "failure.h"
#include "functions.h"
#include "smoothing.h"
#include "workspace.h"

namespace likewise {
namespace {

constexpr int LARGEST_SIZE = 65536;  // of a layer; up to this size, integer sums fit in 32 bits
constexpr int LARGEST_TABLE = 1 << 24;

void check_between(const char* name, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return;
    fail(LW_BAD_DESCRIPTION, name, " is ", value, "; wanted ", least, " to ", most);
}

// In eight bits, the quantization error exceeds that of the rough version.
Activation activation_of(const lw_description& d) {
    const auto named = static_cast<Activation>(d.activation);
    return d.precision == LW_AS_INT8 && named == Activation::gelu ? Activation::rough_gelu : named;
}

// Half the buckets per direction: one per short distance, log-spaced for long ones (as in T5).
int bucket(int offset, int buckets) {
    const int half = buckets / 2, near = half / 2, distance = std::abs(offset);
    const int side = offset > 0 ? half : 0;
    if (distance < near) return side + distance;
    const float scale = static_cast<float>((half - near) / logarithm(128.0 / near));
    const float steps = static_cast<float>(logarithm(static_cast<float>(distance) / static_cast<float>(near))) * scale;
    return side + std::min(half - 1, near + static_cast<int>(steps));
}

// The row of a signed distance: one per short distance, log-spaced for long ones (DeBERTa). Not inlined, because
// Emscripten 3.1.6 would vectorize the loop around it and get wrong rows.
[[gnu::noinline]] int distance_row(int distance, int buckets, int farthest) {
    const int near = buckets / 2, far = std::abs(distance);
    if (far <= near) return distance + buckets;
    const double share = logarithm(static_cast<double>(far) / near) / logarithm(static_cast<double>(farthest - 1) / near);
    const int bucket = static_cast<int>(std::ceil(share * (near - 1))) + near;
    return std::min(std::max((distance < 0 ? -bucket : bucket) + buckets, 0), 2 * buckets - 1);
}

}  // namespace

const lw_description& checked(const lw_description& d) {
    check_between("version", d.version, LW_VERSION, LW_VERSION);
    check_between("precision", d.precision, LW_AS_FP32, LW_AS_INT8);
    check_between("vocabulary", d.vocabulary, 1, LARGEST_TABLE);
    check_between("width", d.width, 1, LARGEST_SIZE / 4);
    check_between("word width", d.word_width, 1, LARGEST_SIZE / 4);
    check_between("depth", d.depth, 0, 1024);
    check_between("heads", d.heads, 1, d.width);
    check_between("inner", d.inner, d.depth ? 1 : 0, LARGEST_SIZE / 4);
    check_between("longest", d.longest, 1, LARGEST_TABLE);
    check_between("first position", d.first_position, 0, LARGEST_TABLE);
    check_between("activation", d.activation, LW_GELU, LW_MISH);
    check_between("gated", d.gated, 0, 2);
    check_between("alibi", d.alibi, 0, d.relative.data ? 0 : 1);
    check_between("relative positions beside distances", d.distances.data && (d.relative.data || d.alibi), 0, 0);
    check_between("rms", d.rms, 0, 1);
    if (!(d.divisor >= 0.0F) || !std::isfinite(d.divisor)) fail(LW_BAD_DESCRIPTION, "the divisor of scores is below 0");
    check_between("number of blocks", d.block_count, d.depth ? 1 : 0, 1024);
    if (d.head_width == 0) check_between("width beside heads", d.width % d.heads, 0, 0);
    check_between("a head's width", d.head_width, 0, LARGEST_SIZE / 4 / d.heads);
    if (d.head_width) check_between("pre_norm, with a head's width,", d.pre_norm, 1, 1);
    check_between("key-value heads", d.key_heads, 0, d.heads);
    if (d.key_heads) check_between("heads modulo key-value heads", d.heads % d.key_heads, 0, 0);
    check_between("grouped heads beside distances", d.distances.data && (d.key_heads || d.head_width), 0, 0);
    check_between("causal", d.causal, 0, 1);
    check_between("one_more", d.one_more, 0, 1);
    if (!(d.word_scale >= 0.0F) || !std::isfinite(d.word_scale)) fail(LW_BAD_DESCRIPTION, "the scale of words is below 0");
    if (!(d.eps >= 0.0F) || !std::isfinite(d.eps)) fail(LW_BAD_DESCRIPTION, "eps is negative or not finite");
    if (d.depth && d.blocks == nullptr) fail(LW_BAD_DESCRIPTION, "there are no blocks");
    if (d.words.data == nullptr || (d.words.type == LW_INT8 && d.words.scales == nullptr)) {
        fail(LW_BAD_DESCRIPTION, "there is no table of words");
    }
    check_between("type of words", d.words.type, LW_FP32, LW_INT8);
    check_between("rows of words", d.words.rows, d.vocabulary, LARGEST_TABLE);
    check_between("columns of words", d.words.columns, d.word_width, d.word_width);
    if (d.widen.weight.data == nullptr)
        check_between("word width, nothing widening it,", d.word_width, d.width, d.width);
    return d;
}

const Scheme& scheme_of(const Kernels& kernels, int precision) {
    if (precision == LW_AS_BF16) return kernels.bf16;
    return precision == LW_AS_INT8 ? kernels.int8 : kernels.fp32;
}

Model::Model(const lw_description& d, const Kernels& kernels)
    : Model(Smoothed(d, kernels).description(), kernels, nullptr) {}

Model::Model(const lw_description& d, const Kernels& kernels, std::nullptr_t)
    : kernels(kernels),
      scheme(scheme_of(kernels, checked(d).precision)),
      vocabulary(d.vocabulary),
      width(d.width),
      word_width(d.word_width),
      depth(d.depth),
      heads(d.heads),
      inner(d.inner),
      longest(d.longest),
      first_position(d.first_position),
      key_heads(d.key_heads ? d.key_heads : d.heads),
      head_width(d.head_width ? d.head_width : d.width / d.heads),
      stride(padded(d.width)),
      word_stride(padded(d.word_width)),
      inner_stride(padded(d.inner)),
      query_stride(padded(heads * head_width)),
      key_stride(padded(key_heads * head_width)),
      activation(activation_of(d)),
      pre_norm(d.pre_norm != 0),
      gated(d.gated != 0),
      gates_first(d.gated == 2),
      rms(d.rms != 0),
      causal(d.causal != 0),
      one_more(d.one_more != 0),
      eps(d.eps),
      divisor(d.divisor == 0.0F ? std::sqrt(static_cast<float>(head_width)) : d.divisor),
      word_scale(d.word_scale == 0.0F ? 1.0F : d.word_scale),
      words(d.words),
      segment_kinds(0) {
    read_embeddings(d);
    for (int i = 0; i < d.block_count; i++) blocks.push_back(read_block(d.blocks[i]));
    for (int i = 0; i < depth; i++) {
        order.push_back(d.order ? d.order[i] : i);
        check_between("a block's number", order.back(), 0, d.block_count - 1);
    }
    last_norm = read_norm(d.last_norm, width, "the last norm");
    distances_ = {};
}

Norm Model::read_norm(const lw_linear& norm, int width, const char* what) const {
    if (norm.weight.data == nullptr) return {};
    Norm found = {read_all(norm.weight, 1, width, padded(width), what), read_all(norm.bias, 1, width, padded(width), what)};
    for (int i = 0; one_more && i < width; i++) found.weight[i] += 1.0F;
    return found;
}

Model::~Model() {
    Pool* pool = pool_.load();
    if (pool && pool->here()) delete pool;  // do not touch the pool of another process
}

void Model::read_embeddings(const lw_description& d) {
    if (d.positions.data) {
        check_between("rows of positions", d.positions.rows, int64_t{d.first_position} + d.longest, LARGEST_TABLE);
        positions = read_all(d.positions, static_cast<int>(d.positions.rows), word_width, word_stride, "positions");
    }
    if (d.segments.data) {
        check_between("rows of segments", d.segments.rows, 1, LARGEST_TABLE);
        segment_kinds = static_cast<int>(d.segments.rows);
        segments = read_all(d.segments, segment_kinds, word_width, word_stride, "segments");
    }
    norm = read_norm(d.norm, word_width, "the embeddings' norm");
    if (d.widen.weight.data) {
        widen = Weights({{&d.widen, 0, width}}, word_width, scheme, d.precision == LW_AS_INT8,
                        "the embeddings' widening", arena);
    }
    if (d.relative.data) read_relative(d.relative);
    if (d.alibi) fill_alibi();
    if (d.distances.data) read_distances(d);
}

void Model::read_distances(const lw_description& d) {
    check_between("rows of distances", d.distances.rows, 4, LARGEST_SIZE);
    const int rows = static_cast<int>(d.distances.rows), buckets = rows / 2;
    check_between("the farthest distance", d.farthest, buckets / 2 + 3, LARGEST_TABLE);
    check_between("longest, with distances,", longest, 1, LARGEST_SIZE);
    distances_ = read_all(d.distances, rows, width, stride, "vectors of distances");
    const Norm norm = read_norm(d.distance_norm, width, "the norm of distances");
    for (int row = 0; row < rows && norm.present(); row++) {
        float* at = distances_.data() + static_cast<size_t>(row) * stride;
        kernels.layer_norm(at, at, width, stride, norm.weight.data(), norm.bias.data(), eps);
    }
    distance_stride = padded(rows);
    for (int distance = -longest; distance < longest; distance++)
        distance_rows.push_back(distance_row(distance, buckets, d.farthest));
}

// Queries or keys of distances, computed like those of tokens, but always in fp32; packed per head.
void Model::project_distances(const lw_linear& layer, std::vector<Weights>& to) {
    const int rows = static_cast<int>(distances_.size() / stride), head_width = this->head_width;
    check_between("rows of queries and keys, with distances,", layer.weight.rows, width, width);
    check_between("columns of queries and keys, with distances,", layer.weight.columns, width, width);
    std::vector<float> weight(static_cast<size_t>(width) * width), found(static_cast<size_t>(rows) * stride);
    for (int i = 0; i < width; i++) {
        float* row = weight.data() + static_cast<size_t>(i) * width;
        read_row(layer.weight, i, row);
        const bool scaled = layer.input_scales && layer.weight.type == LW_INT8;
        for (int j = 0; scaled && j < width; j++) row[j] *= layer.input_scales[j];
    }
    Arena scratch;
    const lw_linear plain = {{weight.data(), nullptr, width, width, LW_FP32}, layer.bias, nullptr};
    const Weights all({{&plain, 0, width}}, width, kernels.fp32, false, "queries and keys", scratch);
    kernels.fp32.multiply({distances_.data(), stride, nullptr, rows, &all.packed(), nullptr, found.data(), stride, nullptr});
    std::vector<float> own(static_cast<size_t>(rows) * head_width);
    const lw_linear head_layer = {{own.data(), nullptr, rows, head_width, LW_FP32}, {}, nullptr};
    for (int head = 0; head < heads; head++) {
        for (int row = 0; row < rows; row++)
            std::copy_n(found.data() + static_cast<size_t>(row) * stride + head * head_width, head_width,
                        own.data() + static_cast<size_t>(row) * head_width);
        to.emplace_back(std::vector<Part>{{&head_layer, 0, rows}}, head_width, kernels.fp32, false, "distances", arena);
    }
}

// Biases for every head and distance, scaled for powers of two. Attention loads whole vectors of queries, up to 15
// past the end of the sentence.
template <class Bias>
void Model::fill_relative(Bias bias) {
    check_between("longest, with relative positions,", longest, 1, LARGEST_SIZE);
    relative.resize((2 * static_cast<size_t>(longest)) * heads + LANES);
    for (int distance = 1 - longest; distance < longest; distance++) {  // query - key
        bias(distance, relative.data() + longest + distance);
    }
}

// Slopes of Press et al. 2022: powers of 2^(-8 / n) for n heads, if n is a power of two; otherwise as in shapes.py.
void Model::fill_alibi() {
    int power = 1;
    while (2 * power <= heads) power *= 2;
    std::vector<float> slopes;
    for (int i = 0; i < heads; i++) {
        const double of = i < power ? -8.0 * (i + 1) / power : -4.0 * (2 * (i - power) + 1) / power;
        slopes.push_back(static_cast<float>(exponential(of * logarithm(2.0))));
    }
    fill_relative([&](int distance, float* at) {
        for (int head = 0; head < heads; head++)
            at[2 * static_cast<size_t>(longest) * head] = slopes[head] * static_cast<float>(-std::abs(distance)) * LOG2_E;
    });
}

void Model::read_relative(const lw_tensor& tensor) {
    check_between("buckets of relative positions", tensor.rows, 4, LARGEST_SIZE);
    const int buckets = static_cast<int>(tensor.rows);
    const std::vector<float> table = read_all(tensor, buckets, heads, heads, "relative positions");
    fill_relative([&](int distance, float* at) {
        const float* row = table.data() + bucket(-distance, buckets) * heads;  // a bucket's distance is key - query
        for (int head = 0; head < heads; head++) at[2 * static_cast<size_t>(longest) * head] = row[head] * LOG2_E;
    });
}

Block Model::read_block(const lw_block& b) {
    Block made;
    const bool int8 = scheme.weight_bytes == 1;
    const bool apart = b.key.weight.data != nullptr;
    const lw_linear *key = apart ? &b.key : &b.query, *value = apart ? &b.value : &b.query;
    const int queries = heads * head_width, keys = key_heads * head_width;
    const std::vector<Part> qkv = {
        {&b.query, 0, queries}, {key, apart ? 0 : queries, keys}, {value, apart ? 0 : queries + keys, keys}};
    const bool one = gated && b.gate.weight.data == nullptr;
    std::vector<Part> up = {{&b.up, one && gates_first ? inner : 0, inner}};
    if (gated) up.push_back(one ? Part{&b.up, gates_first ? 0 : inner, inner} : Part{&b.gate, 0, inner});
    made.qkv = Weights(qkv, width, scheme, int8, "queries, keys and values", arena);
    made.out = Weights({{&b.out, 0, width}}, queries, scheme, int8, "attention's output", arena);
    made.up = Weights(up, width, scheme, int8, "the network's first layer", arena);
    made.down = Weights({{&b.down, 0, width}}, inner, scheme, int8, "the network's second layer", arena);
    made.norm1 = read_norm(b.norm1, width, "a block's first norm");
    made.norm2 = read_norm(b.norm2, width, "a block's second norm");
    made.query_norm = read_norm(b.query_norm, head_width, "the norm of queries");
    made.key_norm = read_norm(b.key_norm, head_width, "the norm of keys");
    made.out_norm = read_norm(b.out_norm, width, "the norm of attention's output");
    made.down_norm = read_norm(b.down_norm, width, "the norm of the network's output");
    if (!distances_.empty()) project_distances(b.query, made.distance_queries);
    if (!distances_.empty()) project_distances(b.key, made.distance_keys);
    made.reach = b.reach < 0 ? -1 : b.reach;
    made.rotates = b.theta != 0.0F;
    if (made.rotates) made.rotation = rotation_of({b.theta, b.stretch == 0.0F ? 1.0F : b.stretch});
    return made;
}

// The index of a rotation in the model's list; a new rotation is added to the list.
size_t Model::rotation_of(const Rotation& rotation) {
    const auto check = [](float value, const char* name) {
        if (!(value > 0.0F) || !std::isfinite(value))
            fail(LW_BAD_DESCRIPTION, name, " is not above 0, or is infinite");
    };
    check(rotation.theta, "a rotary base");
    check(rotation.stretch, "the divisor of rotary angles");
    check_between("a rotary head's width beside 2", head_width % 2, 0, 0);
    const size_t number = std::find(rotations.begin(), rotations.end(), rotation) - rotations.begin();
    if (number == rotations.size()) rotations.push_back(rotation);
    return number;
}

size_t Model::bytes() const {
    size_t total = (positions.size() + segments.size() + relative.size()) * sizeof(float) + widen.bytes();
    for (const Block& b : blocks) {
        total += b.qkv.bytes() + b.out.bytes() + b.up.bytes() + b.down.bytes();
        for (const auto* parts : {&b.distance_queries, &b.distance_keys})
            for (const Weights& part : *parts) total += part.bytes();
    }
    return total;
}

std::unique_ptr<Workspace> Model::borrow() const { return spares_.borrow(); }

void Model::give_back(std::unique_ptr<Workspace> workspace) const {
    constexpr size_t MOST_BYTES = 64U << 20U;  // memory for very long texts is released
    if (workspace->bytes() <= MOST_BYTES) spares_.give_back(std::move(workspace));
}

Pool& Model::pool() const { return pool_of(pool_); }

}  // namespace likewise
