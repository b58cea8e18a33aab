// A model folder as files in memory, opened and used once, for programs that damage it.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "../likewise_native.h"

namespace {

using Files = std::map<std::string, std::string>;

Files files_of(const std::filesystem::path& folder) {
    Files files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
        if (!entry.is_regular_file()) continue;
        std::ifstream file(entry.path(), std::ios::binary);
        files[entry.path().lexically_relative(folder).generic_string()] = {std::istreambuf_iterator<char>(file), {}};
    }
    return files;
}

// Whether the model was opened; ends the program if a vector is not finite although nothing was refused.
bool encode(const Files& files, const std::string& text, int32_t precision) {
    std::vector<lw_file> listed;
    for (const auto& [name, bytes] : files) listed.push_back({name.c_str(), bytes.data(), bytes.size()});
    lw_options options{};
    options.precision = precision;
    char message[1024];
    int32_t code = 0;
    lw_embedder* model = lw_open_memory(listed.data(), static_cast<int32_t>(listed.size()), &options, &code, message, sizeof message);
    if (!model) {
        if (code == LW_OK || code == LW_INTERNAL || !*message) std::abort();
        return false;
    }
    const char* texts[] = {text.data(), "a cat", ""};
    const size_t sizes[] = {text.size(), 5, 0};
    std::vector<float> vectors(3 * static_cast<size_t>(lw_dimension(model)));
    lw_texts request{};
    request.texts = texts;
    request.sizes = sizes;
    request.count = 3;
    request.threads = 2;
    code = lw_encode(model, &request, vectors.data(), nullptr, message, sizeof message);
    if (code == LW_INTERNAL) std::abort();
    for (const float number : vectors)
        if (code == LW_OK && !std::isfinite(number)) std::abort();
    lw_close(model);
    return true;
}

}  // namespace
