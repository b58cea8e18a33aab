// The internal exception, which becomes an error code and a message at the C interface.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "likewise_native.h"

namespace likewise {

struct Failure : std::runtime_error {
    Failure(lw_code code, const std::string& message) : std::runtime_error(message), code(code) {}
    const lw_code code;
};

// No streams: a static libstdc++ may not find their locales if another libstdc++ is loaded.
using std::to_string;
inline std::string to_string(const char* text) { return text; }
inline std::string to_string(std::string_view text) { return std::string(text); }

// Throws a Failure whose message is these parts, concatenated.
template <class... Part>
[[noreturn]] void fail(lw_code code, Part... parts) {
    throw Failure(code, (std::string() + ... + to_string(parts)));
}

// Throws the Failure for a description that is invalid or not supported.
template <class... Part>
[[noreturn]] void refuse(Part... parts) {
    fail(LW_BAD_DESCRIPTION, parts...);
}

}  // namespace likewise
