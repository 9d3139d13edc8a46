// Adds documents of `gpumux reproduce --json` to a report, for a page per paper.
#pragma once

#include <string>
#include <vector>

#include "report/blocks.hpp"

namespace gpumux::report {

/// Adds a block for each file, and `reproductions`, the number of files. Throws UserError with
/// file:line:column for a file that is not such a document.
void add_reproductions(const std::vector<std::string>& files, Blocks& blocks);

}  // namespace gpumux::report
