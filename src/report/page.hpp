// A results database as one self-contained HTML page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "database/sqlite.hpp"
#include "report/blocks.hpp"

namespace gpumux::report {

/// The page for blocks of data. Its content security policy allows the page's own script and style, by hash,
/// and nothing from a network.
[[nodiscard]] std::string page(const Blocks& blocks, std::string_view title);

/// The whole report. `reproductions`: files from `gpumux reproduce --json`. The same input gives the same
/// bytes. Throws UserError if the database or a file cannot be read.
[[nodiscard]] std::string report(database::Connection& connection,
                                 const std::vector<std::string>& reproductions);

}  // namespace gpumux::report
