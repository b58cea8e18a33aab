// The files of a model folder by name, on disk or in memory.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "likewise_native.h"
#include "text/json.h"

namespace likewise {

class Files {
public:
    virtual ~Files() = default;
    // A file's bytes, which stay in place until this object is destroyed; nothing if the file does not exist. Small
    // files are copied, so that later changes to them cannot bypass the checks; `large` files are mapped.
    virtual std::optional<std::string_view> find(const std::string& name, bool large) = 0;
    bool has(const std::string& name) { return find(name, true).has_value(); }
    // The JSON object in a file; null if the file does not exist.
    const json::Document* object(const std::string& name) { return json_of(name, json::Kind::OBJECT, "an object"); }
    const json::Document* list(const std::string& name) { return json_of(name, json::Kind::ARRAY, "a list"); }

private:
    std::deque<json::Document> documents_;
    const json::Document* json_of(const std::string& name, json::Kind, const char* wanted);
};

// The files in a folder, or those passed as an array; throws LW_BAD_DESCRIPTION.
std::unique_ptr<Files> files_in(const char* folder);
std::unique_ptr<Files> files_of(const lw_file* files, int32_t count);

// The position of the first invalid UTF-8, or the size of a valid text. `characters`, if passed, counts code points.
size_t utf8_until(std::string_view text, int64_t* characters = nullptr);

}  // namespace likewise
