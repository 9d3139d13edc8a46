// What a sweep would do: `gpumux sweep --dry-run`.
#pragma once

#include <string>
#include <vector>

#include "sweep/expand.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

/// The plans' runs, how many the database (which need not exist) has, and about how long the others take with
/// so many at a time on this computer, which is found by running each application for a moment. What several
/// plans have counts once. `progress` shows how many of how many runs have been looked at. The database is
/// only read. Throws UserError where it cannot be.
[[nodiscard]] std::string dry_run_text(const std::string& name,
                                       const std::vector<const sweep::SweepPlan*>& plans,
                                       const std::string& database, unsigned jobs, ProgressMode progress);

/// "pairs (quick)".
[[nodiscard]] std::string name_with_scale(const std::string& name, const std::string& scale);

}  // namespace gpumux::cli
