#include "stored_weights.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "failure.h"
#include "pack.h"

namespace likewise {
namespace {

constexpr const char *ROW_STEPS = ".step", *COLUMN_SCALES = ".column_scale";  // suffixes of int8 matrices' names

struct FloatType {
    std::string_view name;
    lw_type type;
};
constexpr FloatType FLOATS[] = {{"F32", LW_FP32}, {"F16", LW_FP16}, {"BF16", LW_BF16}, {"F64", LW_FP32}};  // F64: converted

const FloatType* float_type(const FileTensor& tensor) {
    for (const FloatType& known : FLOATS)
        if (known.name == tensor.type) return &known;
    return nullptr;
}

bool ends_with(std::string_view text, std::string_view end) {
    return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

std::string replaced(std::string text, std::string_view old, std::string_view with) {
    const size_t at = text.find(old);
    return at == std::string::npos ? text : text.replace(at, old.size(), with);
}

// The shards listed in an index, which must be files in the same folder.
std::set<std::string> shards_of(const json::Document& index, const std::string& path) {
    const json::Value homes = index.root().member("weight_map");
    std::set<std::string> names;
    if (homes.kind() != json::Kind::OBJECT) refuse(path, " has no weight_map, which names the file of each tensor");
    for (auto at = homes.begin(); at != homes.end(); ++at) {
        const std::string name((*++at).text("a shard's name"));
        if (!ends_with(name, ".safetensors") || name.find_first_of(std::string("/\\\0", 3)) != std::string::npos)
            refuse(path, " names the shard '", name, "', which is not a safetensors file of its folder");
        names.insert(name);
    }
    if (names.empty()) refuse(path, " names no shards");
    return names;
}

}  // namespace

StoredWeights::StoredWeights(Files& files, const std::string& folder, int32_t precision) : folder_(folder), precision_(precision) {
    const std::string whole = folder + "model.safetensors", index = whole + ".index.json";
    if (files.has(whole)) {
        add_file(files, whole);
    } else if (const json::Document* shards = files.object(index)) {
        for (const std::string& name : shards_of(*shards, index)) add_file(files, folder + name);
    } else {
        refuse("there is no ", whole, " (weights are read from safetensors files only)");
    }
    std::vector<const std::string*> names;
    for (const auto& [name, tensor] : tensors_) names.push_back(&name);
    std::stable_sort(names.begin(), names.end(), [](auto a, auto b) { return a->size() < b->size(); });
    for (const std::string* name : names) {
        endings_.emplace(*name, name);
        for (size_t dot = name->find('.'); dot != std::string::npos; dot = name->find('.', dot + 1))
            endings_.emplace(name->substr(dot + 1), name);
    }
}

void StoredWeights::add_file(Files& files, const std::string& name) {
    const std::optional<std::string_view> file = files.find(name, true);
    if (!file) refuse("there is no ", name);
    for (auto& [tensor, place] : read_safetensors(*file, name))
        if (!tensors_.emplace(tensor, place).second) refuse("two files hold the tensor ", tensor);
}

const std::string& StoredWeights::full_name(const std::string& name) const {
    auto found = endings_.find(name);
    if (found == endings_.end())  // TensorFlow's names for the parts of a norm
        found = endings_.find(replaced(replaced(name, "LayerNorm.weight", "LayerNorm.gamma"), "LayerNorm.bias", "LayerNorm.beta"));
    if (found == endings_.end())
        refuse("the weights lack the tensor ", folder_, name, "; they hold ", tensors_.size(), " others");
    return *found->second;
}

bool StoredWeights::are_scales(const FileTensor& tensor, int64_t count) const {
    return float_type(tensor) && tensor.shape == std::vector<int64_t>{count};
}

bool StoredWeights::is_int8_matrix(const std::string& full, const FileTensor& tensor) const {
    const auto rows = tensors_.find(full + ROW_STEPS), columns = tensors_.find(full + COLUMN_SCALES);
    return tensor.type == "I8" && tensor.shape.size() == 2 && rows != tensors_.end() &&
           are_scales(rows->second, tensor.shape[0]) &&
           (columns == tensors_.end() || are_scales(columns->second, tensor.shape[1]));
}

const FileTensor& StoredWeights::checked(const std::string& full, const std::vector<int64_t>& shape) const {
    const FileTensor& tensor = tensors_.at(full);
    if (!float_type(tensor) && !is_int8_matrix(full, tensor))
        refuse(full, " is stored as ", tensor.type, "; expected F64, F32, F16, BF16, or I8 with the steps of its rows beside it");
    if (tensor.shape != shape) {
        std::string found, wanted;
        for (const int64_t size : tensor.shape) found += " " + std::to_string(size);
        for (const int64_t size : shape) wanted += " " + std::to_string(size);
        refuse("config.json asks for ", full, " of the shape", wanted, ", and the weights hold", found);
    }
    return tensor;
}

// The numbers in fp32, aligned.
const float* StoredWeights::floats(const FileTensor& tensor) {
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    std::vector<float>& made = converted.emplace_back(count);
    if (tensor.type == "F64") {
        for (int64_t i = 0; i < count; i++) {
            double value;
            std::memcpy(&value, tensor.data + i * 8, 8);
            made[i] = static_cast<float>(value);
        }
    } else if (count > 0) {
        read_row({tensor.data, nullptr, 1, count, float_type(tensor)->type}, 0, made.data());
    }
    return made.data();
}

lw_tensor StoredWeights::tensor(const std::string& full, int64_t rows, int64_t columns) {
    const FileTensor& stored = checked(full, rows ? std::vector<int64_t>{rows, columns} : std::vector<int64_t>{columns});
    rows = std::max<int64_t>(rows, 1);
    if (stored.type == "I8") return {stored.data, floats(tensors_.at(full + ROW_STEPS)), rows, columns, LW_INT8};
    const bool as_it_is = stored.type != "F64" && reinterpret_cast<uintptr_t>(stored.data) % 4 == 0;
    if (as_it_is) return {stored.data, nullptr, rows, columns, float_type(stored)->type};
    return {floats(stored), nullptr, rows, columns, LW_FP32};
}

const float* StoredWeights::column_scales(const std::string& full) {
    const auto found = tensors_.find(full + COLUMN_SCALES);
    return found == tensors_.end() || tensors_.at(full).type != "I8" ? nullptr : floats(found->second);
}

lw_tensor StoredWeights::table(const std::string& name, int64_t rows, int64_t columns) {
    const std::string& full = full_name(name);
    const lw_tensor found = tensor(full, rows, columns);
    if (column_scales(full)) refuse(full, " has scales of columns, which only a linear layer may have");
    return found;
}

lw_linear StoredWeights::linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias) {
    const std::string& full = full_name(name + ".weight");
    lw_linear layer{tensor(full, outputs, inputs), {}, column_scales(full)};
    if (bias) layer.bias = table(name + ".bias", 0, outputs);
    if (layer.input_scales == nullptr || precision_ == LW_AS_INT8) return layer;
    std::vector<float>& made = converted.emplace_back(outputs * inputs);  // only int8 matmuls scale their inputs
    for (int64_t row = 0; row < outputs; row++) {
        read_row(layer.weight, row, &made[row * inputs]);
        for (int64_t i = 0; i < inputs; i++) made[row * inputs + i] *= layer.input_scales[i];
    }
    return {{made.data(), nullptr, outputs, inputs, LW_FP32}, layer.bias, nullptr};
}

lw_linear StoredWeights::norm(const std::string& name, int64_t width, bool bias) {
    return {table(name + ".weight", 0, width), bias ? table(name + ".bias", 0, width) : lw_tensor{}, nullptr};
}

}  // namespace likewise
