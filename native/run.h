// A request to its results.
#pragma once

#include "likewise_native.h"
#include "model.h"

namespace likewise {

// Throws Failure where the request is wrong; the results are then undefined.
void run(const Model&, const lw_request&);

}  // namespace likewise
