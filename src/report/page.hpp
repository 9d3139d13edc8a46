// A results database as one page of HTML that needs nothing else.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "database/sqlite.hpp"
#include "report/blocks.hpp"

namespace gpumux::report {

/// The page for blocks of data. Its content policy allows its own script and style, by their hashes, and
/// nothing from a network.
[[nodiscard]] std::string page(const Blocks& blocks, std::string_view title);

/// The whole report. `reproductions`: files of `gpumux reproduce --json`. The same input gives the same
/// bytes. Throws UserError when the database or a file cannot be read.
[[nodiscard]] std::string report(database::Connection& connection,
                                 const std::vector<std::string>& reproductions);

}  // namespace gpumux::report
