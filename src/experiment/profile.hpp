// Profiles of applications alone, for policies that ask for them (policy::Policy::profile_request).
#pragma once

#include <string>
#include <vector>

#include "experiment/run.hpp"
#include "policy/profile.hpp"

namespace gpumux::experiment {

/// Of each application of the run, on the same machine with the same inputs and warp scheduler: from the
/// request's file, or from isolated runs of request.cycles in which no SM holds more than 1, 2, 3... blocks
/// of any kernel. Runs are kept in the cache folder, each by itself; an empty folder name keeps nothing.
/// Throws UserError for a file that is missing, no profile, of another machine or without one of the
/// applications.
[[nodiscard]] std::vector<policy::AppProfile> profiles(const RunSpec& spec,
                                                       const policy::ProfileRequest& request,
                                                       const std::string& cache_folder);

/// The content of a profile file (schema gpumux.profile/1) of the run's applications: request.depth Curve.
[[nodiscard]] std::string profile_document(const RunSpec& spec, Cycle cycles,
                                           const std::vector<policy::AppProfile>& profiles);

}  // namespace gpumux::experiment
