// What a sweep would do: `gpumux sweep --dry-run`.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "sweep/expand.hpp"

namespace gpumux::cli {

/// The plan's runs, how many the database (which need not exist) has, and about how long the others take with
/// so many at a time on this computer, which is found by running each application for a moment. `progress` is
/// called with how many of how many runs have been looked at. The database is only read. Throws UserError
/// where it cannot be.
[[nodiscard]] std::string dry_run_text(const sweep::SweepPlan& plan, const std::string& database,
                                       unsigned jobs,
                                       const std::function<void(std::size_t, std::size_t)>& progress);

}  // namespace gpumux::cli
