// The format: the header's length in eight bytes, the header in JSON, then the data of the tensors, concatenated.
#include "safetensors.h"

#include <algorithm>

#include "failure.h"
#include "files.h"
#include "text/json.h"

namespace likewise {
namespace {

constexpr uint64_t LARGEST_HEADER = 1U << 24U;  // bytes; the header of a model with 1,000 tensors has 100 KB
constexpr double LARGEST_NUMBER = 1LL << 48;
constexpr size_t MOST_DIMENSIONS = 8;

struct Type {
    std::string_view name;
    uint64_t bytes;
};
constexpr Type TYPES[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
                          {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}};

uint64_t bytes_of(std::string_view type, std::string_view tensor) {
    for (const Type& known : TYPES)
        if (known.name == type) return known.bytes;
    refuse("the tensor ", tensor, " has the unknown type ", type);
}

struct Place {
    uint64_t begin, end;
    std::string_view tensor;
};

uint64_t whole(const json::Value& value, std::string_view tensor) {
    const double number = value.number("a size of a tensor");
    if (!(number >= 0 && number <= LARGEST_NUMBER) || number != static_cast<double>(static_cast<uint64_t>(number)))
        refuse("the tensor ", tensor, " has a size or place that is not a whole number from 0 to 2^48");
    return static_cast<uint64_t>(number);
}

FileTensor read_tensor(const json::Value& entry, std::string_view name, std::string_view data, Place& place) {
    if (entry.member("shape").kind() != json::Kind::ARRAY || entry.member("data_offsets").kind() != json::Kind::ARRAY)
        refuse("the tensor ", name, " lacks its shape or data_offsets");
    FileTensor tensor{entry.text_of("dtype"), {}, nullptr};
    uint64_t bytes = bytes_of(tensor.type, name);
    for (const json::Value one : entry.member("shape")) {
        const uint64_t size = whole(one, name);
        if (tensor.shape.size() == MOST_DIMENSIONS || __builtin_mul_overflow(bytes, size, &bytes))
            refuse("the shape of the tensor ", name, " is too large");
        tensor.shape.push_back(static_cast<int64_t>(size));
    }
    std::vector<uint64_t> offsets;
    for (const json::Value one : entry.member("data_offsets")) offsets.push_back(whole(one, name));
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > data.size() || offsets[1] - offsets[0] != bytes)
        refuse("the data_offsets of the tensor ", name, " do not fit its shape, or lie outside the file");
    place = {offsets[0], offsets[1], name};
    tensor.data = data.data() + offsets[0];
    return tensor;
}

// Each tensor must start where the previous one ends, and the last one must end with the file.
void check_places(std::vector<Place>& places, uint64_t size) {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t end = 0;
    for (const Place& place : places) {
        if (place.begin != end) refuse("the tensor ", place.tensor, " overlaps another one, or follows a gap");
        end = place.end;
    }
    if (end != size) refuse(size - end, " bytes behind the last tensor belong to none");
}

std::map<std::string, FileTensor> read(std::string_view file) {
    uint64_t length = 0;
    if (file.size() < 8) refuse("it has ", file.size(), " bytes, and the length of its header takes 8");
    for (int i = 7; i >= 0; i--) length = length << 8U | static_cast<unsigned char>(file[i]);
    if (length > LARGEST_HEADER || length > file.size() - 8)
        refuse("its header has ", length, " bytes; the file has ", file.size(), ", and the most here is ", LARGEST_HEADER);
    const std::string_view header = file.substr(8, length), data = file.substr(8 + length);
    if (header.empty() || header.front() != '{' || utf8_until(header) < header.size())
        refuse("its header is not a JSON object in UTF-8");
    const json::Document document(header);
    std::map<std::string, FileTensor> tensors;
    std::vector<Place> places;
    for (auto at = document.root().begin(); at != document.root().end(); ++at) {
        const std::string name((*at).text("a name"));
        ++at;
        if (name == "__metadata__") continue;
        FileTensor tensor = read_tensor(*at, name, data, places.emplace_back());
        // the document is destroyed here, so pointers into it are replaced
        for (const Type& known : TYPES)
            if (known.name == tensor.type) tensor.type = known.name;
        const auto added = tensors.emplace(name, std::move(tensor));
        if (!added.second) refuse("there are two tensors ", name);
        places.back().tensor = added.first->first;
    }
    check_places(places, data.size());
    return tensors;
}

}  // namespace

std::map<std::string, FileTensor> read_safetensors(std::string_view file, const std::string& name) {
    try {
        return read(file);
    } catch (const Failure& failure) {
        fail(static_cast<lw_code>(failure.code), name, " cannot be read: ", failure.what(), "; it may have been cut short: fetch it again");
    }
}

}  // namespace likewise
