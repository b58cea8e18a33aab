// What is thrown inside and becomes an error code and a message at the C interface.
#pragma once

#include <sstream>
#include <stdexcept>

#include "likewise_native.h"

namespace likewise {

struct Failure : std::runtime_error {
    Failure(lw_code code, const std::string& message) : std::runtime_error(message), code(code) {}
    const lw_code code;
};

// Throws a Failure whose message is these parts, one behind the other.
template <class... Part>
[[noreturn]] void fail(lw_code code, const Part&... parts) {
    std::ostringstream message;
    (message << ... << parts);
    throw Failure(code, message.str());
}

}  // namespace likewise
