// Predicts the work of a sweep: `gpumux sweep --dry-run`.
#pragma once

#include <string>
#include <vector>

#include "sweep/expand.hpp"
#include "terminal.hpp"

namespace gpumux::cli {

/// A text with the number of runs in the plans, how many of them the database has, and about how long the
/// others take with `jobs` runs at a time on this computer.
/// The time is estimated from short runs of each application. A run in several plans counts once. The
/// database may be missing, and is only read. `progress` shows the number of estimated runs. Throws UserError
/// if the database cannot be read.
[[nodiscard]] std::string dry_run_text(const std::string& name,
                                       const std::vector<const sweep::SweepPlan*>& plans,
                                       const std::string& database, unsigned jobs, ProgressMode progress);

/// A name with its scale: "pairs (quick)".
[[nodiscard]] std::string name_with_scale(const std::string& name, const std::string& scale);

}  // namespace gpumux::cli
