// A safetensors file: its whole header is checked before a tensor is read. Nothing is copied.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace likewise {

// As the file stores it; not aligned.
struct FileTensor {
    std::string_view type;  // F32, BF16, I8 ...
    std::vector<int64_t> shape;
    const char* data;
};

// The tensors of a file by name; `name` is the file's, for messages. Types and data point into `file`. Throws
// LW_BAD_DESCRIPTION if the header is broken, or if its tensors overlap, leave a gap, or lie outside the file.
std::map<std::string, FileTensor> read_safetensors(std::string_view file, const std::string& name);

}  // namespace likewise
