// The C interface, which catches every exception.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "embedder.h"
#include "failure.h"
#include "heads.h"
#include "likewise_native.h"
#include "model.h"
#include "scan.h"
#include "text/tokenizer.h"

struct lw_model {
    likewise::Model model;
};

struct lw_heads {
    likewise::Heads heads;
};

struct lw_embedder {
    likewise::Embedder embedder;
};

struct lw_tokenizer {
    likewise::text::Tokenizer tokenizer;
};

namespace {

using namespace likewise;

void write_message(char* message, size_t size, const char* text) {
    if (message && size) std::snprintf(message, size, "%s", text);
}

template <class Function>
int32_t guarded(char* message, size_t size, Function function) {
    try {
        write_message(message, size, "");
        function();
        return LW_OK;
    } catch (const Failure& failure) {
        write_message(message, size, failure.what());
        return failure.code;
    } catch (const std::exception& error) {
        const bool full = dynamic_cast<const std::bad_alloc*>(&error) || dynamic_cast<const std::length_error*>(&error);
        write_message(message, size, full ? "there is not enough memory" : error.what());
        return full ? LW_NO_MEMORY : LW_INTERNAL;
    }
}

// The result of `make`, or null with a code and a message.
template <class Made, class Function>
Made* created(int32_t* code, char* message, size_t size, Function make) {
    Made* made = nullptr;
    const int32_t found = guarded(message, size, [&] { made = make(); });
    if (code) *code = found;
    return made;
}

const Kernels& chosen(const char* instructions) {
    return kernels_named(instructions ? instructions : std::getenv("LIKEWISE_ISA"));
}

// a, b and out as in lw_product, packed and rounded in the same way as a model's products.
void product(const Kernels& kernels, int32_t precision, const float* a, const float* b, const float* bias,
             const float* residual, size_t m, size_t n, size_t k, float* out) {
    const Scheme& scheme = scheme_of(kernels, precision);
    const bool int8 = precision == LW_AS_INT8;
    const std::vector<int8_t> bytes(b, b + (int8 ? n * k : 0));
    const std::vector<float> ones(n, 1.0F);
    lw_linear linear{};
    linear.weight = {int8 ? static_cast<const void*>(bytes.data()) : b, ones.data(), static_cast<int64_t>(n),
                     static_cast<int64_t>(k), int8 ? LW_INT8 : LW_FP32};
    if (bias) linear.bias = {bias, nullptr, 1, static_cast<int64_t>(n), LW_FP32};
    Arena arena;
    const int columns = static_cast<int>(n), rows = static_cast<int>(m);
    const Weights weights({{&linear, 0, columns}}, static_cast<int>(k), scheme, int8, "b", arena);
    const int inputs = padded(static_cast<int>(k)), outputs = padded(columns);
    std::vector<float> x(m * inputs), y(m * outputs), scales(m);
    std::vector<uint8_t> rounded(x.size() * scheme.row_bytes);
    for (size_t i = 0; i < m; i++) {
        float* row = x.data() + i * inputs;
        std::copy_n(a + i * k, k, row);
        if (scheme.prepare) {
            scheme.prepare(row, inputs, 127.0F, rounded.data() + i * inputs * scheme.row_bytes, scales.data() + i);
        }
        if (residual) std::copy_n(residual + i * n, n, y.data() + i * outputs);
    }
    const void* data = scheme.prepare ? static_cast<const void*>(rounded.data()) : x.data();
    scheme.multiply(
        {data, inputs, scales.data(), rows, &weights.packed(), residual ? y.data() : nullptr, y.data(), outputs});
    for (size_t i = 0; i < m; i++) std::copy_n(y.data() + i * outputs, n, out + i * n);
}

}  // namespace

int32_t lw_version(void) { return LW_VERSION; }

int32_t lw_arithmetic(void) { return LW_ARITHMETIC; }

const char* lw_instruction_sets(void) { return kernels_here(); }

lw_model* lw_create(const lw_description* description, const char* instructions, int32_t* code, char* message,
                    size_t size) {
    return created<lw_model>(code, message, size, [&] {
        if (description == nullptr) fail(LW_BAD_DESCRIPTION, "there is no description");
        return new lw_model{{*description, chosen(instructions)}};
    });
}

void lw_free(lw_model* model) { delete model; }

const char* lw_model_instructions(const lw_model* model) { return model->model.kernels.name; }

int64_t lw_model_bytes(const lw_model* model) { return static_cast<int64_t>(model->model.bytes()); }

const float* lw_input_scales(const lw_model* model, int32_t block, int32_t network) {
    const std::vector<Block>& blocks = model->model.blocks;
    if (block < 0 || static_cast<size_t>(block) >= blocks.size()) return nullptr;
    const Block& found = blocks[block];
    return (network ? found.up : found.qkv).input_scales();
}

