// What `gpumux reproduce --json` wrote, for a page per paper.
#pragma once

#include <string>
#include <vector>

#include "report/blocks.hpp"

namespace gpumux::report {

/// Adds a block for each file and `reproductions`, their number. Throws UserError with file:line:column for a
/// file that is not such a document.
void add_reproductions(const std::vector<std::string>& files, Blocks& blocks);

}  // namespace gpumux::report
