// The weights of a model folder by their names in its files, for a model's description.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "files.h"
#include "likewise_native.h"
#include "safetensors.h"

namespace likewise {

class StoredWeights {
public:
    // Opens model.safetensors, or the shards listed in its index; `folder` ends with a slash, or is empty.
    StoredWeights(Files& files, const std::string& folder, int32_t precision);

    // A row-major matrix, or a vector (rows 0); throws LW_BAD_DESCRIPTION unless it has this shape.
    lw_tensor table(const std::string& name, int64_t rows, int64_t columns);
    // name.weight (outputs x inputs) and, if `bias`, name.bias.
    lw_linear linear(const std::string& name, int64_t outputs, int64_t inputs, bool bias);
    lw_linear norm(const std::string& name, int64_t width, bool bias);
    // The memory of weights that are converted after reading.
    std::deque<std::vector<float>> converted;

private:
    const std::string folder_;
    const int32_t precision_;
    std::map<std::string, FileTensor> tensors_;
    std::map<std::string, const std::string*> endings_;  // from each end of a name, after a dot, to the shortest name

    void add_file(Files& files, const std::string& name);
    const std::string& full_name(const std::string& name) const;
    const FileTensor& checked(const std::string& full, const std::vector<int64_t>& shape) const;
    bool is_int8_matrix(const std::string& full, const FileTensor& tensor) const;
    bool are_scales(const FileTensor& tensor, int64_t count) const;
    lw_tensor tensor(const std::string& full, int64_t rows, int64_t columns);
    const float* floats(const FileTensor& tensor);
    const float* column_scales(const std::string& full);
};

}  // namespace likewise
