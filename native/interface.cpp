// The C interface: nothing that is thrown gets past it.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#include "failure.h"
#include "likewise_native.h"
#include "model.h"
#include "run.h"
#include "scan.h"

struct lw_model {
    likewise::Model model;
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
        return OK;
    } catch (const Failure& failure) {
        write_message(message, size, failure.what());
        return failure.code;
    } catch (const std::bad_alloc&) {
        write_message(message, size, "there is not enough memory");
        return NO_MEMORY;
    } catch (const std::length_error&) {
        write_message(message, size, "there is not enough memory");
        return NO_MEMORY;
    } catch (const std::exception& error) {
        write_message(message, size, error.what());
        return INTERNAL;
    }
}

const Kernels& chosen(const char* instructions) {
    return kernels_named(instructions ? instructions : std::getenv("LIKEWISE_ISA"));
}

// a, b and out as lw_product has them, through packing and rounding as a model's products go.
void product(const Kernels& kernels, int32_t precision, const float* a, const float* b, const float* bias,
             const float* residual, int m, int n, int k, float* out) {
    const Scheme& scheme = precision == LW_AS_BF16   ? kernels.bf16
                           : precision == LW_AS_INT8 ? kernels.int8
                                                     : kernels.fp32;
    const bool int8 = precision == LW_AS_INT8;
    std::vector<int8_t> bytes(static_cast<size_t>(n) * k);
    const std::vector<float> ones(n, 1.0F);
    for (size_t i = 0; int8 && i < bytes.size(); i++) bytes[i] = static_cast<int8_t>(b[i]);
    lw_linear linear{};
    linear.weight = {int8 ? static_cast<const void*>(bytes.data()) : b, ones.data(), n, k, int8 ? LW_INT8 : LW_FP32};
    if (bias) linear.bias = {bias, nullptr, 1, n, LW_FP32};
    Arena arena;
    const Weights weights({{&linear, 0, n}}, k, scheme, int8, "b", arena);
    const int inputs = padded(k), outputs = padded(n);
    std::vector<float> x(static_cast<size_t>(m) * inputs), y(static_cast<size_t>(m) * outputs), scales(m);
    std::vector<uint8_t> rows(x.size() * scheme.row_bytes);
    for (int i = 0; i < m; i++) {
        float* row = x.data() + static_cast<size_t>(i) * inputs;
        std::copy(a + static_cast<size_t>(i) * k, a + static_cast<size_t>(i + 1) * k, row);
        uint8_t* to = rows.data() + static_cast<size_t>(i) * inputs * scheme.row_bytes;
        if (scheme.prepare) scheme.prepare(row, inputs, 127.0F, to, scales.data() + i);
        for (int j = 0; residual && j < n; j++)
            y[static_cast<size_t>(i) * outputs + j] = residual[static_cast<size_t>(i) * n + j];
    }
    const void* data = scheme.prepare ? static_cast<const void*>(rows.data()) : x.data();
    scheme.multiply(
        {data, inputs, scales.data(), m, &weights.packed(), residual ? y.data() : nullptr, y.data(), outputs});
    for (int i = 0; i < m; i++) {
        const float* row = y.data() + static_cast<size_t>(i) * outputs;
        std::copy(row, row + n, out + static_cast<size_t>(i) * n);
    }
}

}  // namespace

int32_t lw_version(void) { return LW_VERSION; }

const char* lw_instruction_sets(void) { return kernels_here(); }

lw_model* lw_create(const lw_description* description, const char* instructions, int32_t* code, char* message,
                    size_t size) {
    lw_model* made = nullptr;
    const int32_t found = guarded(message, size, [&] {
        if (description == nullptr) throw Failure(BAD_DESCRIPTION, "there is no description");
        made = new lw_model{{*description, chosen(instructions)}};
    });
    if (code) *code = found;
    return made;
}

void lw_free(lw_model* model) { delete model; }

const char* lw_model_instructions(const lw_model* model) { return model->model.kernels.name; }

int64_t lw_model_bytes(const lw_model* model) { return static_cast<int64_t>(model->model.bytes()); }

int32_t lw_run(const lw_model* model, const lw_request* request, char* message, size_t size) {
    return guarded(message, size, [&] {
        if (model == nullptr || request == nullptr) throw Failure(BAD_INPUT, "there is no model, or no request");
        run(model->model, *request);
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
            throw Failure(BAD_INPUT, "there is no such product");
        }
        product(chosen(instructions), precision, a, b, bias, residual, m, n, k, out);
    });
}
