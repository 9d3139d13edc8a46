// Converts the content of a results database to the blocks of a page.
#pragma once

#include "database/sqlite.hpp"
#include "report/blocks.hpp"

namespace gpumux::report {

/// Adds the blocks of a database: `core`, with the runs in the order of planning and one column per quantity;
/// one block per counter; machines and sweeps as TOML; series and timelines if present. Throws UserError if
/// it is not a results database, or cannot be read.
void collect(database::Connection& connection, Blocks& blocks);

}  // namespace gpumux::report
