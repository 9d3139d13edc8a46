// What a sweep would do: `gpumux sweep --dry-run`.
#pragma once

#include <string>

#include "sweep/expand.hpp"

namespace gpumux::cli {

/// The plan's runs, how many the database (which need not exist) has, and about how long the others take with
/// so many at a time. The database is only read. Throws UserError where it cannot be.
[[nodiscard]] std::string dry_run_text(const sweep::SweepPlan& plan, const std::string& database,
                                       unsigned jobs);

}  // namespace gpumux::cli