int32_t lw_run(const lw_model* model, const lw_request* request, char* message, size_t size) {
    return guarded(message, size, [&] {
        if (model == nullptr || request == nullptr) fail(LW_BAD_INPUT, "there is no model, or no request");
        run(model->model, *request, request->heads ? &request->heads->heads : nullptr);
    });
}

lw_tokenizer* lw_tokenizer_create(const char* json, size_t bytes, int32_t* code, char* message, size_t size) {
    return created<lw_tokenizer>(code, message, size, [&] { return new lw_tokenizer{text::Tokenizer({json, bytes})}; });
}

void lw_tokenizer_free(lw_tokenizer* tokenizer) { delete tokenizer; }

int32_t lw_tokenize(const lw_tokenizer* tokenizer, const char* texts, size_t bytes, const int64_t* lengths,
                    int64_t count, int32_t spans, lw_tokens* out, char* message, size_t size) {
    return guarded(message, size, [&] {
        auto tokens = std::make_unique<text::Tokens>();
        tokenizer->tokenizer.encode(texts, bytes, lengths, count, spans != 0, *tokens);
        static_assert(sizeof(text::LongWord) == 3 * sizeof(int64_t) && sizeof(text::Span) == 2 * sizeof(uint32_t));
        *out = {tokens->ids.data(),
                tokens->ends.data(),
                reinterpret_cast<const int64_t*>(tokens->long_words.data()),
                spans ? reinterpret_cast<const uint32_t*>(tokens->spans.data()) : nullptr,
                spans ? tokens->words.data() : nullptr,
                count,
                static_cast<int64_t>(tokens->ids.size()),
                static_cast<int64_t>(tokens->long_words.size()),
                nullptr};
        out->memory = tokens.release();
    });
}

void lw_tokens_free(lw_tokens* tokens) {
    delete static_cast<text::Tokens*>(tokens->memory);
    tokens->memory = nullptr;
}

lw_heads* lw_heads_create(const lw_head* heads, int32_t count, int32_t width, const char* instructions, int32_t* code,
                          char* message, size_t size) {
    return created<lw_heads>(code, message, size, [&] { return new lw_heads{{heads, count, width, chosen(instructions)}}; });
}

void lw_heads_free(lw_heads* heads) { delete heads; }

int32_t lw_heads_run(const lw_heads* heads, const float* vectors, int64_t rows, float* out, char* message, size_t size) {
    return guarded(message, size, [&] {
        HeadRows work;
        heads->heads.run(vectors, rows, out, work);
    });
}

lw_embedder* lw_open(const char* folder, const lw_options* options, int32_t* code, char* message, size_t size) {
    const lw_options usual{}, &o = options ? *options : usual;
    return created<lw_embedder>(code, message, size, [&] { return new lw_embedder{{files_in(folder), o, chosen(o.instructions)}}; });
}

lw_embedder* lw_open_memory(const lw_file* files, int32_t count, const lw_options* options, int32_t* code,
                            char* message, size_t size) {
    const lw_options usual{}, &o = options ? *options : usual;
    return created<lw_embedder>(code, message, size, [&] { return new lw_embedder{{files_of(files, count), o, chosen(o.instructions)}}; });
}

void lw_close(lw_embedder* embedder) { delete embedder; }

int32_t lw_dimension(const lw_embedder* embedder) { return embedder->embedder.dimension(); }

int32_t lw_encode(const lw_embedder* embedder, const lw_texts* texts, float* vectors, lw_losses* losses, char* message,
                  size_t size) {
    return guarded(message, size, [&] {
        if (embedder == nullptr || texts == nullptr) fail(LW_BAD_INPUT, "there is no model, or there are no texts");
        embedder->embedder.encode(*texts, vectors, losses);
    });
}

int32_t lw_scan_best(const char* instructions, const lw_scan* scan, const lw_best* out, char* message, size_t size) {
    return guarded(message, size, [&] { scan_best(chosen(instructions), *scan, *out); });
}

int32_t lw_scan_above(const char* instructions, const lw_scan* scan, lw_above* out, char* message, size_t size) {
    return guarded(message, size, [&] { out->found = scan_above(chosen(instructions), *scan, *out); });
}

int32_t lw_product(const char* instructions, int32_t precision, const float* a, const float* b, const float* bias,
                   const float* residual, int32_t m, int32_t n, int32_t k, float* out, char* message, size_t size) {
    return guarded(message, size, [&] {
        if (m < 0 || n < 1 || k < 1 || precision < LW_AS_FP32 || precision > LW_AS_INT8) {
            fail(LW_BAD_INPUT, "there is no such product");
        }
        product(chosen(instructions), precision, a, b, bias, residual, m, n, k, out);
    });
}
