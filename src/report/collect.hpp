// What a results database holds, as the blocks of a page.
#pragma once

#include "database/sqlite.hpp"
#include "report/blocks.hpp"

namespace gpumux::report {

/// Adds the block `core`: what was run, one column per quantity, rows of runs in the order of planning; a
/// block per counter; machines and sweeps as TOML; series and timelines where the database has them. Throws
/// UserError when it is no results database, or cannot be read.
void collect(database::Connection& connection, Blocks& blocks);

}  // namespace gpumux::report
