// What is thrown inside and becomes an error code and a message at the C interface.
#pragma once

#include <stdexcept>
#include <string>

namespace likewise {

enum Code { OK = 0, BAD_DESCRIPTION = 1, BAD_WEIGHTS = 2, BAD_INPUT = 3, NO_MEMORY = 4, INTERNAL = 5 };

class Failure : public std::runtime_error {
public:
    Failure(Code code, const std::string& message) : std::runtime_error(message), code(code) {}
    const Code code;
};

}  // namespace likewise
